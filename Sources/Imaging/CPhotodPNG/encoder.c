// Encoding rows to a PNG in memory.

#include <zlib.h>

#include "shared.h"

struct photod_png_encoder {
  png_structp png;
  png_infop info;
  photod_png_errors errors;
  photod_png_sink sink;
};

static void write_bytes(png_structp png, png_bytep data, size_t count) {
  photod_png_encoder *encoder = png_get_io_ptr(png);
  if (!encoder->sink.write(encoder->sink.context, data, count)) png_error(png, "the file was refused");
}

static void flush_nothing(png_structp png) { (void)png; }

photod_png_encoder *photod_png_encoder_create(photod_png_sink sink) {
  photod_png_encoder *encoder = calloc(1, sizeof *encoder);
  if (!encoder) return NULL;
  encoder->sink = sink;
  encoder->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoder->errors, photod_png_on_error,
                                         photod_png_on_warning);
  if (encoder->png) encoder->info = png_create_info_struct(encoder->png);
  if (!encoder->info) {
    photod_png_encoder_destroy(encoder);
    return NULL;
  }
  png_set_write_fn(encoder->png, encoder, write_bytes, flush_nothing);
  return encoder;
}

void photod_png_encoder_destroy(photod_png_encoder *encoder) {
  if (!encoder) return;
  if (encoder->png) png_destroy_write_struct(&encoder->png, &encoder->info);
  free(encoder);
}

// Writes iCCP (PNG third edition §11.3.2.3) as it was given. libpng's own call leaves out, with a warning, a profile that
// it finds fault with, and pixels without their profile are other colours.
static photod_png_status write_profile(photod_png_encoder *encoder, const uint8_t *profile, size_t length) {
  static const uint8_t head[] = "icc\0";  // The name, its NUL, compression method 0.
  uLongf capacity = compressBound((uLong)length);
  uint8_t *chunk = malloc(sizeof head + capacity);
  if (!chunk) return PHOTOD_PNG_NO_MEMORY;
  if (setjmp(png_jmpbuf(encoder->png))) {
    free(chunk);
    return encoder->errors.status;
  }
  memcpy(chunk, head, sizeof head);
  if (compress2(chunk + sizeof head, &capacity, profile, (uLong)length, Z_DEFAULT_COMPRESSION) != Z_OK) {
    free(chunk);
    return PHOTOD_PNG_NO_MEMORY;
  }
  png_write_chunk(encoder->png, (png_const_bytep) "iCCP", chunk, sizeof head + capacity);
  free(chunk);
  return PHOTOD_PNG_OK;
}

photod_png_status photod_png_encoder_start(photod_png_encoder *encoder, photod_png_encode_options options) {
  static const int color_types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                    PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(encoder->png))) return encoder->errors.status;
  png_set_IHDR(encoder->png, encoder->info, options.width, options.height, options.bit_depth,
               color_types[options.channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(encoder->png, options.compression_level);
  png_write_info(encoder->png, encoder->info);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (options.bit_depth == 16) png_set_swap(encoder->png);
#endif
  return options.icc_profile && options.icc_profile_length > 0
             ? write_profile(encoder, options.icc_profile, options.icc_profile_length)
             : PHOTOD_PNG_OK;
}

photod_png_status photod_png_write_rows(photod_png_encoder *encoder, const uint8_t *rows, size_t stride,
                                        uint32_t count) {
  if (setjmp(png_jmpbuf(encoder->png))) return encoder->errors.status;
  for (uint32_t i = 0; i < count; i++) png_write_row(encoder->png, rows + i * stride);
  return PHOTOD_PNG_OK;
}

photod_png_status photod_png_encoder_finish(photod_png_encoder *encoder) {
  if (setjmp(png_jmpbuf(encoder->png))) return encoder->errors.status;
  png_write_end(encoder->png, NULL);
  return PHOTOD_PNG_OK;
}

void photod_png_encoder_report(const photod_png_encoder *encoder, photod_png_report *report) {
  memset(report, 0, sizeof *report);
  report->warnings = encoder->errors.warnings;
  memcpy(report->message, encoder->errors.message, sizeof report->message);
}
