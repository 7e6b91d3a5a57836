// Shared parts of the limits of both formats.
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CPhotodBench.h"

#define FLOOR_PLANES 3

// A plane of the encoded picture; RGB and similar formats are one plane of several channels. Rows are padded to whole
// MCUs of 16 rows and columns, as raw data must be.
typedef struct {
  uint8_t *bytes;
  size_t stride;
  uint32_t width, height, channels;
  // The next row that has no decoded row yet.
  uint32_t filled;
} floor_plane;

struct photod_codec_floor {
  const uint8_t *file;
  size_t length;
  photod_codec_floor_options options;
  int plane_count;
  floor_plane planes[FLOOR_PLANES];
};

// Allocates the planes: one plane of `channels`, or luma and halved chroma if the picture is planar.
bool floor_plane_allocate(photod_codec_floor *floor, uint32_t channels);
// Copies the needed pixels from row y of a decoded picture of `width` by `height`: the first byte of each sample of
// `sample_bytes`.
void floor_plane_take(floor_plane *plane, const uint8_t *row, uint32_t y, uint32_t width, uint32_t height,
                      size_t sample_bytes);

// Each decodes the whole file; with `keep` into the planes.
bool floor_decode_jpeg(photod_codec_floor *floor, bool keep);
bool floor_decode_png(photod_codec_floor *floor, bool keep);
size_t floor_encode_jpeg(photod_codec_floor *floor);
size_t floor_encode_png(photod_codec_floor *floor);
