// The protocol between photod and its decoder programs, photod-decoder-NAME.
//
// A decoder program starts as a zygote: it loads its codec, waits for requests on descriptor 3 and forks a child for
// each picture. The child enters the sandbox before it reads the first byte of the picture.
//
//   daemon -> zygote   decoder_request, its tables, and DECODER_DESCRIPTORS descriptors; one message of descriptor 3
//   zygote -> daemon   decoder_hello, once, on descriptor 3; decoder_status, on the status socket of each request
//   child  -> daemon   decoder_message, on the progress socket of the request
//   daemon -> child    decoder_release, on the same socket: a slot may be written again
//
// Encoder programs, photod-encoder-NAME, work in the other direction: rows go to the child in the slots, and the coded
// picture comes back in messages.
//
//   daemon -> child    encoder_rows: rows of the picture are in a slot
//   child  -> daemon   decoder_message: ENCODER_RELEASED, then ENCODER_BYTES, each followed by that many bytes
//
// A JPEG that is transcoded to JPEG XL is the payload, and there are no rows.
//
// All sockets are SOCK_SEQPACKET: a message arrives whole or not at all. Everything that comes from a child is
// untrusted. Both sides are built together and run on one machine, so structures are copied as they are.
#pragma once

#include <stdint.h>

#define DECODER_PROTOCOL_VERSION 6

// The descriptor of the zygote that requests arrive on.
#define DECODER_CONTROL 3

// The largest request: parameter bytes such as HEVC's parameter sets, tiles of a grid, and extents of the payload.
#define DECODER_MAX_PARAMETER_BYTES 16384
#define DECODER_MAX_TILES 2048
#define DECODER_MAX_EXTENTS 4096
// The longer side of a tile, and the bytes of a slot.
#define DECODER_MAX_SIDE 65535
#define DECODER_MAX_SLOT_BYTES (64 << 20)
// Children of one zygote at a time.
#define DECODER_MAX_CHILDREN 256
#define DECODER_SLOTS 2
#define DECODER_MAX_PLANES 4

// The descriptors of a request, in this order: the payload, open for reading; the child's end of the progress socket;
// the zygote's end of the status socket; the slots.
enum {
  DECODER_PAYLOAD,
  DECODER_PROGRESS,
  DECODER_STATUS,
  DECODER_FIRST_SLOT,
  DECODER_DESCRIPTORS = DECODER_FIRST_SLOT + DECODER_SLOTS,
};

// The parts of the sandbox, as bits. A child has entered the parts that its decoder_hello named.
enum {
  DECODER_PART_NO_NEW_PRIVILEGES = 1 << 0,
  DECODER_PART_SYSTEM_CALL_FILTER = 1 << 1,
  DECODER_PART_LANDLOCK = 1 << 2,
  DECODER_PART_RESOURCE_LIMITS = 1 << 3,
  DECODER_PART_PARENT_DEATH = 1 << 4,
  DECODER_ALL_PARTS = (1 << 5) - 1,
};

// The samples of the rows, in `format`.
enum {
  // 3 samples a pixel, one plane. A sample has 1 byte, or 2 in native order if `bit_depth` is 16, to encoders only.
  DECODER_RGB = 1,
  // 4 samples a pixel, alpha not multiplied, one plane; as for RGB.
  DECODER_RGBA = 2,
  // Luma, then both chroma planes of the size that `chroma` says, then the alpha plane if `has_alpha` is set. 1 byte a
  // sample, or 2 in native order if `bit_depth` is more than 8.
  DECODER_PLANAR = 3,
};

// ISO/IEC 23008-2 chroma_format_idc.
enum { DECODER_CHROMA_NONE = 0, DECODER_CHROMA_420 = 1, DECODER_CHROMA_422 = 2, DECODER_CHROMA_444 = 3 };

// The place of a plane in a slot: row r of a band is at offset + r * stride.
typedef struct {
  uint32_t offset, stride, width, reserved;
} decoder_plane;

// A range of the payload.
typedef struct {
  uint64_t offset, length;
} decoder_extent;

// The extents of one tile, in order: first those of the picture, then `auxiliary_count` of its alpha (WebP's ALPH).
typedef struct {
  uint32_t first_extent, extent_count, auxiliary_count, reserved;
} decoder_tile;

typedef struct {
  uint32_t version;
  // The whole message: this structure, the tiles, the extents, the parameter bytes.
  uint32_t byte_count;
  uint32_t tile_count, extent_count, parameter_bytes;
  // Pixels of the coded picture of every tile, and of the rows that are wanted: less only with a codec that scales.
  uint32_t coded_width, coded_height;
  uint32_t width, height;
  uint32_t format, chroma, bit_depth, has_alpha;
  // HEVC by libde265: 1, 2 or 4. The bytes before each NAL unit that hold its length.
  uint32_t nal_length_bytes;
  // Rows of a band, at most: even, so that chroma rows are whole. The last band of a tile may be smaller.
  uint32_t band_rows;
  uint32_t slot_bytes;
  uint32_t plane_count;
  uint32_t cpu_seconds;
  // 1: the tiles are alternatives. The rows of the first one that is not nearly black are sent, or else those of the
  // last, as tile 0.
  uint32_t alternatives;
  uint32_t reserved;
  // The limit of the child's allocations, in bytes.
  uint64_t memory_limit_bytes;
  decoder_plane planes[DECODER_MAX_PLANES];
} decoder_request;

// JPEG XL: the colours of the rows.
enum {
  // Those of the codestream.
  DECODER_JXL_AS_CODED = 0,
  // These primaries and the white point D65, with the curve of sRGB. Only for pictures in XYB.
  DECODER_JXL_SRGB = 1,
  DECODER_JXL_DISPLAY_P3 = 2,
  DECODER_JXL_BT2020 = 3,
};

// JPEG XL: the parameter bytes.
typedef struct {
  // Not 0: the rows are the bytes of the codestream's ICC profile after their number in four bytes, most significant
  // first; zeros follow. Only the number, if the profile is longer than the rows.
  uint32_t is_profile;
  uint32_t primaries;
  // Pixels of a side that are averaged to one: 1, 2, 4 or 8.
  uint32_t step;
  // The place of the rows in the picture of averaged pixels, whose sides are rounded up.
  uint32_t x, y;
} decoder_jxl_parameters;

// RAW: the parameter bytes.
typedef struct {
  // Pixels of a side that are averaged to one: 1, 2, 4 or 8.
  uint32_t step;
  // The place of the rows in the picture of averaged pixels, whose sides are rounded up.
  uint32_t x, y;
} decoder_raw_parameters;

#define DECODER_MAX_REQUEST_BYTES                                                                      \
  (sizeof(decoder_request) + DECODER_MAX_TILES * sizeof(decoder_tile) +                                \
   DECODER_MAX_EXTENTS * sizeof(decoder_extent) + DECODER_MAX_PARAMETER_BYTES)

typedef struct {
  uint32_t version;
  // Parts of the sandbox that a trial child entered.
  uint32_t sandbox_parts;
  // The codec's name and its library's version, for people.
  char codec[16];
  char library[48];
} decoder_hello;

// Sent when the child runs, with its pidfd as a descriptor, and again when it has ended.
enum { DECODER_CHILD_STARTED = 1, DECODER_CHILD_REFUSED = 2, DECODER_CHILD_ENDED = 3 };

typedef struct {
  uint32_t kind;
  // DECODER_CHILD_ENDED: what waitpid(2) returned. DECODER_CHILD_REFUSED: errno.
  int32_t status;
  // DECODER_CHILD_ENDED: CPU time in user and kernel, and the largest resident set, with the pages that the child
  // shared with the zygote and the daemon (getrusage(2)).
  uint64_t cpu_microseconds, peak_bytes;
} decoder_status;

enum {
  // Rows of one tile are in a slot.
  DECODER_ROWS = 1,
  // Every row of every tile was sent. The child ends.
  DECODER_DONE = 2,
  // The child ends without the remaining rows.
  DECODER_FAILED = 3,
  // Encoders: the slot may be written again.
  ENCODER_RELEASED = 4,
  // Encoders: the next bytes of part `tile` follow, `row_count` of them. A JPEG XL is one part. An AVIF has a part of
  // colours for each strip, each followed by one of alpha if the picture has alpha.
  ENCODER_BYTES = 5,
};

// The bytes that follow a message, at most.
#define ENCODER_MAX_MESSAGE_BYTES 32768

// Why a child failed.
enum {
  // The payload is damaged.
  DECODER_REASON_MALFORMED = 1,
  // The payload is valid, but the codec does not support it.
  DECODER_REASON_UNSUPPORTED = 2,
  // The picture has another size, depth or chroma than the request.
  DECODER_REASON_MISMATCH = 3,
  // An allocation failed, because it exceeded the memory limit.
  DECODER_REASON_MEMORY = 4,
  // The payload ended early, or could not be read.
  DECODER_REASON_INPUT = 5,
  // A part of the sandbox that the zygote had announced could not be entered.
  DECODER_REASON_SANDBOX = 6,
};

typedef struct {
  uint32_t kind, reason;
  uint32_t slot, tile, first_row, row_count;
} decoder_message;

typedef struct {
  uint32_t slot;
} decoder_release;

// Encoders: rows of the picture, from top to bottom. All bands but the last have band_rows.
typedef struct {
  uint32_t slot, first_row, row_count, reserved;
} encoder_rows;

// Encoders: the parameter bytes. The payload is the ICC profile of a JPEG XL, or the JPEG that becomes one.
typedef struct {
  // The codec's own number in hundredths: WebP's quality, the quantizer of AV1, the distance of JPEG XL.
  uint32_t hundredths;
  // WebP: the method; AV1: the speed; JPEG XL: the effort.
  uint32_t effort;
  // AV1: chroma has the size of luma.
  uint32_t has_full_chroma;
  // H.273 code points: AV1's, and those of a JPEG XL whose samples have 2 bytes.
  uint32_t primaries, transfer, matrix;
  // Rows that are coded together: the height, or those of a strip, the last of which may have fewer.
  uint32_t strip_rows;
  // Samples of 2 bytes: the bits that are coded, 10 to 16, and for JPEG XL the brightest light in cd/m2.
  uint32_t coded_bits, peak_luminance;
  // JPEG XL: the payload is a JPEG, whose coefficients are coded again without loss. There are no rows.
  uint32_t is_transcoding;
  // With is_transcoding: the JPEG XL also has what is needed to make the JPEG from it again.
  uint32_t keeps_reconstruction;
} encoder_parameters;
