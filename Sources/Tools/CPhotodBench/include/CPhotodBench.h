// The lower limit for a render: only the codecs, in one thread of this process: a scaled decode of the whole original,
// and the encoding of a picture of the output's size. The steps in between (resampling, turning) and all reads are
// omitted, so no program that calls the same libraries for each picture can be faster. The libraries are libjpeg-turbo
// and libpng with zlib; a render that decompresses in another way can be faster than libpng.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  // The output's size, before it is turned upright.
  uint32_t width, height;
  // The DCT scale of a JPEG, 1...8.
  int eighths;
  // From JPEG to JPEG in planes of YCbCr, without RGB in between.
  bool planar;
  // Whether the output is a PNG; otherwise a JPEG.
  bool makes_png;
  // JPEG quality, 1...100; chroma is halved both ways.
  int quality;
  // PNG compression level, 0...9.
  int compression_level;
} photod_codec_floor_options;

typedef struct photod_codec_floor photod_codec_floor;

// Decodes the file once to get a picture to encode, with the nearest pixel for each of the output's. The bytes must
// outlive the limit. NULL if the limit is not defined: CMYK, an interlaced PNG, planes without three of YCbCr, a broken
// file.
photod_codec_floor *photod_codec_floor_create(const uint8_t *file, size_t length, photod_codec_floor_options options);
void photod_codec_floor_destroy(photod_codec_floor *floor);
// Decodes the whole file into a band of rows that is reused.
bool photod_codec_floor_decode(photod_codec_floor *floor);
// Encodes the picture into memory. Returns its length, or 0.
size_t photod_codec_floor_encode(photod_codec_floor *floor);

// The codecs that this was compiled with, such as "libjpeg-turbo 2.1.5".
const char *photod_codec_floor_jpeg_library(void);
const char *photod_codec_floor_png_library(void);
