// photod-decoder-hevc: the tiles of a HEIC picture, or its only picture, and frames of HEVC videos, by libde265.
//
// The parameter bytes are the parameter sets (ISO/IEC 14496-15 hvcC), each after its length in 4 bytes. The extents of
// a tile are its NAL units, each after its length in `nal_length_bytes`. Every tile begins with a random access
// picture.

#include <libde265/de265.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder_worker.h"

static void describe(char *text, size_t capacity) { snprintf(text, capacity, "libde265 %s", de265_get_version()); }

// Makes libde265's tables before children are forked.
static void warm_up(void) { de265_init(); }

static int reason_of(de265_error error) {
  switch (error) {
  case DE265_OK: return 0;
  case DE265_ERROR_OUT_OF_MEMORY: return DECODER_REASON_MEMORY;
  case DE265_ERROR_NOT_IMPLEMENTED_YET:
  case DE265_ERROR_CODED_PARAMETER_OUT_OF_RANGE: return DECODER_REASON_UNSUPPORTED;
  default: return DECODER_REASON_MALFORMED;
  }
}

// Gives the decoder NAL units that each follow their length.
static int push(de265_decoder_context *decoder, const uint8_t *data, size_t bytes, uint32_t length_bytes) {
  while (bytes > 0) {
    if (bytes < length_bytes) return DECODER_REASON_MALFORMED;
    size_t length = 0;
    for (uint32_t i = 0; i < length_bytes; i++) length = length << 8 | data[i];
    data += length_bytes;
    bytes -= length_bytes;
    // libde265 reads the two bytes of a NAL unit's header without asking.
    if (length > bytes || length < 2 || length > INT32_MAX) return DECODER_REASON_MALFORMED;
    const de265_error error = de265_push_NAL(decoder, data, (int)length, 0, NULL);
    if (error != DE265_OK) return reason_of(error);
    data += length;
    bytes -= length;
  }
  return 0;
}

static bool is_as_requested(const decoder_request *request, const struct de265_image *image) {
  if (de265_get_chroma_format(image) != (enum de265_chroma)request->chroma) return false;
  for (unsigned plane = 0; plane < request->plane_count; plane++) {
    if ((uint32_t)de265_get_bits_per_pixel(image, (int)plane) != request->bit_depth ||
        (uint32_t)de265_get_image_width(image, (int)plane) != request->planes[plane].width ||
        (uint32_t)de265_get_image_height(image, (int)plane) != decoder_plane_rows(request, plane, request->height))
      return false;
  }
  return true;
}

// Decodes a tile and sends its rows, unless it is to be left out.
static int decode_tile(decoder_job *job, de265_decoder_context *decoder, uint32_t index, bool *sent) {
  const decoder_tile tile = job->tiles[index];
  const uint64_t bytes = decoder_extent_bytes(job, tile.first_extent, tile.extent_count);
  if (bytes > job->request.memory_limit_bytes) return DECODER_REASON_MEMORY;
  uint8_t *const data = malloc(bytes + 1);
  if (!data) return DECODER_REASON_MEMORY;
  int reason = decoder_read_extents(job, tile.first_extent, tile.extent_count, data);
  if (!reason) reason = push(decoder, job->parameters, job->request.parameter_bytes, 4);
  if (!reason) reason = push(decoder, data, bytes, job->request.nal_length_bytes);
  // The decoder has copies.
  free(data);
  if (reason) return reason;
  de265_error error = de265_flush_data(decoder);
  const struct de265_image *image = NULL;
  for (int more = 1; error == DE265_OK && more && !image;) {
    more = 0;
    error = de265_decode(decoder, &more);
    image = de265_peek_next_picture(decoder);
  }
  if (!image) return error == DE265_OK || error == DE265_ERROR_WAITING_FOR_INPUT_DATA ? DECODER_REASON_MALFORMED
                                                                                    : reason_of(error);
  if (!is_as_requested(&job->request, image)) return DECODER_REASON_MISMATCH;
  const uint8_t *planes[DECODER_MAX_PLANES] = {NULL};
  ptrdiff_t strides[DECODER_MAX_PLANES] = {0};
  for (unsigned plane = 0; plane < job->request.plane_count; plane++) {
    int stride;
    planes[plane] = de265_get_image_plane(image, (int)plane, &stride);
    strides[plane] = stride;
    if (!planes[plane]) return DECODER_REASON_MALFORMED;
  }
  *sent = decoder_send_tile(job, index, planes, strides);
  de265_release_next_picture(decoder);
  return 0;
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  const bool has_lengths = request->nal_length_bytes >= 1 && request->nal_length_bytes <= 4;
  if (!decoder_wants_planes(request, 8, 16) || !has_lengths) return DECODER_REASON_UNSUPPORTED;
  de265_disable_logging();
  de265_decoder_context *const decoder = de265_new_decoder();
  if (!decoder) return DECODER_REASON_MEMORY;
  bool sent = false;
  for (uint32_t tile = 0; tile < request->tile_count && !(request->alternatives && sent); tile++) {
    if (tile > 0) de265_reset(decoder);
    const int reason = decode_tile(job, decoder, tile, &sent);
    if (reason) return reason;
  }
  return 0;
}

int main(void) {
  static const decoder_codec codec = {"hevc", describe, warm_up, decode};
  return decoder_main(&codec);
}
