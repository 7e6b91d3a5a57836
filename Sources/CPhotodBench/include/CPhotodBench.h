// The limit that a render is measured against: the codecs alone, in one thread of this process. A scaled decode of the
// whole original, and the encoding of a picture of the output's size. What lies between the two, the resampling and the
// turning, is left out, and so is every read: nothing that calls the same libraries for each picture can go below. The
// libraries are libjpeg-turbo and libpng with zlib; a render that inflates by other means can be quicker than libpng.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  // The output's size, before it is turned upright.
  uint32_t width, height;
  // The DCT scale of a JPEG, 1...8.
  int eighths;
  // From JPEG to JPEG in planes of YCbCr, without making RGB in between.
  bool planar;
  // The output is a PNG, else a JPEG.
  bool makes_png;
  // 1...100, of a JPEG; its chroma is halved both ways.
  int quality;
  // 0...9, of a PNG.
  int compression_level;
} photod_limit_options;

typedef struct photod_limit photod_limit;

// Decodes the file once, to have a picture to encode: the nearest pixel for each of the output's. The bytes must outlive
// the limit. NULL for what has none: CMYK, an interlaced PNG, planes where there are not three of YCbCr, a broken file.
photod_limit *photod_limit_create(const uint8_t *file, size_t length, photod_limit_options options);
void photod_limit_destroy(photod_limit *limit);
// Decodes the whole file into a band of rows that is used again and again.
bool photod_limit_decode(photod_limit *limit);
// Encodes the picture into memory; its length, or 0.
size_t photod_limit_encode(photod_limit *limit);

// The codecs that this was compiled with, such as "libjpeg-turbo 2.1.5".
const char *photod_limit_jpeg_library(void);
const char *photod_limit_png_library(void);
