// The shared part of the decoder programs: a program defines a decoder_codec and calls decoder_main.
//
//   main.c of a program -> decoder_main (zygote.c): hello, requests, one forked child for each picture
//     child: decoder_enter_sandbox (sandbox.c) -> codec.decode -> decoder_send_rows (job.c) -> exit
//
// Nothing here trusts the payload, and nothing in the daemon trusts a child.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../CPhotodDecoder/include/decoder_protocol.h"

// The request of a child. Its counts are within the limits of the protocol, its tiles name existing extents, and the
// rows of all planes fit into the slots.
typedef struct {
  decoder_request request;
  const decoder_tile *tiles;
  const decoder_extent *extents;
  const uint8_t *parameters;
  uint8_t *slots[DECODER_SLOTS];
  bool is_slot_free[DECODER_SLOTS];
  // Sent in turn, so that the daemon reads one slot while the child fills the other.
  unsigned next_slot;
} decoder_job;

typedef struct {
  // At most 15 bytes: photod-decoder-NAME or photod-encoder-NAME.
  const char *name;
  // Writes the version of the library, for people: at most `capacity` bytes with the terminator.
  void (*describe)(char *text, size_t capacity);
  // Runs once, in the zygote: makes tables and loads code that children then share. May be NULL.
  void (*warm_up)(void);
  // Runs in the sandbox, in a child that ends when it returns: memory need not be freed after an error. Sends every row
  // of every tile and returns 0, or returns a DECODER_REASON.
  int (*decode)(decoder_job *job);
  // The program is an encoder: `decode` takes rows with encoder_take_rows and sends the coded picture.
  bool is_encoder;
} decoder_codec;

// The whole program. Returns its exit status when the daemon has closed the control socket.
int decoder_main(const decoder_codec *codec);

// The bytes of the extents first..<first + count together, or UINT64_MAX if they exceed any memory limit.
uint64_t decoder_extent_bytes(const decoder_job *job, uint32_t first, uint32_t count);

// Reads these extents, one after the other, into memory of that many bytes. Returns 0 or DECODER_REASON_INPUT.
int decoder_read_extents(const decoder_job *job, uint32_t first, uint32_t count, uint8_t *memory);

// Sends all rows of a tile, in bands: copies them into a free slot, and waits for one if both are in use. Plane p of
// the tile has request.planes[p].width samples a row, from planes[p], with strides[p] bytes from row to row. Does not
// return if the daemon has gone.
void decoder_send_rows(decoder_job *job, uint32_t tile, const uint8_t *const planes[], const ptrdiff_t strides[]);

// Whether the request is for one plane of luma, or three with chroma, of the whole coded size, without alpha, with
// samples of min_bits to max_bits: the output of video codecs.
bool decoder_wants_planes(const decoder_request *request, unsigned min_bits, unsigned max_bits);

// Sends the rows of a decoded tile in planes, as decoder_send_rows does. If the tiles are alternatives, the tile is
// sent as tile 0; a nearly black one is not sent unless it is the last. Nearly black: fewer than one in fifty luma
// samples are brighter than a quarter of the range. Returns whether the tile was sent.
bool decoder_send_tile(decoder_job *job, uint32_t tile, const uint8_t *const planes[], const ptrdiff_t strides[]);

// Waits for a free slot and returns its number.
unsigned decoder_wait_for_slot(decoder_job *job);
// Sends a message to the daemon. Does not return if the daemon has gone.
void decoder_send(const decoder_message *message);

// Bytes of one sample, or of an interleaved pixel, and the rows of a plane: chroma planes of 4:2:0 have half the rows,
// rounded up.
unsigned decoder_sample_bytes(const decoder_request *request);
uint32_t decoder_plane_rows(const decoder_request *request, unsigned plane, uint32_t rows);

// Encoders: receives all rows of the picture and calls `take` for each band. Row i of a band is at `rows + i * stride`,
// valid during the call. Does not return if the daemon has gone.
void encoder_take_rows(
    decoder_job *job, void (*take)(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride),
    void *context);

// Encoders: sends the next bytes of a part. Parts come in their order.
void encoder_send_bytes(uint32_t part, const uint8_t *bytes, size_t count);

// Encoders: copies the parameters of the request; false if they have another form.
bool encoder_read_parameters(const decoder_job *job, encoder_parameters *parameters);

// Whether an allocation of this process has failed.
extern bool decoder_allocation_failed;

typedef struct {
  uint64_t memory_limit_bytes;
  uint32_t cpu_seconds;
} decoder_limits;

// Enters every part of the sandbox that the kernel has, and returns these parts as DECODER_PART bits. The process must
// have one thread. Afterwards it can compute, allocate up to its memory limit, read descriptor DECODER_CHILD_PAYLOAD,
// talk on DECODER_CHILD_PROGRESS, write to descriptors 1 and 2 (/dev/null), and exit. Any other system call ends it by
// SIGSYS.
//
// `parent` is the zygote: if it has ended, so does this process.
unsigned decoder_enter_sandbox(const decoder_limits *limits, int parent, uint64_t base_bytes);

enum { DECODER_CHILD_PROGRESS = 3, DECODER_CHILD_PAYLOAD = 4 };
