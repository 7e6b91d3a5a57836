// photod-decoder-av1: the tiles of an AVIF picture, or its only picture, and frames of AV1 videos, by dav1d.
//
// The extents of a tile are its OBUs (AV1 Bitstream & Decoding Process Specification §5.3). The sequence header is
// among them, or in the parameter bytes, which are OBUs that come before those of every tile.

#include <dav1d/dav1d.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder_worker.h"

static void describe(char *text, size_t capacity) { snprintf(text, capacity, "dav1d %s", dav1d_version()); }

static Dav1dSettings settings_for(uint32_t width, uint32_t height) {
  Dav1dSettings settings;
  dav1d_default_settings(&settings);
  // The sandbox has one thread.
  settings.n_threads = 1;
  settings.max_frame_delay = 1;
  settings.frame_size_limit = width * height;
  settings.all_layers = 0;
  settings.logger.callback = NULL;
  return settings;
}

// Makes dav1d's tables, and chooses its functions for this processor, before children are forked.
static void warm_up(void) {
  const Dav1dSettings settings = settings_for(1, 1);
  Dav1dContext *context;
  if (dav1d_open(&context, &settings) == 0) dav1d_close(&context);
}

static int reason_of(int error) {
  switch (error) {
  case 0: return 0;
  case DAV1D_ERR(ENOMEM): return DECODER_REASON_MEMORY;
  case DAV1D_ERR(ENOPROTOOPT): return DECODER_REASON_UNSUPPORTED;
  // The size is above the limit, so it is not the container's.
  case DAV1D_ERR(ERANGE): return DECODER_REASON_MISMATCH;
  default: return DECODER_REASON_MALFORMED;
  }
}

static bool is_as_requested(const decoder_request *request, const Dav1dPicture *picture) {
  const enum Dav1dPixelLayout layouts[] = {
      [DECODER_CHROMA_NONE] = DAV1D_PIXEL_LAYOUT_I400,
      [DECODER_CHROMA_420] = DAV1D_PIXEL_LAYOUT_I420,
      [DECODER_CHROMA_422] = DAV1D_PIXEL_LAYOUT_I422,
      [DECODER_CHROMA_444] = DAV1D_PIXEL_LAYOUT_I444,
  };
  return picture->p.layout == layouts[request->chroma] && (uint32_t)picture->p.bpc == request->bit_depth &&
         (uint32_t)picture->p.w == request->width && (uint32_t)picture->p.h == request->height;
}

// Decodes OBUs until they give a picture.
static int decode_picture(Dav1dContext *context, Dav1dData *data, Dav1dPicture *picture) {
  for (;;) {
    if (data->sz > 0) {
      const int error = dav1d_send_data(context, data);
      if (error != 0 && error != DAV1D_ERR(EAGAIN)) return reason_of(error);
    }
    const int error = dav1d_get_picture(context, picture);
    if (error != DAV1D_ERR(EAGAIN)) return reason_of(error);
    if (data->sz == 0) return DECODER_REASON_MALFORMED;
  }
}

// Decodes a tile and sends its rows, unless it is to be left out.
static int decode_tile(decoder_job *job, Dav1dContext *context, uint32_t index, bool *sent) {
  const decoder_tile tile = job->tiles[index];
  const uint64_t bytes = decoder_extent_bytes(job, tile.first_extent, tile.extent_count);
  const size_t head = job->request.parameter_bytes;
  if (bytes == 0) return DECODER_REASON_MALFORMED;
  if (bytes > job->request.memory_limit_bytes) return DECODER_REASON_MEMORY;
  Dav1dData data = {0};
  uint8_t *const memory = dav1d_data_create(&data, head + bytes);
  if (!memory) return DECODER_REASON_MEMORY;
  memcpy(memory, job->parameters, head);
  int reason = decoder_read_extents(job, tile.first_extent, tile.extent_count, memory + head);
  Dav1dPicture picture = {0};
  if (!reason) reason = decode_picture(context, &data, &picture);
  dav1d_data_unref(&data);
  if (reason) return reason;
  if (!is_as_requested(&job->request, &picture)) return DECODER_REASON_MISMATCH;
  *sent = decoder_send_tile(
      job, index, (const uint8_t *const[]){picture.data[0], picture.data[1], picture.data[2]},
      (const ptrdiff_t[]){picture.stride[0], picture.stride[1], picture.stride[1]});
  dav1d_picture_unref(&picture);
  return 0;
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  if (!decoder_wants_planes(request, 8, 12) || request->bit_depth % 2 != 0) return DECODER_REASON_UNSUPPORTED;
  const Dav1dSettings settings = settings_for(request->coded_width, request->coded_height);
  Dav1dContext *context;
  int reason = reason_of(dav1d_open(&context, &settings));
  bool sent = false;
  for (uint32_t tile = 0; tile < request->tile_count && !reason && !(request->alternatives && sent); tile++) {
    if (tile > 0) dav1d_flush(context);
    reason = decode_tile(job, context, tile, &sent);
  }
  return reason;
}

int main(void) {
  static const decoder_codec codec = {"av1", describe, warm_up, decode};
  return decoder_main(&codec);
}
