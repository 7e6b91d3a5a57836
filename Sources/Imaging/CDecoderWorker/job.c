// One child's work: reading the payload and sending rows.

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder_worker.h"

uint64_t decoder_extent_bytes(const decoder_job *job, uint32_t first, uint32_t count) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (job->extents[first + i].length > (uint64_t)1 << 40) return UINT64_MAX;
    total += job->extents[first + i].length;
  }
  return total;
}

int decoder_read_extents(const decoder_job *job, uint32_t first, uint32_t count, uint8_t *memory) {
  for (uint32_t i = 0; i < count; i++) {
    const decoder_extent extent = job->extents[first + i];
    for (uint64_t got = 0; got < extent.length;) {
      const ssize_t read = pread(DECODER_CHILD_PAYLOAD, memory, extent.length - got, (off_t)(extent.offset + got));
      if (read > 0) {
        got += (uint64_t)read;
        memory += read;
      } else if (read == 0 || errno != EINTR) {
        return DECODER_REASON_INPUT;
      }
    }
  }
  return 0;
}

void decoder_send(const decoder_message *message) {
  ssize_t sent;
  do sent = write(DECODER_CHILD_PROGRESS, message, sizeof *message);
  while (sent < 0 && errno == EINTR);
  if (sent != (ssize_t)sizeof *message) _exit(1);
}

unsigned decoder_wait_for_slot(decoder_job *job) {
  const unsigned slot = job->next_slot;
  job->next_slot = (slot + 1) % DECODER_SLOTS;
  while (!job->is_slot_free[slot]) {
    decoder_release release;
    const ssize_t count = read(DECODER_CHILD_PROGRESS, &release, sizeof release);
    if (count < 0 && errno == EINTR) continue;
    // The daemon needs no further rows, or has ended.
    if (count != (ssize_t)sizeof release || release.slot >= DECODER_SLOTS) _exit(1);
    job->is_slot_free[release.slot] = true;
  }
  return slot;
}

unsigned decoder_sample_bytes(const decoder_request *request) {
  const unsigned bytes = request->bit_depth > 8 ? 2 : 1;
  if (request->format == DECODER_RGB) return 3 * bytes;
  if (request->format == DECODER_RGBA) return 4 * bytes;
  return bytes;
}

uint32_t decoder_plane_rows(const decoder_request *request, unsigned plane, uint32_t rows) {
  const bool is_chroma = request->format == DECODER_PLANAR && (plane == 1 || plane == 2) &&
                         request->chroma != DECODER_CHROMA_NONE;
  return is_chroma && request->chroma == DECODER_CHROMA_420 ? (rows + 1) / 2 : rows;
}

bool decoder_wants_planes(const decoder_request *request, unsigned min_bits, unsigned max_bits) {
  return request->format == DECODER_PLANAR && !request->has_alpha && request->chroma <= DECODER_CHROMA_444 &&
         request->bit_depth >= min_bits && request->bit_depth <= max_bits &&
         request->plane_count == (request->chroma == DECODER_CHROMA_NONE ? 1 : 3) &&
         request->width == request->coded_width && request->height == request->coded_height;
}

static bool is_nearly_black(const decoder_request *request, const uint8_t *luma, ptrdiff_t stride) {
  // Every eighth sample of every eighth row.
  const unsigned quarter = 1u << (request->bit_depth - 2);
  uint64_t samples = 0, bright = 0;
  for (uint32_t y = 0; y < request->height; y += 8) {
    const uint8_t *const row = luma + (ptrdiff_t)y * stride;
    for (uint32_t x = 0; x < request->width; x += 8) {
      uint16_t sample = row[x];
      if (request->bit_depth > 8) memcpy(&sample, row + 2 * (size_t)x, 2);
      bright += sample > quarter;
      samples++;
    }
  }
  return bright * 50 < samples;
}

bool decoder_send_tile(decoder_job *job, uint32_t tile, const uint8_t *const planes[], const ptrdiff_t strides[]) {
  const decoder_request *const request = &job->request;
  const bool has_next = request->alternatives && tile + 1 < request->tile_count;
  if (has_next && is_nearly_black(request, planes[0], strides[0])) return false;
  decoder_send_rows(job, request->alternatives ? 0 : tile, planes, strides);
  return true;
}

void decoder_send_rows(decoder_job *job, uint32_t tile, const uint8_t *const planes[], const ptrdiff_t strides[]) {
  const decoder_request *const request = &job->request;
  const unsigned sample_bytes = decoder_sample_bytes(request);
  for (uint32_t first = 0; first < request->height; first += request->band_rows) {
    const uint32_t left = request->height - first;
    const uint32_t rows = left < request->band_rows ? left : request->band_rows;
    const unsigned slot = decoder_wait_for_slot(job);
    for (unsigned p = 0; p < request->plane_count; p++) {
      const decoder_plane plane = request->planes[p];
      const uint8_t *from = planes[p] + (ptrdiff_t)decoder_plane_rows(request, p, first) * strides[p];
      uint8_t *to = job->slots[slot] + plane.offset;
      for (uint32_t row = decoder_plane_rows(request, p, rows); row > 0; row--) {
        memcpy(to, from, (size_t)plane.width * sample_bytes);
        from += strides[p];
        to += plane.stride;
      }
    }
    job->is_slot_free[slot] = false;
    decoder_send(&(decoder_message){
        .kind = DECODER_ROWS, .slot = slot, .tile = tile, .first_row = first, .row_count = rows});
  }
}
