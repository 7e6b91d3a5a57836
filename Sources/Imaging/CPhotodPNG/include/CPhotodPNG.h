// libpng for Swift: only what Swift can't say itself. The rules are those of CPhotodJPEG: one setjmp an entry point,
// callbacks that return before libpng goes on, a handle used by one thread at a time, and after a failure nothing but
// the report and destroy.
//
// libpng reads everything but the pixels of plain files, which go past it (pixels.h).
//
// Decoding pushes: libpng is fed what the source has and calls `row` for each finished row. That is the one libpng
// interface that can stop for want of input and go on later.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  PHOTOD_PNG_OK = 0,
  PHOTOD_PNG_NEEDS_INPUT = 1,
  PHOTOD_PNG_STOPPED = 2,
  PHOTOD_PNG_FAILED = 3,
  PHOTOD_PNG_TRUNCATED = 4,
  PHOTOD_PNG_NO_MEMORY = 5,
  PHOTOD_PNG_TOO_LARGE = 6,
} photod_png_status;

typedef struct {
  // As in photod_jpeg_source: bytes copied, 0 at the end, -1 not yet, -2 read error.
  long (*fill)(void *context, uint8_t *into, size_t capacity);
  // Asked about at every row, of every pass of an interlaced picture too; non-zero ends the call.
  int (*should_stop)(void *context);
  // A finished row, top to bottom, each exactly once: row_bytes bytes, valid during the call.
  // Non-zero: no further row is wanted, and the decode ends as if the file did.
  int (*row)(void *context, uint32_t y, const uint8_t *row);
  void *context;
} photod_png_source;

typedef struct {
  uint32_t width, height;
  // As the rows will arrive: 1 gray, 2 gray+alpha, 3 RGB, 4 RGBA; palettes and tRNS expanded, small depths widened.
  int channels;
  // 8, or 16 in the machine's byte order.
  int bits_per_channel;
  size_t row_bytes;
  bool interlaced;
} photod_png_header;

typedef struct {
  long warnings;
  bool read_failed;
  char message[200];
} photod_png_report;

typedef struct photod_png_decoder photod_png_decoder;

// `maximum_chunk_bytes` bounds any one chunk beside the pixels. Text and chunks that describe colours are passed over.
photod_png_decoder *photod_png_decoder_create(photod_png_source source, size_t maximum_chunk_bytes);
void photod_png_decoder_destroy(photod_png_decoder *decoder);
photod_png_status photod_png_read_header(photod_png_decoder *decoder, photod_png_header *header);
// Delivers every row. An interlaced picture is held whole (height * row_bytes) and delivered at its end.
photod_png_status photod_png_decode(photod_png_decoder *decoder);
void photod_png_decoder_report(const photod_png_decoder *decoder, photod_png_report *report);

// Inflates a zlib stream of at most `limit` bytes: PHOTOD_PNG_TOO_LARGE as soon as there is one more, PHOTOD_PNG_FAILED
// where it is damaged or cut off. The bytes are the caller's, whatever the status, to be given to photod_inflate_free.
photod_png_status photod_inflate(const uint8_t *from, size_t length, size_t limit, uint8_t **bytes, size_t *inflated);
void photod_inflate_free(uint8_t *bytes);

typedef struct {
  uint32_t width, height;
  // 1 gray, 2 gray+alpha, 3 RGB, 4 RGBA, all of 8 bits.
  int channels;
  // zlib's level, 0...9.
  int compression_level;
  const uint8_t *icc_profile;
  size_t icc_profile_length;
} photod_png_encode_options;

typedef struct photod_png_encoder photod_png_encoder;

typedef struct {
  // As in photod_jpeg_sink: takes the next bytes of the file. False: no more, and the call that wrote them fails.
  bool (*write)(void *context, const uint8_t *bytes, size_t count);
  void *context;
} photod_png_sink;

photod_png_encoder *photod_png_encoder_create(photod_png_sink sink);
void photod_png_encoder_destroy(photod_png_encoder *encoder);
photod_png_status photod_png_encoder_start(photod_png_encoder *encoder, photod_png_encode_options options);
photod_png_status photod_png_write_rows(photod_png_encoder *encoder, const uint8_t *rows, size_t stride,
                                        uint32_t count);
// Ends the file; all of it has gone to the sink then.
photod_png_status photod_png_encoder_finish(photod_png_encoder *encoder);
void photod_png_encoder_report(const photod_png_encoder *encoder, photod_png_report *report);
