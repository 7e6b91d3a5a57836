// photod-decoder-webp: one WebP frame (VP8 or VP8L, with ALPH) by libwebp, scaled while it is decoded.
//
// The payload is only the data of the chunks: the file around them is made here, so libwebp parses no container of the
// original. https://developers.google.com/speed/webp/docs/riff_container

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>

#include "decoder_worker.h"

enum { CHUNK_HEAD = 8, FILE_HEAD = 12, VP8X_BYTES = 10 };

static void describe(char *text, size_t capacity) {
  const int version = WebPGetDecoderVersion();
  snprintf(text, capacity, "libwebp %d.%d.%d", version >> 16, version >> 8 & 0xff, version & 0xff);
}

// Decodes a picture of one pixel in each way, so that libwebp's tables exist before children are forked.
static void warm_up(void) {
  // VP8L (RFC 9649 section 3): 1 x 1 pixel, no transforms, five prefix codes of one symbol.
  static const uint8_t file[] = "RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0\x2f\0\0\0\0\x88\x88\x08\0\0";
  int width, height;
  WebPFree(WebPDecodeRGBA(file, sizeof file - 1, &width, &height));
}

static void write_number(uint8_t *to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint8_t *write_chunk_head(uint8_t *to, const char *type, uint32_t bytes) {
  memcpy(to, type, 4);
  write_number(to + 4, bytes, 4);
  return to + CHUNK_HEAD;
}

// Makes a WebP file of the tile's extents, in memory that is never freed: the child decodes one frame.
static int make_file(const decoder_job *job, const uint8_t **file, size_t *file_bytes) {
  const decoder_tile tile = job->tiles[0];
  const uint32_t picture_extents = tile.extent_count - tile.auxiliary_count;
  const uint32_t alpha = tile.first_extent + picture_extents;
  const uint64_t picture_bytes = decoder_extent_bytes(job, tile.first_extent, picture_extents);
  const uint64_t alpha_bytes = decoder_extent_bytes(job, alpha, tile.auxiliary_count);
  // Sizes of chunks are 32 bits wide.
  if (picture_bytes > UINT32_MAX / 4 || alpha_bytes > UINT32_MAX / 4) return DECODER_REASON_MEMORY;
  if (picture_bytes == 0) return DECODER_REASON_MALFORMED;
  const size_t padded_picture = (picture_bytes + 1) & ~(size_t)1, padded_alpha = (alpha_bytes + 1) & ~(size_t)1;
  const size_t extended = alpha_bytes ? CHUNK_HEAD + VP8X_BYTES + CHUNK_HEAD + padded_alpha : 0;
  const size_t total = FILE_HEAD + extended + CHUNK_HEAD + padded_picture;
  uint8_t *const memory = calloc(1, total);
  if (!memory) return DECODER_REASON_MEMORY;
  memcpy(memory, "RIFF", 4);
  write_number(memory + 4, (uint32_t)(total - CHUNK_HEAD), 4);
  memcpy(memory + CHUNK_HEAD, "WEBP", 4);
  uint8_t *position = memory + FILE_HEAD;
  if (alpha_bytes) {
    position = write_chunk_head(position, "VP8X", VP8X_BYTES);
    position[0] = 0x10;  // alpha
    write_number(position + 4, job->request.coded_width - 1, 3);
    write_number(position + 7, job->request.coded_height - 1, 3);
    position = write_chunk_head(position + VP8X_BYTES, "ALPH", (uint32_t)alpha_bytes);
    const int reason = decoder_read_extents(job, alpha, tile.auxiliary_count, position);
    if (reason) return reason;
    position += padded_alpha;
  }
  uint8_t *const data = position + CHUNK_HEAD;
  const int reason = decoder_read_extents(job, tile.first_extent, picture_extents, data);
  if (reason) return reason;
  // VP8L begins with the signature 0x2f. A VP8 key frame can't: bit 0 of its first byte is clear (RFC 6386 section
  // 9.1).
  write_chunk_head(position, data[0] == 0x2f ? "VP8L" : "VP8 ", (uint32_t)picture_bytes);
  *file = memory;
  *file_bytes = total;
  return 0;
}

static int reason_of(VP8StatusCode status) {
  switch (status) {
  case VP8_STATUS_OK: return 0;
  case VP8_STATUS_OUT_OF_MEMORY: return DECODER_REASON_MEMORY;
  case VP8_STATUS_UNSUPPORTED_FEATURE: return DECODER_REASON_UNSUPPORTED;
  default: return DECODER_REASON_MALFORMED;
  }
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return DECODER_REASON_UNSUPPORTED;
  if (request->format == DECODER_PLANAR || request->plane_count != 1 || request->tile_count != 1)
    return DECODER_REASON_UNSUPPORTED;
  const uint8_t *file;
  size_t file_bytes;
  int reason = make_file(job, &file, &file_bytes);
  if (reason) return reason;
  reason = reason_of(WebPGetFeatures(file, file_bytes, &config.input));
  if (reason) return reason;
  if ((uint32_t)config.input.width != request->coded_width || (uint32_t)config.input.height != request->coded_height)
    return DECODER_REASON_MISMATCH;
  config.options.use_scaling = request->width != request->coded_width || request->height != request->coded_height;
  config.options.scaled_width = (int)request->width;
  config.options.scaled_height = (int)request->height;
  config.output.colorspace = request->format == DECODER_RGBA ? MODE_RGBA : MODE_RGB;
  reason = reason_of(WebPDecode(file, file_bytes, &config));
  if (reason) return reason;
  const WebPRGBABuffer rgba = config.output.u.RGBA;
  decoder_send_rows(job, 0, (const uint8_t *const[]){rgba.rgba}, (const ptrdiff_t[]){rgba.stride});
  return 0;
}

int main(void) {
  static const decoder_codec codec = {"webp", describe, warm_up, decode};
  return decoder_main(&codec);
}
