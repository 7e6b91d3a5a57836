// Error handling that the decoder and the encoder share.
#pragma once

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "CPhotodPNG.h"

typedef struct {
  photod_png_status status;
  long warnings;
  char message[200];
} photod_png_errors;

// libpng's error callbacks; the error pointer is a photod_png_errors. Warnings are counted, the first is kept.
void photod_png_on_error(png_structp png, png_const_charp message);
void photod_png_on_warning(png_structp png, png_const_charp message);
