#include "shared.h"

void photod_png_on_error(png_structp png, png_const_charp message) {
  photod_png_errors *errors = png_get_error_ptr(png);
  if (errors->status == PHOTOD_PNG_OK) {
    bool out_of_memory = strstr(message, "emory") != NULL;
    errors->status = out_of_memory ? PHOTOD_PNG_NO_MEMORY : PHOTOD_PNG_FAILED;
    strncpy(errors->message, message, sizeof errors->message - 1);
  }
  png_longjmp(png, 1);
}

void photod_png_on_warning(png_structp png, png_const_charp message) {
  photod_png_errors *errors = png_get_error_ptr(png);
  if (errors->warnings++ == 0) strncpy(errors->message, message, sizeof errors->message - 1);
}
