// libjpeg-turbo for Swift: only what Swift can't say itself (setjmp, macros, structs with function pointers).
//
// Every entry point holds one setjmp of its own; libjpeg's longjmp begins and ends inside one call from here.
// The callbacks (fill, should_stop) return normally before libjpeg goes on, so no longjmp ever crosses a Swift frame.
// A handle is used by one thread at a time. After PHOTOD_JPEG_FAILED or PHOTOD_JPEG_STOPPED only the error text
// and destroy are allowed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  PHOTOD_JPEG_OK = 0,
  // The source had nothing for now: call the same function again later. Only with `may_wait`.
  PHOTOD_JPEG_NEEDS_INPUT = 1,
  PHOTOD_JPEG_STOPPED = 2,
  PHOTOD_JPEG_FAILED = 3,
  PHOTOD_JPEG_TOO_MANY_SCANS = 4,
  PHOTOD_JPEG_NO_MEMORY = 5,
} photod_jpeg_status;

typedef struct {
  // Copies at most `capacity` bytes to `into`; returns how many, 0 at the end, -1 for "not yet" (only with may_wait),
  // -2 for a read error (`failed` tells it apart from the codec's own errors).
  long (*fill)(void *context, uint8_t *into, size_t capacity);
  // Asked about once an MCU row while libjpeg works on its own (progressive input), and before each
  // further 64 KiB of input; non-zero ends the call.
  int (*should_stop)(void *context);
  void *context;
  // Whether `fill` may ever answer "not yet". Without it libjpeg reads straight through, a little faster, and rows
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
  bool saw_adobe_marker;
} photod_jpeg_header;

typedef struct {
  // Numerator of the DCT scale, of 8: 1, 2, 4 or 8.
  int scale;
  // Of a progressive file, show what is known once every component has its DC coefficients: one scan as a rule, one
  // for each component where they are not interleaved. What comes behind is not read.
  bool first_scan_only;
  // Deliver the components of a YCbCr file as they are, each a plane of its own: photod_jpeg_read_planes instead of
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
  // What a row takes: its samples and padding up to whole MCUs.
  uint32_t row_bytes;
  // Rows that arrive together: with those of the other planes, one row of MCUs.
  uint32_t rows_per_group;
} photod_jpeg_plane;

typedef struct {
  // libjpeg's own count of recoverable oddities, and the first of them.
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
// Decides how to decode and tells what will arrive. Needs no input.
photod_jpeg_status photod_jpeg_prepare(photod_jpeg_decoder *decoder, photod_jpeg_decode_options options,
                                       photod_jpeg_output *output);
// Reads up to the first row: for a progressive file that is all of it.
photod_jpeg_status photod_jpeg_start(photod_jpeg_decoder *decoder);
// Narrows what is decoded to the columns around [*x, *x + *width), rounded outwards to whole MCUs; both come back as
// what will really arrive. After start, before the first row. Not with may_wait.
photod_jpeg_status photod_jpeg_crop(photod_jpeg_decoder *decoder, uint32_t *x, uint32_t *width);
// Passes over `count` rows without delivering them. Not with may_wait.
photod_jpeg_status photod_jpeg_skip_rows(photod_jpeg_decoder *decoder, uint32_t count);
// Decodes up to `count` rows, row i to rows + i * stride; `*decoded` says how many arrived (with OK, at least one).
photod_jpeg_status photod_jpeg_read_rows(photod_jpeg_decoder *decoder, uint8_t *rows, size_t stride, uint32_t count,
                                         uint32_t *decoded);
// What each component will arrive as. After prepare, with `planar`.
void photod_jpeg_planes(const photod_jpeg_decoder *decoder, photod_jpeg_plane planes[PHOTOD_JPEG_PLANES]);
// Decodes the next group, row i of plane c to rows[c][i]: `row_bytes` each, also of the rows beyond the last one.
photod_jpeg_status photod_jpeg_read_planes(photod_jpeg_decoder *decoder,
                                           uint8_t *const *const rows[PHOTOD_JPEG_PLANES]);
void photod_jpeg_decoder_report(const photod_jpeg_decoder *decoder, photod_jpeg_report *report);

// The markers of a JPEG, followed as its bytes go by (T.81 annex B): segments are passed over by their length, data of
// scans by its stuffed zeros and restart markers. Begin with all zeros; the first two bytes are taken for SOI.
typedef struct {
  // SOS markers so far.
  uint32_t scans;
  // EOI was seen.
  bool ended;
  // Between segments stood bytes, a TEM, RSTn or SOI marker, or a segment had a length of 0 or 1. libjpeg passes over all
  // of these but SOI.
  bool has_garbage;
  bool has_quantization, has_huffman;
  // A comment or an APPn that is not JFIF (0), a colour profile (2) or Adobe's (14).
  bool has_metadata;
  // Where it stands; not for others.
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
  // Several scans with Huffman tables of their own. All coefficients are held, two bytes each.
  bool progressive;
  // The picture comes as planes of YCbCr of their final sizes: photod_jpeg_write_planes instead of write_rows.
  bool planar;
  // An ICC profile to carry, or NULL.
  const uint8_t *icc_profile;
  size_t icc_profile_length;
} photod_jpeg_encode_options;

typedef struct photod_jpeg_encoder photod_jpeg_encoder;

typedef struct {
  // Takes the next bytes of the file, at once: they are overwritten afterwards. `count` may be 0. False: no more, and the
  // call that wrote them fails.
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
// Ends the file; all of it has gone to the sink then.
photod_jpeg_status photod_jpeg_encoder_finish(photod_jpeg_encoder *encoder);
void photod_jpeg_encoder_report(const photod_jpeg_encoder *encoder, photod_jpeg_report *report);
