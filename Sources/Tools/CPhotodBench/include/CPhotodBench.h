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
} photod_codec_floor_options;

typedef struct photod_codec_floor photod_codec_floor;

// Decodes the file once, to have a picture to encode: the nearest pixel for each of the output's. The bytes must outlive
// the limit. NULL for what has none: CMYK, an interlaced PNG, planes where there are not three of YCbCr, a broken file.
photod_codec_floor *photod_codec_floor_create(const uint8_t *file, size_t length, photod_codec_floor_options options);
void photod_codec_floor_destroy(photod_codec_floor *floor);
// Decodes the whole file into a band of rows that is used again and again.
bool photod_codec_floor_decode(photod_codec_floor *floor);
// Encodes the picture into memory; its length, or 0.
size_t photod_codec_floor_encode(photod_codec_floor *floor);

// The codecs that this was compiled with, such as "libjpeg-turbo 2.1.5".
const char *photod_codec_floor_jpeg_library(void);
const char *photod_codec_floor_png_library(void);
