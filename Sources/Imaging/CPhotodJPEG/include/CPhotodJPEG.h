// libjpeg-turbo for Swift: only what Swift can't express (setjmp, macros, structs with function pointers).
//
// Every entry point has its own setjmp, so a longjmp of libjpeg begins and ends within one call of these functions. The
// callbacks (fill, should_stop) return normally before libjpeg continues, so no longjmp crosses a Swift frame. One
// thread at a time uses a handle. After PHOTOD_JPEG_FAILED or PHOTOD_JPEG_STOPPED only the error text and destroy are
// allowed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  PHOTOD_JPEG_OK = 0,
  // The source has no data now: call the same function again later. Only with `may_wait`.
  PHOTOD_JPEG_NEEDS_INPUT = 1,
  PHOTOD_JPEG_STOPPED = 2,
  PHOTOD_JPEG_FAILED = 3,
  PHOTOD_JPEG_TOO_MANY_SCANS = 4,
  PHOTOD_JPEG_NO_MEMORY = 5,
} photod_jpeg_status;

typedef struct {
  // Copies at most `capacity` bytes to `into`. Returns their number, 0 at the end, -1 for "not yet" (only with
  // may_wait), -2 for a read error (`failed` distinguishes it from the codec's own errors).
  long (*fill)(void *context, uint8_t *into, size_t capacity);
  // Called once for each MCU row while libjpeg reads a progressive file on its own, and before each further 64 KiB of
  // input; non-zero ends the call.
  int (*should_stop)(void *context);
  void *context;
  // Whether `fill` may return "not yet". If not, libjpeg reads without interruption, which is a little faster, and rows
  // may be skipped.
  bool may_wait;
} photod_jpeg_source;

typedef struct {
  uint32_t width, height;
  int components;
  // J_COLOR_SPACE of the file: 1 gray, 2 RGB, 3 YCbCr, 4 CMYK, 5 YCCK.
  int color_space;
  bool progressive;
  // The file comes in several scans, as every progressive one does: libjpeg holds all of its coefficients.
  bool multiple_scans;
} photod_jpeg_header;

typedef struct {
  // Numerator of the DCT scale, of 8: 1, 2, 4 or 8.
  int scale;
  // Of a progressive file, decode only the scans up to the DC coefficients of every component: usually one scan, or one
  // for each component if they are not interleaved. The later scans are not read.
  bool first_scan_only;
  // Deliver the components of a YCbCr file as separate planes: use photod_jpeg_read_planes instead of
  // photod_jpeg_read_rows, and neither crop nor skip_rows.
  bool planar;
} photod_jpeg_decode_options;

typedef struct {
  uint32_t width, height;
  // 1 gray, 3 RGB, 4 CMYK as stored.
  int components;
} photod_jpeg_output;

enum { PHOTOD_JPEG_PLANES = 3 };

typedef struct {
  // The samples that belong to the picture.
  uint32_t width, height;
  // Bytes of a row: its samples, and padding up to whole MCUs.
  uint32_t row_bytes;
  // Rows that arrive together: with those of the other planes, one row of MCUs.
  uint32_t rows_per_group;
} photod_jpeg_plane;

typedef struct {
  // libjpeg's number of warnings, and the first of them.
  long warnings;
  // The file, or the data of a scan in it, ended before its picture did.
  bool truncated;
  // The source itself failed (fill returned -2).
  bool read_failed;
  char message[200];
} photod_jpeg_report;

typedef struct photod_jpeg_decoder photod_jpeg_decoder;

photod_jpeg_decoder *photod_jpeg_decoder_create(photod_jpeg_source source, int maximum_scans);
void photod_jpeg_decoder_destroy(photod_jpeg_decoder *decoder);
photod_jpeg_status photod_jpeg_read_header(photod_jpeg_decoder *decoder, photod_jpeg_header *header);
// Chooses the decoding parameters and returns the layout of the rows. Needs no input.
photod_jpeg_status photod_jpeg_prepare(photod_jpeg_decoder *decoder, photod_jpeg_decode_options options,
                                       photod_jpeg_output *output);
// Reads up to the first row: for a progressive file that is all of it.
photod_jpeg_status photod_jpeg_start(photod_jpeg_decoder *decoder);
// Limits the decode to the columns [*x, *x + *width), rounded outwards to whole MCUs, and sets both to the rounded
// values. Call it after start, before the first row. Not with may_wait.
photod_jpeg_status photod_jpeg_crop(photod_jpeg_decoder *decoder, uint32_t *x, uint32_t *width);
// Skips `count` rows. Not with may_wait.
photod_jpeg_status photod_jpeg_skip_rows(photod_jpeg_decoder *decoder, uint32_t count);
// Decodes up to `count` rows, row i to rows + i * stride; sets `*decoded` to their number (with OK, at least one).
photod_jpeg_status photod_jpeg_read_rows(photod_jpeg_decoder *decoder, uint8_t *rows, size_t stride, uint32_t count,
                                         uint32_t *decoded);
// The layout of each component's plane. After prepare, with `planar`.
void photod_jpeg_planes(const photod_jpeg_decoder *decoder, photod_jpeg_plane planes[PHOTOD_JPEG_PLANES]);
// Decodes the next group, row i of plane c to rows[c][i]: `row_bytes` each, also of the rows beyond the last one.
photod_jpeg_status photod_jpeg_read_planes(photod_jpeg_decoder *decoder,
                                           uint8_t *const *const rows[PHOTOD_JPEG_PLANES]);
void photod_jpeg_decoder_report(const photod_jpeg_decoder *decoder, photod_jpeg_report *report);

// Follows the markers of a JPEG while its bytes arrive (T.81 annex B): skips segments by their length, and the data of
// scans by stuffed zeros and restart markers. Begin with all zeros; the first two bytes are assumed to be SOI.
typedef struct {
  // SOS markers so far.
  uint32_t scans;
  // EOI was seen.
  bool ended;
  // There were bytes, a TEM, RSTn or SOI marker between segments, or a segment had a length of 0 or 1. libjpeg ignores
  // all of these except SOI.
  bool has_garbage;
  bool has_quantization, has_huffman;
  // A comment or an APPn that is not JFIF (0), a colour profile (2) or Adobe's (14).
  bool has_metadata;
  // The state of the scanner; private.
  int state;
  uint32_t left;
  uint8_t code;
} photod_jpeg_markers;

// Follows `count` more bytes. Returns how many of them belong to the picture: fewer where it ended.
size_t photod_jpeg_markers_scan(photod_jpeg_markers *markers, const uint8_t *bytes, size_t count);

typedef struct {
  uint32_t width, height;
  // 1 gray or 3 RGB.
  int components;
  // 1...100, libjpeg's scale.
  int quality;
  // Halve the chroma in both directions (4:2:0).
  bool subsample_chroma;
  // Quantise with the table of N. Robidoux instead of those of T.81 annex K, at the same scale of quality.
  bool robidoux_table;
  // Progressive: several scans, each with its own Huffman tables. All coefficients are kept in memory, two bytes each.
  bool progressive;
  // The picture comes as planes of YCbCr of their final sizes: photod_jpeg_write_planes instead of write_rows.
  bool planar;
  // An ICC profile to embed, or NULL.
  const uint8_t *icc_profile;
  size_t icc_profile_length;
} photod_jpeg_encode_options;

typedef struct photod_jpeg_encoder photod_jpeg_encoder;

typedef struct {
  // Receives the next bytes of the file, at least one, which are valid during the call only. Returning false makes the
  // writing call fail.
  bool (*write)(void *context, const uint8_t *bytes, size_t count);
  void *context;
} photod_jpeg_sink;

photod_jpeg_encoder *photod_jpeg_encoder_create(photod_jpeg_sink sink);
void photod_jpeg_encoder_destroy(photod_jpeg_encoder *encoder);
photod_jpeg_status photod_jpeg_encoder_start(photod_jpeg_encoder *encoder, photod_jpeg_encode_options options);
photod_jpeg_status photod_jpeg_write_rows(photod_jpeg_encoder *encoder, const uint8_t *rows, size_t stride,
                                          uint32_t count);
// Takes the next row of MCUs: row i of plane c at planes[c] + i * strides[c], 8 rows for each vertical sampling factor.
// Each row is padded to a multiple of 8 samples, and the last group to whole blocks of 8 rows.
photod_jpeg_status photod_jpeg_write_planes(photod_jpeg_encoder *encoder,
                                            const uint8_t *const planes[PHOTOD_JPEG_PLANES],
                                            const size_t strides[PHOTOD_JPEG_PLANES]);
// Ends the file. After this call the sink has received all bytes.
photod_jpeg_status photod_jpeg_encoder_finish(photod_jpeg_encoder *encoder);
void photod_jpeg_encoder_report(const photod_jpeg_encoder *encoder, photod_jpeg_report *report);
