#include "shared.h"

static void error_exit(j_common_ptr info) {
  photod_jpeg_errors *errors = (photod_jpeg_errors *)info->err;
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  strncpy(errors->message, text, sizeof errors->message - 1);
  errors->status = info->err->msg_code == JERR_OUT_OF_MEMORY ? PHOTOD_JPEG_NO_MEMORY : PHOTOD_JPEG_FAILED;
  longjmp(errors->escape, 1);
}

static void emit_message(j_common_ptr info, int level) {
  photod_jpeg_errors *errors = (photod_jpeg_errors *)info->err;
  if (level >= 0) return;
  if (info->err->msg_code == JWRN_HIT_MARKER) ((photod_jpeg_errors *)info->err)->data_ended = true;
  if (info->err->num_warnings++ == 0) {
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    strncpy(errors->message, text, sizeof errors->message - 1);
  }
}

static void output_message(j_common_ptr info) { (void)info; }

void photod_jpeg_errors_install(j_common_ptr info, photod_jpeg_errors *errors) {
  info->err = jpeg_std_error(&errors->base);
  errors->base.error_exit = error_exit;
  errors->base.emit_message = emit_message;
  errors->base.output_message = output_message;
}
