// One child's work if it encodes: taking rows and sending the coded picture.

#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "decoder_worker.h"

void encoder_take_rows(
    decoder_job *job, void (*take)(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride),
    void *context) {
  const decoder_request *const request = &job->request;
  for (uint32_t first = 0; first < request->height;) {
    const uint32_t left = request->height - first;
    const uint32_t count = left < request->band_rows ? left : request->band_rows;
    encoder_rows rows;
    const ssize_t got = read(DECODER_CHILD_PROGRESS, &rows, sizeof rows);
    if (got < 0 && errno == EINTR) continue;
    // The daemon has ended, or does not keep to the request.
    if (got != (ssize_t)sizeof rows || rows.slot >= DECODER_SLOTS || rows.first_row != first || rows.row_count != count)
      _exit(1);
    const decoder_plane plane = request->planes[0];
    take(context, first, count, job->slots[rows.slot] + plane.offset, plane.stride);
    decoder_send(&(decoder_message){.kind = ENCODER_RELEASED, .slot = rows.slot});
    first += count;
  }
}

void encoder_send_bytes(uint32_t part, const uint8_t *bytes, size_t count) {
  static uint8_t message[sizeof(decoder_message) + ENCODER_MAX_MESSAGE_BYTES];
  while (count > 0) {
    const size_t step = count < ENCODER_MAX_MESSAGE_BYTES ? count : ENCODER_MAX_MESSAGE_BYTES;
    const decoder_message head = {.kind = ENCODER_BYTES, .tile = part, .row_count = (uint32_t)step};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, bytes, step);
    ssize_t sent;
    do sent = write(DECODER_CHILD_PROGRESS, message, sizeof head + step);
    while (sent < 0 && errno == EINTR);
    if (sent != (ssize_t)(sizeof head + step)) _exit(1);
    bytes += step;
    count -= step;
  }
}

bool encoder_read_parameters(const decoder_job *job, encoder_parameters *parameters) {
  if (job->request.parameter_bytes != sizeof *parameters || job->request.tile_count != 1) return false;
  memcpy(parameters, job->parameters, sizeof *parameters);
  return true;
}
