// libpng for Swift: only what Swift can't express. The rules are those of CPhotodJPEG: each entry point has one setjmp,
// callbacks return before libpng continues, one thread at a time uses a handle, and after a failure only the report and
// destroy may be called.
//
// libpng reads everything except the pixels of plain files (pixels.h).
//
// Decoding uses libpng's push interface: libpng gets the bytes of each read and calls `row` for each finished row. It
// is paused where the pixels of a plain file begin, which pixels.h reads.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  PHOTOD_PNG_OK = 0,
  // Only inside this module: all bytes of the last read were used, and more are needed.
  PHOTOD_PNG_NEEDS_INPUT = 1,
  PHOTOD_PNG_STOPPED = 2,
  PHOTOD_PNG_FAILED = 3,
  PHOTOD_PNG_TRUNCATED = 4,
  PHOTOD_PNG_NO_MEMORY = 5,
  PHOTOD_PNG_TOO_LARGE = 6,
} photod_png_status;

typedef struct {
  // As in photod_jpeg_source: returns the bytes copied, 0 at the end, -1 for "not yet", -2 for a read error. This
  // decoder does not wait for bytes: it treats "not yet" as the end of the file.
  long (*fill)(void *context, uint8_t *into, size_t capacity);
  // Called at every row of every pass; non-zero ends the call.
  int (*should_stop)(void *context);
  // Receives each finished row once, from top to bottom: row_bytes bytes, valid during the call. Non-zero: no further
  // row is wanted, and the decode ends as at the end of the file.
  int (*row)(void *context, uint32_t y, const uint8_t *row);
  void *context;
} photod_png_source;

typedef struct {
  uint32_t width, height;
  // Channels of the delivered rows: 1 gray, 2 gray+alpha, 3 RGB, 4 RGBA; palettes and tRNS expanded, small depths
  // widened.
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

// `maximum_chunk_bytes` limits each chunk other than the pixels. Text and colour chunks are skipped.
photod_png_decoder *photod_png_decoder_create(photod_png_source source, size_t maximum_chunk_bytes);
void photod_png_decoder_destroy(photod_png_decoder *decoder);
photod_png_status photod_png_read_header(photod_png_decoder *decoder, photod_png_header *header);
// Delivers every row. An interlaced picture is kept in memory (height * row_bytes) and delivered at its end.
photod_png_status photod_png_decode(photod_png_decoder *decoder);
void photod_png_decoder_report(const photod_png_decoder *decoder, photod_png_report *report);

// Inflates a zlib stream of at most `limit` bytes. PHOTOD_PNG_TOO_LARGE: the stream has more bytes; PHOTOD_PNG_FAILED:
// it is damaged or truncated. With any status, the caller owns the bytes and passes them to photod_inflate_free.
photod_png_status photod_inflate(const uint8_t *from, size_t length, size_t limit, uint8_t **bytes, size_t *inflated);
void photod_inflate_free(uint8_t *bytes);

typedef struct {
  uint32_t width, height;
  // 1 gray, 2 gray+alpha, 3 RGB, 4 RGBA.
  int channels;
  // 8, or 16 in native byte order.
  int bit_depth;
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
// Ends the file. After this call the sink has received all bytes.
photod_png_status photod_png_encoder_finish(photod_png_encoder *encoder);
void photod_png_encoder_report(const photod_png_encoder *encoder, photod_png_report *report);
