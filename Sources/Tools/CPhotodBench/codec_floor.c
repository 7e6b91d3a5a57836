#include "codec_floor.h"

static bool is_jpeg(const photod_codec_floor *floor) { return floor->file[0] == 0xFF; }

static uint32_t padded(uint32_t side) { return (side + 15) / 16 * 16; }

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

photod_codec_floor *photod_codec_floor_create(const uint8_t *file, size_t length, photod_codec_floor_options options) {
  photod_codec_floor *floor = length > 8 ? calloc(1, sizeof *floor) : NULL;
  if (!floor) return NULL;
  floor->file = file;
  floor->length = length;
  floor->options = options;
  if (!(is_jpeg(floor) ? floor_decode_jpeg(floor, true) : floor_decode_png(floor, true))) {
    photod_codec_floor_destroy(floor);
    return NULL;
  }
  return floor;
}

void photod_codec_floor_destroy(photod_codec_floor *floor) {
  for (int c = 0; c < FLOOR_PLANES; c++) free(floor->planes[c].bytes);
  free(floor);
}

bool photod_codec_floor_decode(photod_codec_floor *floor) {
  return is_jpeg(floor) ? floor_decode_jpeg(floor, false) : floor_decode_png(floor, false);
}

size_t photod_codec_floor_encode(photod_codec_floor *floor) {
  return floor->options.makes_png ? floor_encode_png(floor) : floor_encode_jpeg(floor);
}

bool floor_plane_allocate(photod_codec_floor *floor, uint32_t channels) {
  floor->plane_count = floor->options.planar ? FLOOR_PLANES : 1;
  for (int c = 0; c < floor->plane_count; c++) {
    floor_plane *plane = &floor->planes[c];
    const uint32_t step = c > 0 ? 2 : 1;
    plane->channels = channels;
    plane->width = (floor->options.width + step - 1) / step;
    plane->height = (floor->options.height + step - 1) / step;
    plane->stride = (size_t)padded(plane->width) * channels;
    plane->bytes = calloc(padded(plane->height), plane->stride);
    if (!plane->bytes) return false;
  }
  return true;
}

void floor_plane_take(floor_plane *plane, const uint8_t *row, uint32_t y, uint32_t width, uint32_t height,
                      size_t sample_bytes) {
  const uint32_t rows = padded(plane->height), columns = (uint32_t)(plane->stride / plane->channels);
  while (plane->filled < rows) {
    const uint64_t wanted = (uint64_t)plane->filled * height / plane->height;
    if (least((uint32_t)wanted, height - 1) != y) return;
    uint8_t *to = plane->bytes + plane->filled++ * plane->stride;
    for (uint32_t x = 0; x < columns; x++) {
      const uint32_t from = least((uint32_t)((uint64_t)x * width / plane->width), width - 1);
      for (uint32_t c = 0; c < plane->channels; c++)
        *to++ = row[((size_t)from * plane->channels + c) * sample_bytes];
    }
  }
}
