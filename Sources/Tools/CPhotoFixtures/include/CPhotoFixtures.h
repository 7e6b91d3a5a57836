// Writes and reads pictures of every kind, for test data, demo libraries and benchmarks, with direct calls of libjpeg,
// libpng and Little CMS. It is deliberately separate from photod's codecs, because the tests compare those with it.
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
  // SOF1: more Huffman tables than baseline allows. One scan for each component.
  bool extended, multiple_scans;
  // CMYK without Adobe's marker, stored directly and not as its complement.
  bool without_adobe_marker;
  // Progressive with 3 components: the DC coefficients of each in a separate scan.
  bool separate_dc_scans;
  int restart_rows;
  // Segments in order: a marker's code, two bytes of big-endian content length, the content; or NULL.
  const uint8_t *segments;
  size_t segments_length;
  const uint8_t *icc_profile;
  size_t icc_profile_length;
} fixture_jpeg_options;

uint8_t *fixture_encode_jpeg(const uint8_t *pixels, uint32_t width, uint32_t height, fixture_jpeg_options options,
                             size_t *length);

// Writes a file of any size without holding its pixels in memory: a tile and its mirror images side by side. For a
// progressive file libjpeg itself holds the coefficients, 3 bytes per pixel at 4:2:0. False on any failure.
bool fixture_write_mirrored_jpeg(const char *path, const uint8_t *tile, uint32_t tile_width, uint32_t tile_height,
                                 uint32_t width, uint32_t height, fixture_jpeg_options options);

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

// The ICC profile of a JPEG or PNG; NULL if there is none.
uint8_t *fixture_profile_in(const uint8_t *bytes, size_t length, size_t *profile_length);

// An RGB profile: x and y of white and of red, green and blue; the exponent of its curve, 0 for sRGB's; 2.1 or 4.3.
uint8_t *fixture_rgb_profile(const double white[2], const double primaries[6], double exponent, double version,
                             size_t *length);
// The same with a table for one intent, whose curve has another exponent.
uint8_t *fixture_table_profile(const double white[2], const double primaries[6], double exponent,
                               double table_exponent, size_t *length);
uint8_t *fixture_gray_profile(double exponent, size_t *length);
// A CMYK profile with a table: L*a*b* of full cyan, magenta and yellow, whose distances from white add up, and L* of
// black, towards which all colours darken.
uint8_t *fixture_cmyk_profile(const double inks[10], size_t *length);
// Converts gray or RGB pixels from a profile to sRGB.
bool fixture_to_srgb(const uint8_t *profile, size_t length, int channels, const uint8_t *pixels, uint8_t *rgb,
                     size_t count);

// Decodes a JPEG or PNG to RGBA, 8 bits, row y at y * width * 4; `channels` is the file's number of channels.
uint8_t *fixture_decode(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels);

// Decodes a PNG that is not interlaced to 16 bits, in its own channels: sample c of pixel (x, y) at
// (y * width + x) * channels + c. `bits` is the file's number of bits.
uint16_t *fixture_decode_samples(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels,
                                 int *bits);

typedef struct {
  uint32_t width, height;
  int components;
  // Luma and two of chroma.
  bool ycbcr;
  bool progressive, multiple_scans;
  // Warnings of libjpeg.
  long warnings;
} fixture_jpeg_facts;

// Whether libjpeg decodes all rows of a JPEG of at most `maximum_pixels` pixels, and the properties that it reports.
// Warnings are accepted, and bytes after the last row are not read.
bool fixture_jpeg_decodes(const uint8_t *bytes, size_t length, uint64_t maximum_pixels, fixture_jpeg_facts *facts);

// A zlib stream that decompresses to this number of zeros.
uint8_t *fixture_deflate_zeros(size_t count, size_t *length);

// Exchanges the names of two files or folders: renameat2(2), RENAME_EXCHANGE.
bool fixture_exchange_names(const char *one, const char *other);
