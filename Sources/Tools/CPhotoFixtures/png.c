#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "CPhotoFixtures.h"
#include "decode.h"

typedef struct {
  uint8_t *bytes;
  size_t length, capacity;
} output;

static void write_bytes(png_structp png, png_bytep data, size_t count) {
  output *out = png_get_io_ptr(png);
  if (out->capacity - out->length < count) {
    out->capacity = (out->capacity + count) * 2;
    out->bytes = realloc(out->bytes, out->capacity);
  }
  memcpy(out->bytes + out->length, data, count);
  out->length += count;
}

static void flush_nothing(png_structp png) { (void)png; }

uint8_t *fixture_encode_png(const uint8_t *rows, size_t row_bytes, uint32_t width, uint32_t height,
                            fixture_png_options options, size_t *length) {
  output out = {0};
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_write_struct(&png, &info);
    free(out.bytes);
    return NULL;
  }
  png_set_write_fn(png, &out, write_bytes, flush_nothing);
  // Tests make many pictures and read most of them once.
  png_set_compression_level(png, Z_BEST_SPEED);
  png_set_IHDR(png, info, width, height, options.bit_depth, options.color_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (options.icc_profile)
    png_set_iCCP(png, info, "icc", PNG_COMPRESSION_TYPE_BASE, options.icc_profile,
                 (png_uint_32)options.icc_profile_length);
  if (options.palette)
    png_set_PLTE(png, info, (png_const_colorp)(const void *)options.palette, options.palette_count);
  if (options.palette_alpha) png_set_tRNS(png, info, options.palette_alpha, options.palette_count, NULL);
  if (!options.palette && options.transparent[0] >= 0) {
    png_color_16 key = {.red = (png_uint_16)options.transparent[0],
                        .green = (png_uint_16)options.transparent[1],
                        .blue = (png_uint_16)options.transparent[2],
                        .gray = (png_uint_16)options.transparent[0]};
    png_set_tRNS(png, info, NULL, 0, &key);
  }
  png_write_info(png, info);
  int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; pass++)
    for (uint32_t y = 0; y < height; y++) png_write_row(png, rows + y * row_bytes);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  *length = out.length;
  return out.bytes;
}

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

uint8_t *fixture_profile_in_png(const uint8_t *bytes, size_t length, size_t *profile_length) {
  input in = {bytes, length};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  uint8_t *volatile copy = NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    return NULL;
  }
  png_set_read_fn(png, &in, read_bytes);
  png_read_info(png, info);
  png_charp name = NULL;
  png_bytep profile = NULL;
  png_uint_32 count = 0;
  int method = 0;
  if (png_get_iCCP(png, info, &name, &method, &profile, &count) && (copy = malloc(count))) memcpy(copy, profile, count);
  png_destroy_read_struct(&png, &info, NULL);
  *profile_length = count;
  return copy;
}

uint8_t *fixture_decode_png(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels) {
  // Not libpng's simplified interface, which assumes linear light for 16 bits without a gAMA.
  input in = {bytes, length};
  uint8_t *volatile pixels = NULL;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    free(pixels);
    return NULL;
  }
  png_set_read_fn(png, &in, read_bytes);
  png_read_info(png, info);
  int type = png_get_color_type(png, info);
  bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS);
  *channels = (type & PNG_COLOR_MASK_COLOR ? 3 : 1) + has_alpha;
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_gray_to_rgb(png);
  png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  *width = png_get_image_width(png, info);
  *height = png_get_image_height(png, info);
  pixels = malloc((size_t)*width * *height * 4);
  for (int pass = 0; pixels && pass < passes; pass++)
    for (uint32_t y = 0; y < *height; y++) png_read_row(png, pixels + (size_t)y * *width * 4, NULL);
  png_destroy_read_struct(&png, &info, NULL);
  return pixels;
}

uint16_t *fixture_decode_samples(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels,
                                 int *bits) {
  input in = {bytes, length};
  uint16_t *volatile samples = NULL;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
  png_infop info = png ? png_create_info_struct(png) : NULL;
  if (!info || setjmp(png_jmpbuf(png))) {
    png_destroy_read_struct(&png, &info, NULL);
    free(samples);
    return NULL;
  }
  png_set_read_fn(png, &in, read_bytes);
  png_read_info(png, info);
  *bits = png_get_bit_depth(png, info);
  png_set_expand(png);
  png_set_expand_16(png);
  const uint16_t one = 1;
  if (*(const uint8_t *)&one == 1) png_set_swap(png);
  png_read_update_info(png, info);
  *width = png_get_image_width(png, info);
  *height = png_get_image_height(png, info);
  *channels = png_get_channels(png, info);
  const size_t row_samples = (size_t)*width * (size_t)*channels;
  samples = malloc(row_samples * *height * 2);
  for (uint32_t y = 0; samples && y < *height; y++) png_read_row(png, (png_bytep)(samples + y * row_samples), NULL);
  png_destroy_read_struct(&png, &info, NULL);
  return samples;
}

uint8_t *fixture_profile_in(const uint8_t *bytes, size_t length, size_t *profile_length) {
  bool is_jpeg = length > 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
  return is_jpeg ? fixture_profile_in_jpeg(bytes, length, profile_length)
                 : fixture_profile_in_png(bytes, length, profile_length);
}

uint8_t *fixture_decode(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels) {
  bool is_jpeg = length > 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
  return is_jpeg ? fixture_decode_jpeg(bytes, length, width, height, channels)
                 : fixture_decode_png(bytes, length, width, height, channels);
}

uint8_t *fixture_deflate_zeros(size_t count, size_t *length) {
  uLongf size = compressBound(count);
  uint8_t *zeros = calloc(1, count);
  uint8_t *out = malloc(size);
  if (!zeros || !out || compress(out, &size, zeros, count) != Z_OK) {
    free(out);
    out = NULL;
  }
  free(zeros);
  *length = size;
  return out;
}
