// Error handling that the decoder and the encoder share.
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>
#include <setjmp.h>
#include <string.h>

#include "CPhotodJPEG.h"

// libjpeg's error manager with a place to return to. Nothing is ever printed: warnings are counted and the first is kept.
typedef struct {
  struct jpeg_error_mgr base;
  jmp_buf escape;
  photod_jpeg_status status;
  // The data of a scan ended before the end of the picture.
  bool data_ended;
  char message[200];
} photod_jpeg_errors;

void photod_jpeg_errors_install(j_common_ptr info, photod_jpeg_errors *errors);
