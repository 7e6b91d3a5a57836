#include "codec_floor.h"

#include <png.h>

const char *photod_codec_floor_png_library(void) { return "libpng " PNG_LIBPNG_VER_STRING; }

typedef struct {
  const uint8_t *bytes;
  size_t left;
} input;

static void read_bytes(png_structp png, png_bytep into, size_t count) {
  input *in = png_get_io_ptr(png);
  if (count > in->left) png_error(png, "the end");
  memcpy(into, in->bytes, count);
  in->bytes += count;
  in->left -= count;
}

static void on_error(png_structp png, png_const_charp message) {
  (void)message;
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

bool floor_decode_png(photod_codec_floor *floor, bool keep) {
  input in = {floor->file, floor->length};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  uint8_t *volatile row = NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    free(row);
    return false;
  }
  png_set_read_fn(png, &in, read_bytes);
  png_read_info(png, info);
  if (png_get_interlace_type(png, info) != PNG_INTERLACE_NONE || floor->options.planar) png_error(png, "no limit");
  // Palettes are resolved, and small samples expanded to bytes. 16-bit samples are left to the render.
  png_set_expand(png);
  png_read_update_info(png, info);
  const uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  const uint32_t channels = png_get_channels(png, info);
  const size_t sample_bytes = png_get_bit_depth(png, info) / 8u;
  if (!floor->options.makes_png && channels % 2 == 0) png_error(png, "alpha, which a JPEG does not carry");
  if (keep && !floor_plane_allocate(floor, channels)) png_error(png, "no memory");
  row = malloc(png_get_rowbytes(png, info));
  if (!row) png_error(png, "no memory");
  for (uint32_t y = 0; y < height; y++) {
    png_read_row(png, row, NULL);
    if (keep) floor_plane_take(&floor->planes[0], row, y, width, height, sample_bytes);
  }
  png_destroy_read_struct(&png, &info, NULL);
  free(row);
  return true;
}

typedef struct {
  uint8_t *bytes;
  size_t length, capacity;
} output;

static void write_bytes(png_structp png, png_bytep data, size_t count) {
  output *out = png_get_io_ptr(png);
  if (out->capacity - out->length < count) {
    const size_t capacity = (out->capacity + count) * 2;
    uint8_t *bytes = realloc(out->bytes, capacity);
    if (!bytes) png_error(png, "no memory");
    out->bytes = bytes;
    out->capacity = capacity;
  }
  memcpy(out->bytes + out->length, data, count);
  out->length += count;
}

static void flush_nothing(png_structp png) { (void)png; }

size_t floor_encode_png(photod_codec_floor *floor) {
  static const int types[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGBA};
  output out = {0};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    free(out.bytes);
    return 0;
  }
  const floor_plane *plane = &floor->planes[0];
  png_set_write_fn(png, &out, write_bytes, flush_nothing);
  png_set_IHDR(png, info, plane->width, plane->height, 8, types[plane->channels], PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, floor->options.compression_level);
  png_write_info(png, info);
  for (uint32_t y = 0; y < plane->height; y++) png_write_row(png, plane->bytes + y * plane->stride);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  free(out.bytes);
  return out.length;
}
