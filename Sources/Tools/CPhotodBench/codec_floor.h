// What the limits of the two formats share.
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CPhotodBench.h"

#define FLOOR_PLANES 3

// A plane of the picture that is encoded; RGB and its like is one plane of several channels. Rows are padded to whole
// MCUs of 16 rows and columns, as raw data has to be.
typedef struct {
  uint8_t *bytes;
  size_t stride;
  uint32_t width, height, channels;
  // The next row that no decoded one was taken for.
  uint32_t filled;
} floor_plane;

struct photod_codec_floor {
  const uint8_t *file;
  size_t length;
  photod_codec_floor_options options;
  int plane_count;
  floor_plane planes[FLOOR_PLANES];
};

// Makes the planes' memory: `channels` of one plane, or of luma and halved chroma where the picture is planar.
bool floor_plane_allocate(photod_codec_floor *floor, uint32_t channels);
// Takes from row y of `height` decoded ones what the plane wants of it: pixels of `pixel_bytes`, the first byte of each
// sample of `sample_bytes`.
void floor_plane_take(floor_plane *plane, const uint8_t *row, uint32_t y, uint32_t width, uint32_t height,
                      size_t sample_bytes);

// Each decodes the whole file, with `keep` into the planes.
bool floor_decode_jpeg(photod_codec_floor *floor, bool keep);
bool floor_decode_png(photod_codec_floor *floor, bool keep);
size_t floor_encode_jpeg(photod_codec_floor *floor);
size_t floor_encode_png(photod_codec_floor *floor);
