// libFuzzer's entry for a decoder program: the same codec and the same job.c as in a worker, without the zygote and its
// sandbox. scripts/fuzz compiles it with one program's main.c, in which `main` has another name; it is not a target of
// the package.
//
// An input is a short description of the request, then its parameter bytes, the alpha chunk of WebP, and each tile
// after its length. The requests are valid, because the daemon makes them; all bytes of the payload are the fuzzer's.
// Checked: the messages are those that the daemon accepts, and the address sanitizer's own checks.
//
// The libraries of the codecs are the system's: they are not instrumented, but their allocations are.

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder_worker.h"

int decoder_program_main(void);
int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void *, size_t), void (*free_hook)(const volatile void *));

bool decoder_allocation_failed;

static const decoder_codec *codec;

int decoder_main(const decoder_codec *found) {
  codec = found;
  if (codec->warm_up) codec->warm_up();
  return 0;
}

// The daemon's side of the progress socket

static decoder_job *current;
static uint32_t next_tile, next_row;
static bool is_released[DECODER_SLOTS];

static void require(bool condition, const char *claim) {
  if (condition) return;
  fprintf(stderr, "the codec %s\n", claim);
  abort();
}

// job.c is compiled with these instead of pread, read and write.
ssize_t decoder_fuzz_pread(int descriptor, void *memory, size_t count, off_t offset);
ssize_t decoder_fuzz_read(int descriptor, void *memory, size_t count);
ssize_t decoder_fuzz_write(int descriptor, const void *memory, size_t count);

static const uint8_t *payload;
static size_t payload_bytes;

ssize_t decoder_fuzz_pread(int descriptor, void *memory, size_t count, off_t offset) {
  (void)descriptor;
  if (offset < 0 || (size_t)offset >= payload_bytes) return 0;
  const size_t left = payload_bytes - (size_t)offset;
  memcpy(memory, payload + offset, count < left ? count : left);
  return (ssize_t)(count < left ? count : left);
}

ssize_t decoder_fuzz_read(int descriptor, void *memory, size_t count) {
  (void)descriptor;
  for (uint32_t slot = 0; slot < DECODER_SLOTS && count == sizeof(decoder_release); slot++) {
    if (!is_released[slot]) continue;
    is_released[slot] = false;
    *(decoder_release *)memory = (decoder_release){slot};
    return (ssize_t)count;
  }
  return 0;
}

ssize_t decoder_fuzz_write(int descriptor, const void *memory, size_t count) {
  (void)descriptor;
  const decoder_request *const request = &current->request;
  decoder_message message;
  require(count == sizeof message, "sends a message of another size");
  memcpy(&message, memory, sizeof message);
  const uint32_t left = request->height - next_row;
  const uint32_t rows = left < request->band_rows ? left : request->band_rows;
  const uint32_t tiles = request->alternatives ? 1 : request->tile_count;
  require(message.kind == DECODER_ROWS && message.slot < DECODER_SLOTS, "sends an unknown message");
  require(
      next_tile < tiles && message.tile == next_tile && message.first_row == next_row && message.row_count == rows,
      "sends other rows than the next ones");
  is_released[message.slot] = true;
  next_row += rows;
  if (next_row == request->height) {
    next_tile++;
    next_row = 0;
  }
  return (ssize_t)count;
}

// A worker ends after its picture, so a codec need not free what it has allocated.

// A hash table with open addressing. Entries never move, so each is within NEAR places of its hash.
enum { KEPT = 1 << 16, NEAR = 64 };
static const volatile void *kept[KEPT];
static bool is_keeping;

static size_t place_of(const volatile void *memory) { return ((uintptr_t)memory >> 4) * 0x9E3779B97F4A7C15u >> 48; }

static void allocated(const volatile void *memory, size_t bytes) {
  (void)bytes;
  if (!is_keeping || !memory) return;
  size_t place = place_of(memory);
  for (unsigned tries = 0; tries < NEAR; tries++, place = (place + 1) % KEPT) {
    if (kept[place]) continue;
    kept[place] = memory;
    return;
  }
}

static void freed(const volatile void *memory) {
  if (!is_keeping || !memory) return;
  size_t place = place_of(memory);
  for (unsigned tries = 0; tries < NEAR; tries++, place = (place + 1) % KEPT) {
    if (kept[place] != memory) continue;
    kept[place] = NULL;
    return;
  }
}

static void free_kept(void) {
  is_keeping = false;
  for (size_t i = 0; i < KEPT; i++) {
    if (kept[i]) free((void *)kept[i]);
    kept[i] = NULL;
  }
}

// Inputs

static uint32_t number(const uint8_t *bytes) { return bytes[0] | (uint32_t)bytes[1] << 8; }

enum { HEAD_BYTES = 20, SLOT_BYTES = 1 << 16, MOST_TILES = 8, MOST_PIXELS = 1 << 20 };

// The places of planes as the daemon's BandLayout has them. Returns false if two rows do not fit into a slot.
static bool lay_out(decoder_request *request) {
  const uint32_t bytes = decoder_sample_bytes(request);
  unsigned count = 1;
  uint32_t widths[DECODER_MAX_PLANES] = {request->width}, steps[DECODER_MAX_PLANES] = {1};
  if (request->format == DECODER_PLANAR && request->chroma != DECODER_CHROMA_NONE) {
    const bool is_half = request->chroma != DECODER_CHROMA_444;
    for (; count < 3; count++) {
      widths[count] = is_half ? (request->width + 1) / 2 : request->width;
      steps[count] = request->chroma == DECODER_CHROMA_420 ? 2 : 1;
    }
  }
  if (request->format == DECODER_PLANAR && request->has_alpha) {
    widths[count] = request->width;
    steps[count++] = 1;
  }
  uint32_t pair = 0;
  for (unsigned p = 0; p < count; p++) pair += widths[p] * bytes * (2 / steps[p]);
  if (pair > SLOT_BYTES) return false;
  const uint32_t half = (request->height + 1) / 2;
  request->band_rows = (SLOT_BYTES / pair < half ? SLOT_BYTES / pair : half) * 2;
  request->plane_count = count;
  uint32_t offset = 0;
  for (unsigned p = 0; p < count; p++) {
    request->planes[p] = (decoder_plane){offset, widths[p] * bytes, widths[p], 0};
    offset += widths[p] * bytes * (request->band_rows / steps[p]);
  }
  request->slot_bytes = offset;
  return true;
}

static bool read_request(decoder_request *request, const uint8_t *head) {
  request->version = DECODER_PROTOCOL_VERSION;
  request->width = number(head);
  request->height = number(head + 2);
  request->coded_width = number(head + 4);
  request->coded_height = number(head + 6);
  request->format = head[8];
  request->chroma = head[9];
  request->bit_depth = head[10];
  request->has_alpha = head[11];
  request->nal_length_bytes = head[12];
  request->alternatives = head[13];
  request->tile_count = head[14];
  request->parameter_bytes = number(head + 16);
  request->cpu_seconds = 10;
  request->memory_limit_bytes = 64 << 20;
  return request->width && request->height && request->coded_width && request->coded_height &&
         request->width * request->height <= MOST_PIXELS &&
         request->coded_width * request->coded_height <= MOST_PIXELS && request->format >= DECODER_RGB &&
         request->format <= DECODER_PLANAR && request->chroma <= DECODER_CHROMA_444 && request->bit_depth >= 8 &&
         request->bit_depth <= 16 && request->has_alpha <= 1 && request->alternatives <= 1 &&
         request->tile_count >= 1 && request->tile_count <= MOST_TILES &&
         request->parameter_bytes <= DECODER_MAX_PARAMETER_BYTES && lay_out(request);
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
  (void)count;
  (void)arguments;
  decoder_program_main();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static decoder_tile tiles[MOST_TILES];
  static decoder_extent extents[2 * MOST_TILES];
  static bool has_hooks, is_warm;
  decoder_job job;
  memset(&job, 0, sizeof job);
  if (bytes < HEAD_BYTES || !read_request(&job.request, data)) return -1;
  const uint32_t alpha = number(data + 18);
  size_t place = HEAD_BYTES + job.request.parameter_bytes;
  if (place + alpha > bytes) return -1;
  // A copy, so that reads beyond it are found.
  uint8_t *const parameters = malloc(job.request.parameter_bytes + 1);
  memcpy(parameters, data + HEAD_BYTES, job.request.parameter_bytes);
  job.parameters = parameters;
  const size_t alpha_place = place;
  place += alpha;
  uint32_t extent_count = 0;
  for (uint32_t i = 0; i < job.request.tile_count; i++) {
    uint32_t length = place + 2 <= bytes ? number(data + place) : 0;
    place = place + 2 <= bytes ? place + 2 : bytes;
    // The last tile may be longer than its length can say.
    if (length > bytes - place || i + 1 == job.request.tile_count) length = (uint32_t)(bytes - place);
    tiles[i] = (decoder_tile){extent_count, 1, 0, 0};
    extents[extent_count++] = (decoder_extent){place, length};
    if (i == 0 && alpha) {
      tiles[i].extent_count = 2;
      tiles[i].auxiliary_count = 1;
      extents[extent_count++] = (decoder_extent){alpha_place, alpha};
    }
    place += length;
  }
  job.request.extent_count = extent_count;
  job.tiles = tiles;
  job.extents = extents;
  payload = data;
  payload_bytes = bytes;
  for (unsigned i = 0; i < DECODER_SLOTS; i++) {
    job.slots[i] = malloc(job.request.slot_bytes);
    job.is_slot_free[i] = true;
    is_released[i] = false;
  }
  current = &job;
  next_tile = next_row = 0;
  if (!has_hooks) has_hooks = __sanitizer_install_malloc_and_free_hooks(allocated, freed);
  // The first picture may leave tables that later ones use.
  is_keeping = is_warm;
  const int reason = codec->decode(&job);
  free_kept();
  is_warm = true;
  require(
      reason != 0 || next_tile == (job.request.alternatives ? 1 : job.request.tile_count), "has left out rows");
  for (unsigned i = 0; i < DECODER_SLOTS; i++) free(job.slots[i]);
  free(parameters);
  return 0;
}
