#include "limit.h"

static bool is_jpeg(const photod_limit *limit) { return limit->file[0] == 0xFF; }

static uint32_t padded(uint32_t side) { return (side + 15) / 16 * 16; }

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

photod_limit *photod_limit_create(const uint8_t *file, size_t length, photod_limit_options options) {
  photod_limit *limit = length > 8 ? calloc(1, sizeof *limit) : NULL;
  if (!limit) return NULL;
  limit->file = file;
  limit->length = length;
  limit->options = options;
  if (!(is_jpeg(limit) ? limit_decode_jpeg(limit, true) : limit_decode_png(limit, true))) {
    photod_limit_destroy(limit);
    return NULL;
  }
  return limit;
}

void photod_limit_destroy(photod_limit *limit) {
  for (int c = 0; c < LIMIT_PLANES; c++) free(limit->planes[c].bytes);
  free(limit);
}

bool photod_limit_decode(photod_limit *limit) {
  return is_jpeg(limit) ? limit_decode_jpeg(limit, false) : limit_decode_png(limit, false);
}

size_t photod_limit_encode(photod_limit *limit) {
  return limit->options.makes_png ? limit_encode_png(limit) : limit_encode_jpeg(limit);
}

bool limit_plane_allocate(photod_limit *limit, uint32_t channels) {
  limit->plane_count = limit->options.planar ? LIMIT_PLANES : 1;
  for (int c = 0; c < limit->plane_count; c++) {
    limit_plane *plane = &limit->planes[c];
    const uint32_t step = c > 0 ? 2 : 1;
    plane->channels = channels;
    plane->width = (limit->options.width + step - 1) / step;
    plane->height = (limit->options.height + step - 1) / step;
    plane->stride = (size_t)padded(plane->width) * channels;
    plane->bytes = calloc(padded(plane->height), plane->stride);
    if (!plane->bytes) return false;
  }
  return true;
}

void limit_plane_take(limit_plane *plane, const uint8_t *row, uint32_t y, uint32_t width, uint32_t height,
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
