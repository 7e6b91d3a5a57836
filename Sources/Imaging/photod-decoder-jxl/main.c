// photod-decoder-jxl: a JPEG XL codestream (ISO/IEC 18181-1) by libjxl.
//
// The payload is the codestream without boxes. libjxl delivers pieces of rows in the order of its groups, so the region
// is kept until it is complete, at the reduced size: samples are summed in boxes as they arrive.

#include <jxl/decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder_worker.h"

// The parameters of a request: decoder_jxl_parameters of decoder_protocol.h.
typedef decoder_jxl_parameters parameters;

typedef struct {
  const decoder_request *request;
  uint32_t x, y, step;
  unsigned channels;
  bool is_deep;
  // Planes of the region at the reduced size, each width * height elements: samples of one or two bytes, or sums.
  void *planes[DECODER_MAX_PLANES];
  // Pixels that have arrived, of the whole picture.
  uint64_t pixels;
} output;

static void describe(char *text, size_t capacity) {
  const uint32_t version = JxlDecoderVersion();
  snprintf(text, capacity, "libjxl %u.%u.%u", version / 1000000, version / 1000 % 1000, version % 1000);
}

static void ignore(void *opaque, size_t x, size_t y, size_t count, const void *pixels) {
  (void)opaque, (void)x, (void)y, (void)count, (void)pixels;
}

// Decodes a picture of one pixel, so that libjxl's tables exist before children are forked.
static void warm_up(void) {
  static const uint8_t picture[] = {
      0xff, 0x0a, 0x00, 0x10, 0x90, 0x50, 0x5c, 0x08, 0x00, 0x12, 0x08, 0x01, 0x00, 0xd4, 0x00, 0x5d, 0xe5, 0x12,
      0x00, 0x00, 0x15, 0x2a, 0xa3, 0x8c, 0x1b, 0xbc, 0x9c, 0xeb, 0xf9, 0xf2, 0x43, 0x87, 0xc5, 0xb4, 0x8d, 0xeb,
      0x0c, 0x6d, 0xb5, 0x6d, 0x61, 0x49, 0xa2, 0xc8, 0x38, 0x36, 0x49, 0x27, 0x70, 0x48, 0x12, 0x6b, 0xc0, 0xc6,
      0x05, 0x08, 0x03, 0xd8, 0x00, 0xcc, 0x9c, 0xed, 0x66, 0x03, 0xc4, 0x4a, 0x12, 0x00};
  static const JxlPixelFormat format = {3, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  JxlDecoder *const decoder = JxlDecoderCreate(NULL);
  if (!decoder) return;
  JxlDecoderSubscribeEvents(decoder, JXL_DEC_FULL_IMAGE);
  JxlDecoderSetInput(decoder, picture, sizeof picture);
  JxlDecoderCloseInput(decoder);
  if (JxlDecoderProcessInput(decoder) == JXL_DEC_NEED_IMAGE_OUT_BUFFER &&
      JxlDecoderSetImageOutCallback(decoder, &format, ignore, NULL) == JXL_DEC_SUCCESS)
    JxlDecoderProcessInput(decoder);
  JxlDecoderDestroy(decoder);
}

// Adds a piece of a row to the region: channel c of `count` interleaved pixels, the first one in column `x`.
#define TAKE_SAMPLES(sample)                                                                     \
  do {                                                                                           \
    const sample *from = (const sample *)pixels + (first - x) * out->channels + c;               \
    if (step == 1) {                                                                             \
      sample *to = (sample *)out->planes[c] + row * width + (first - left);                      \
      for (size_t i = first; i < end; i++, from += out->channels) *to++ = *from;                 \
    } else {                                                                                     \
      uint32_t *const to = (uint32_t *)out->planes[c] + row * width;                             \
      for (size_t i = first; i < end; i++, from += out->channels) to[(i - left) / step] += *from; \
    }                                                                                            \
  } while (0)

static void take(void *opaque, size_t x, size_t y, size_t count, const void *pixels) {
  output *const out = opaque;
  const size_t step = out->step, width = out->request->width;
  const size_t left = out->x * step, top = out->y * step;
  out->pixels += count;
  if (y < top || (y - top) / step >= out->request->height) return;
  const size_t row = (y - top) / step;
  const size_t first = x < left ? left : x;
  const size_t right = left + width * step;
  const size_t end = x + count < right ? x + count : right;
  if (first >= end) return;
  for (unsigned c = 0; c < out->channels; c++) {
    if (out->is_deep) TAKE_SAMPLES(uint16_t);
    else TAKE_SAMPLES(uint8_t);
  }
}

// Divides the sums of a plane by their number of samples, in place. Boxes at the edges have fewer.
static void average(const output *out, void *plane) {
  const decoder_request *const request = out->request;
  const uint32_t step = out->step;
  const uint32_t *from = plane;
  uint8_t *bytes = plane;
  uint16_t *words = plane;
  for (uint32_t y = 0; y < request->height; y++) {
    const uint32_t below = request->coded_height - (out->y + y) * step;
    const uint32_t rows = below < step ? below : step;
    for (uint32_t x = 0; x < request->width; x++) {
      const uint32_t beside = request->coded_width - (out->x + x) * step;
      const uint32_t samples = rows * (beside < step ? beside : step);
      const uint32_t mean = (*from++ + samples / 2) / samples;
      if (out->is_deep) *words++ = (uint16_t)mean;
      else *bytes++ = (uint8_t)mean;
    }
  }
}

// Whether the region lies in the picture, and its planes are those of `out`.
static bool is_valid(const output *out) {
  const decoder_request *const request = out->request;
  const uint32_t step = out->step;
  if (step != 1 && step != 2 && step != 4 && step != 8) return false;
  const uint64_t columns = (request->coded_width + step - 1) / step, rows = (request->coded_height + step - 1) / step;
  return (uint64_t)out->x + request->width <= columns && (uint64_t)out->y + request->height <= rows &&
         request->format == DECODER_PLANAR && request->plane_count == out->channels &&
         (request->bit_depth == 8 || request->bit_depth == 16) &&
         (request->chroma == DECODER_CHROMA_NONE || request->chroma == DECODER_CHROMA_444);
}

static int check_info(const JxlDecoder *decoder, const decoder_request *request) {
  JxlBasicInfo info;
  if (JxlDecoderGetBasicInfo(decoder, &info) != JXL_DEC_SUCCESS) return DECODER_REASON_MALFORMED;
  const uint32_t colors = request->chroma == DECODER_CHROMA_NONE ? 1 : 3;
  return info.xsize == request->coded_width && info.ysize == request->coded_height &&
                 info.num_color_channels == colors && (info.alpha_bits > 0) == (request->has_alpha != 0)
             ? 0
             : DECODER_REASON_MISMATCH;
}

// Asks for the colours of the parameters, which only a picture in XYB can be converted to.
static int set_colors(JxlDecoder *decoder, const decoder_request *request, uint32_t primaries) {
  if (primaries == DECODER_JXL_AS_CODED) return 0;
  JxlColorEncoding colors;
  memset(&colors, 0, sizeof colors);
  colors.color_space = request->chroma == DECODER_CHROMA_NONE ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
  colors.white_point = JXL_WHITE_POINT_D65;
  colors.primaries = primaries == DECODER_JXL_DISPLAY_P3 ? JXL_PRIMARIES_P3
                     : primaries == DECODER_JXL_BT2020   ? JXL_PRIMARIES_2100
                                                         : JXL_PRIMARIES_SRGB;
  colors.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
  colors.rendering_intent = JXL_RENDERING_INTENT_RELATIVE;
  JxlColorEncoding found;
  if (JxlDecoderSetPreferredColorProfile(decoder, &colors) != JXL_DEC_SUCCESS ||
      JxlDecoderGetColorAsEncodedProfile(decoder, NULL, JXL_COLOR_PROFILE_TARGET_DATA, &found) != JXL_DEC_SUCCESS)
    return DECODER_REASON_UNSUPPORTED;
  return found.transfer_function == colors.transfer_function &&
                 (colors.color_space == JXL_COLOR_SPACE_GRAY || found.primaries == colors.primaries)
             ? 0
             : DECODER_REASON_MISMATCH;
}

// Sends the ICC profile as rows of bytes: its length in four bytes, most significant first, and the profile if there is
// room for it.
static int send_profile(decoder_job *job, const JxlDecoder *decoder) {
  const decoder_request *const request = &job->request;
  size_t length;
  if (JxlDecoderGetICCProfileSize(decoder, NULL, JXL_COLOR_PROFILE_TARGET_ORIGINAL, &length) != JXL_DEC_SUCCESS)
    return DECODER_REASON_MALFORMED;
  if (request->format != DECODER_PLANAR || request->plane_count != 1 || request->bit_depth != 8)
    return DECODER_REASON_UNSUPPORTED;
  const size_t capacity = (size_t)request->width * request->height;
  uint8_t *const bytes = calloc(1, capacity < 4 ? 4 : capacity);
  if (!bytes) return DECODER_REASON_MEMORY;
  const uint32_t stated = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(stated >> (24 - 8 * i));
  if (capacity > 4 && length <= capacity - 4 &&
      JxlDecoderGetColorAsICCProfile(decoder, NULL, JXL_COLOR_PROFILE_TARGET_ORIGINAL, bytes + 4, length) !=
          JXL_DEC_SUCCESS)
    return DECODER_REASON_MALFORMED;
  decoder_send_rows(job, 0, (const uint8_t *const[]){bytes}, (const ptrdiff_t[]){request->width});
  return 0;
}

static int make_planes(output *out) {
  const size_t sample_bytes = out->step > 1 ? sizeof(uint32_t) : out->is_deep ? 2 : 1;
  const size_t count = (size_t)out->request->width * out->request->height;
  for (unsigned c = 0; c < out->channels; c++)
    if (!(out->planes[c] = calloc(count, sample_bytes))) return DECODER_REASON_MEMORY;
  return 0;
}

// Decodes the first frame. Memory is never freed: the child decodes one picture.
static int decode_frame(decoder_job *job, JxlDecoder *decoder, const parameters *wanted) {
  const decoder_request *const request = &job->request;
  output out = {
      .request = request, .x = wanted->x, .y = wanted->y, .step = wanted->step, .is_deep = request->bit_depth > 8,
      .channels = (request->chroma == DECODER_CHROMA_NONE ? 1u : 3u) + (request->has_alpha ? 1 : 0)};
  const JxlPixelFormat format = {
      out.channels, out.is_deep ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  while (true) {
    int reason = 0;
    switch (JxlDecoderProcessInput(decoder)) {
    case JXL_DEC_BASIC_INFO: reason = wanted->is_profile ? 0 : check_info(decoder, request); break;
    case JXL_DEC_COLOR_ENCODING:
      if (wanted->is_profile) return send_profile(job, decoder);
      reason = set_colors(decoder, request, wanted->primaries);
      break;
    case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
      if (!is_valid(&out)) return DECODER_REASON_MISMATCH;
      reason = make_planes(&out);
      if (!reason && JxlDecoderSetImageOutCallback(decoder, &format, take, &out) != JXL_DEC_SUCCESS)
        reason = DECODER_REASON_UNSUPPORTED;
      break;
    case JXL_DEC_FULL_IMAGE: {
      if (out.pixels != (uint64_t)request->coded_width * request->coded_height) return DECODER_REASON_MALFORMED;
      ptrdiff_t strides[DECODER_MAX_PLANES];
      for (unsigned c = 0; c < out.channels; c++) {
        if (out.step > 1) average(&out, out.planes[c]);
        strides[c] = (ptrdiff_t)request->width * (out.is_deep ? 2 : 1);
      }
      decoder_send_rows(job, 0, (const uint8_t *const *)out.planes, strides);
      return 0;
    }
    // An error, or more input: there is none.
    default: reason = DECODER_REASON_MALFORMED;
    }
    if (reason) return reason;
  }
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  parameters wanted;
  if (request->tile_count != 1 || request->parameter_bytes != sizeof wanted) return DECODER_REASON_UNSUPPORTED;
  memcpy(&wanted, job->parameters, sizeof wanted);
  const uint32_t first = job->tiles[0].first_extent, count = job->tiles[0].extent_count;
  const uint64_t bytes = decoder_extent_bytes(job, first, count);
  if (bytes == 0) return DECODER_REASON_MALFORMED;
  uint8_t *const input = bytes < SIZE_MAX ? malloc((size_t)bytes) : NULL;
  JxlDecoder *const decoder = JxlDecoderCreate(NULL);
  if (!input || !decoder) return DECODER_REASON_MEMORY;
  const int reason = decoder_read_extents(job, first, count, input);
  if (reason) return reason;
  // Rows come as they are stored, and colours without their alpha.
  if (JxlDecoderSubscribeEvents(decoder, JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE) ||
      JxlDecoderSetKeepOrientation(decoder, JXL_TRUE) || JxlDecoderSetUnpremultiplyAlpha(decoder, JXL_TRUE) ||
      JxlDecoderSetInput(decoder, input, (size_t)bytes))
    return DECODER_REASON_UNSUPPORTED;
  JxlDecoderCloseInput(decoder);
  return decode_frame(job, decoder, &wanted);
}

int main(void) {
  static const decoder_codec codec = {"jxl", describe, warm_up, decode};
  return decoder_main(&codec);
}
