// From the bytes of IDAT chunks to unfiltered rows.

#include "pixels.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

// The bytes between the data of two IDAT chunks: a checksum, a length and a type (PNG third edition §5.3).
enum { CHECKSUM_BYTES = 4, GAP_BYTES = 12 };

struct photod_png_pixels {
  struct inflate_state inflate;
  uint32_t height;
  size_t row_bytes;
  int bytes_per_pixel;
  bool is_16_bit;
  // Missing bytes of the current chunk, and the checksum of the bytes that have arrived.
  uint32_t chunk_left;
  uint32_t checksum;
  // The bytes between two chunks that have arrived.
  uint8_t gap[GAP_BYTES];
  size_t gap_bytes;
  // Rows that are finished, and bytes of the next one: its filter, then its samples.
  uint32_t y;
  size_t filled;
  bool stream_ended;
  // The filter's byte, the samples and slack. Of the row above, only the samples are kept.
  uint8_t *row, *previous;
  uint8_t *memory;
  // A row of 16-bit samples in the machine's order; NULL for 8 bits.
  uint16_t *native;
};

static uint32_t big_endian(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void begin_chunk(photod_png_pixels *pixels, uint32_t bytes) {
  pixels->chunk_left = bytes;
  pixels->gap_bytes = 0;
  // The checksum is of type and data.
  pixels->checksum = crc32_gzip_refl(0, (const uint8_t *)"IDAT", 4);
}

photod_png_pixels *photod_png_pixels_create(uint32_t height, size_t row_bytes, int bytes_per_pixel, bool is_16_bit,
                                            uint32_t chunk_bytes) {
  photod_png_pixels *pixels = calloc(1, sizeof *pixels);
  if (!pixels) return NULL;
  const size_t size = 1 + row_bytes + PHOTOD_PNG_ROW_SLACK;
  pixels->memory = calloc(2, size);
  if (is_16_bit) pixels->native = malloc(row_bytes);
  if (!pixels->memory || (is_16_bit && !pixels->native)) {
    photod_png_pixels_destroy(pixels);
    return NULL;
  }
  pixels->row = pixels->memory;
  pixels->previous = pixels->memory + size;
  pixels->height = height;
  pixels->row_bytes = row_bytes;
  pixels->bytes_per_pixel = bytes_per_pixel;
  pixels->is_16_bit = is_16_bit;
  isal_inflate_init(&pixels->inflate);
  pixels->inflate.crc_flag = ISAL_ZLIB;
  begin_chunk(pixels, chunk_bytes);
  return pixels;
}

void photod_png_pixels_destroy(photod_png_pixels *pixels) {
  if (!pixels) return;
  free(pixels->memory);
  free(pixels->native);
  free(pixels);
}

// True: a further row is wanted.
static bool deliver(photod_png_pixels *pixels, const photod_png_source *source) {
  const uint8_t *row = pixels->row + 1;
  if (pixels->is_16_bit) {
    for (size_t i = 0; i < pixels->row_bytes / 2; i++)
      pixels->native[i] = (uint16_t)(row[2 * i] << 8 | row[2 * i + 1]);
    row = (const uint8_t *)pixels->native;
  }
  const bool is_wanted = source->row(source->context, pixels->y, row) == 0;
  uint8_t *above = pixels->row;
  pixels->row = pixels->previous;
  pixels->previous = above;
  pixels->filled = 0;
  pixels->y++;
  return is_wanted;
}

// Inflates bytes of one chunk. NEEDS_INPUT: continue with more bytes.
static photod_png_status inflate_some(photod_png_pixels *pixels, const uint8_t *bytes, uint32_t length,
                                      const photod_png_source *source, const char **message) {
  struct inflate_state *state = &pixels->inflate;
  state->next_in = (uint8_t *)bytes;
  state->avail_in = length;
  while (pixels->y < pixels->height && !pixels->stream_ended) {
    state->next_out = pixels->row + pixels->filled;
    state->avail_out = (uint32_t)(1 + pixels->row_bytes - pixels->filled);
    if (isal_inflate(state) != ISAL_DECOMP_OK) {
      *message = "IDAT: damaged compressed data";
      return PHOTOD_PNG_FAILED;
    }
    pixels->filled = 1 + pixels->row_bytes - state->avail_out;
    if (state->avail_out > 0) {
      // A row that is not full means that the input is used up, or the stream at its end.
      pixels->stream_ended = state->block_state == ISAL_BLOCK_FINISH;
      return PHOTOD_PNG_NEEDS_INPUT;
    }
    if (source->should_stop(source->context)) return PHOTOD_PNG_STOPPED;
    if (!photod_png_unfilter(pixels->row[0], pixels->row + 1, pixels->previous + 1, pixels->row_bytes,
                             pixels->bytes_per_pixel)) {
      *message = "IDAT: a filter that PNG does not know";
      return PHOTOD_PNG_FAILED;
    }
    // After the last row the rest of the chunk is still taken, for its CRC.
    if (!deliver(pixels, source) && pixels->y < pixels->height) return PHOTOD_PNG_OK;
  }
  return PHOTOD_PNG_NEEDS_INPUT;
}

bool photod_png_pixels_are_complete(const photod_png_pixels *pixels) { return pixels->y == pixels->height; }

photod_png_status photod_png_pixels_take(photod_png_pixels *pixels, const uint8_t *bytes, size_t length,
                                         const photod_png_source *source, const char **message) {
  while (length > 0) {
    if (pixels->chunk_left > 0) {
      const uint32_t count = length < pixels->chunk_left ? (uint32_t)length : pixels->chunk_left;
      pixels->checksum = crc32_gzip_refl(pixels->checksum, bytes, count);
      const photod_png_status status = inflate_some(pixels, bytes, count, source, message);
      if (status != PHOTOD_PNG_NEEDS_INPUT) return status;
      pixels->chunk_left -= count;
      bytes += count;
      length -= count;
      continue;
    }
    size_t count = GAP_BYTES - pixels->gap_bytes;
    if (count > length) count = length;
    memcpy(pixels->gap + pixels->gap_bytes, bytes, count);
    pixels->gap_bytes += count;
    bytes += count;
    length -= count;
    if (pixels->gap_bytes >= CHECKSUM_BYTES && big_endian(pixels->gap) != pixels->checksum) {
      *message = "IDAT: a checksum that is wrong";
      return PHOTOD_PNG_FAILED;
    }
    if (pixels->gap_bytes < GAP_BYTES) continue;
    if (memcmp(pixels->gap + 8, "IDAT", 4) != 0) return PHOTOD_PNG_OK;
    begin_chunk(pixels, big_endian(pixels->gap + CHECKSUM_BYTES));
  }
  return PHOTOD_PNG_NEEDS_INPUT;
}
