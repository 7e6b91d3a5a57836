// Writing and reading pictures of every kind, for test data, demo libraries and benchmarks. Straight calls of libjpeg and
// libpng, on purpose apart from photod's own codecs: what those make is judged by these.
//
// Every function returns memory that the caller frees with free(), or NULL on any failure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  FIXTURE_JPEG_GRAY,
  FIXTURE_JPEG_YCBCR,
  FIXTURE_JPEG_RGB,
  FIXTURE_JPEG_CMYK,
  FIXTURE_JPEG_YCCK,
} fixture_jpeg_color;

typedef struct {
  // Gray takes 1 channel of pixels, YCbCr and RGB take 3, CMYK and YCCK take 4 (as stored: Adobe's complement).
  fixture_jpeg_color color;
  int quality;
  int horizontal_sampling, vertical_sampling;
  bool progressive, arithmetic;
  int restart_rows;
  // The content of an APP1 segment, or NULL.
  const uint8_t *app1;
  size_t app1_length;
  const uint8_t *icc_profile;
  size_t icc_profile_length;
} fixture_jpeg_options;

uint8_t *fixture_encode_jpeg(const uint8_t *pixels, uint32_t width, uint32_t height, fixture_jpeg_options options,
                             size_t *length);

typedef struct {
  // PNG's own numbers: colour type 0, 2, 3, 4, 6 and bit depth.
  int color_type, bit_depth;
  bool interlaced;
  // Palette entries, 3 bytes each, and their alpha, 1 byte each; for colour type 3.
  const uint8_t *palette;
  int palette_count;
  const uint8_t *palette_alpha;
  // The one transparent colour of types 0 and 2: samples, or -1.
  int transparent[3];
  const uint8_t *icc_profile;
  size_t icc_profile_length;
} fixture_png_options;

// Rows as PNG stores them: packed below 8 bits, big-endian at 16.
uint8_t *fixture_encode_png(const uint8_t *rows, size_t row_bytes, uint32_t width, uint32_t height,
                            fixture_png_options options, size_t *length);

// Any JPEG or PNG as RGBA, 8 bits, row y at y * width * 4; `channels` says what the file had.
uint8_t *fixture_decode(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels);
