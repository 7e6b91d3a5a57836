// photod-encoder-avif: the coded data of an AVIF by libaom: of each strip a part of colours, and then a part of alpha
// if the picture has alpha. photod writes the container itself.
//
// Rows become YCbCr as they arrive: of 8 bits by BT.601, or rows of 16 bits of 10 bits by BT.2020; both of full range.
// The frame that libaom gets is the only copy of the strip. The last of several strips is filled up with its last row,
// because the tiles of a grid have one size.

#include <aom/aom_encoder.h>
#include <aom/aomcx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder_worker.h"

static void describe(char *text, size_t capacity) { snprintf(text, capacity, "libaom %s", aom_codec_version_str()); }

typedef struct {
  aom_image_t *colors, *alpha;
  unsigned channels;
  bool has_full_chroma;
} frame;

// H.273 matrix coefficients 6 in 16 bits of fraction: kr 0.299, kb 0.114.
static inline uint8_t luma(int r, int g, int b) { return (uint8_t)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16); }
static inline uint8_t clamped(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }
// Sums of `1 << shift` pixels. The sum of weights is 0, so gray is exactly 128.
static inline uint8_t blue_difference(int r, int g, int b, int shift) {
  return clamped(((-11059 * r - 21709 * g + 32768 * b + (32768 << shift)) >> (16 + shift)) + 128);
}
static inline uint8_t red_difference(int r, int g, int b, int shift) {
  return clamped(((32768 * r - 27439 * g - 5329 * b + (32768 << shift)) >> (16 + shift)) + 128);
}

static uint8_t *row_of(aom_image_t *image, int plane, uint32_t y) {
  return image->planes[plane] + (ptrdiff_t)y * image->stride[plane];
}

// Chroma of 2 x 2 pixels is that of their average. At odd edges the last column or row counts twice.
static void halve_chroma(frame *frame, uint32_t y, const uint8_t *row, const uint8_t *next) {
  const unsigned channels = frame->channels, width = frame->colors->d_w;
  uint8_t *const blue = row_of(frame->colors, AOM_PLANE_U, y / 2), *const red = row_of(frame->colors, AOM_PLANE_V, y / 2);
  for (unsigned x = 0; x < width; x += 2) {
    const size_t a = (size_t)x * channels, b = (size_t)(x + 1 < width ? x + 1 : x) * channels;
    const int r = row[a] + row[b] + next[a] + next[b], g = row[a + 1] + row[b + 1] + next[a + 1] + next[b + 1],
              bl = row[a + 2] + row[b + 2] + next[a + 2] + next[b + 2];
    blue[x / 2] = blue_difference(r, g, bl, 2);
    red[x / 2] = red_difference(r, g, bl, 2);
  }
}

// Bands begin at even rows.
static void take(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  frame *const frame = context;
  const unsigned channels = frame->channels, width = frame->colors->d_w;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *const row = rows + i * stride;
    uint8_t *const y = row_of(frame->colors, AOM_PLANE_Y, first + i);
    if (channels == 1) {
      memcpy(y, row, width);
      continue;
    }
    for (unsigned x = 0; x < width; x++) {
      const uint8_t *const pixel = row + (size_t)x * channels;
      y[x] = luma(pixel[0], pixel[1], pixel[2]);
    }
    if (frame->has_full_chroma) {
      uint8_t *const blue = row_of(frame->colors, AOM_PLANE_U, first + i);
      uint8_t *const red = row_of(frame->colors, AOM_PLANE_V, first + i);
      for (unsigned x = 0; x < width; x++) {
        const uint8_t *const pixel = row + (size_t)x * channels;
        blue[x] = blue_difference(pixel[0], pixel[1], pixel[2], 0);
        red[x] = red_difference(pixel[0], pixel[1], pixel[2], 0);
      }
    } else if (i % 2 == 0) {
      halve_chroma(frame, first + i, row, i + 1 < count ? row + stride : row);
    }
    if (frame->alpha) {
      uint8_t *const alpha = row_of(frame->alpha, AOM_PLANE_Y, first + i);
      for (unsigned x = 0; x < width; x++) alpha[x] = row[(size_t)x * channels + 3];
    }
  }
}

// Rows of 16 bits

static inline uint16_t *deep_row(aom_image_t *image, int plane, uint32_t y) {
  return (uint16_t *)(void *)row_of(image, plane, y);
}

static inline uint16_t ten_bits(float value) { return (uint16_t)(value < 0 ? 0 : value > 1023 ? 1023 : value + 0.5f); }
// H.273 matrix coefficients 9, of samples 0...1023: kr 0.2627, kb 0.0593.
static inline float deep_luma(const float *pixel) { return 0.2627f * pixel[0] + 0.6780f * pixel[1] + 0.0593f * pixel[2]; }
static inline uint16_t deep_blue_difference(const float *pixel) {
  return ten_bits((pixel[2] - deep_luma(pixel)) / (2 * (1 - 0.0593f)) + 512);
}
static inline uint16_t deep_red_difference(const float *pixel) {
  return ten_bits((pixel[0] - deep_luma(pixel)) / (2 * (1 - 0.2627f)) + 512);
}

static inline void add_pixel(float *sum, const uint16_t *pixel, float weight) {
  for (int c = 0; c < 3; c++) sum[c] += pixel[c] * (weight * 1023 / 65535);
}

static void halve_deep_chroma(frame *frame, uint32_t y, const uint16_t *row, const uint16_t *next) {
  const unsigned channels = frame->channels, width = frame->colors->d_w;
  uint16_t *const blue = deep_row(frame->colors, AOM_PLANE_U, y / 2), *const red = deep_row(frame->colors, AOM_PLANE_V, y / 2);
  for (unsigned x = 0; x < width; x += 2) {
    const size_t a = (size_t)x * channels, b = (size_t)(x + 1 < width ? x + 1 : x) * channels;
    float mean[3] = {0, 0, 0};
    add_pixel(mean, row + a, 0.25f);
    add_pixel(mean, row + b, 0.25f);
    add_pixel(mean, next + a, 0.25f);
    add_pixel(mean, next + b, 0.25f);
    blue[x / 2] = deep_blue_difference(mean);
    red[x / 2] = deep_red_difference(mean);
  }
}

// Bands begin at even rows.
static void take_deep(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  frame *const frame = context;
  const unsigned channels = frame->channels, width = frame->colors->d_w;
  for (uint32_t i = 0; i < count; i++) {
    const uint16_t *const row = (const uint16_t *)(const void *)(rows + i * stride);
    uint16_t *const y = deep_row(frame->colors, AOM_PLANE_Y, first + i);
    uint16_t *const blue = frame->has_full_chroma ? deep_row(frame->colors, AOM_PLANE_U, first + i) : NULL;
    uint16_t *const red = frame->has_full_chroma ? deep_row(frame->colors, AOM_PLANE_V, first + i) : NULL;
    for (unsigned x = 0; x < width; x++) {
      float pixel[3] = {0, 0, 0};
      add_pixel(pixel, row + (size_t)x * channels, 1);
      y[x] = ten_bits(deep_luma(pixel));
      if (!blue) continue;
      blue[x] = deep_blue_difference(pixel);
      red[x] = deep_red_difference(pixel);
    }
    if (!blue && i % 2 == 0) {
      const uint8_t *const next = rows + (i + 1 < count ? i + 1 : i) * stride;
      halve_deep_chroma(frame, first + i, row, (const uint16_t *)(const void *)next);
    }
    if (frame->alpha) {
      uint16_t *const alpha = deep_row(frame->alpha, AOM_PLANE_Y, first + i);
      for (unsigned x = 0; x < width; x++) alpha[x] = ten_bits(row[(size_t)x * channels + 3] * (1023.0f / 65535));
    }
  }
}

static int reason_of(aom_codec_err_t error) {
  return error == AOM_CODEC_MEM_ERROR ? DECODER_REASON_MEMORY : DECODER_REASON_UNSUPPORTED;
}

// One still picture: AV1 §6.4.1, with the reduced header.
static int encode_plane_set(
    aom_image_t *image, uint32_t part, uint32_t quantizer, const encoder_parameters *parameters, bool is_monochrome) {
  aom_codec_enc_cfg_t configuration;
  aom_codec_ctx_t context;
  aom_codec_iface_t *const codec = aom_codec_av1_cx();
  aom_codec_err_t error = aom_codec_enc_config_default(codec, &configuration, AOM_USAGE_ALL_INTRA);
  if (error) return reason_of(error);
  configuration.g_w = image->d_w;
  configuration.g_h = image->d_h;
  configuration.g_threads = 1;
  configuration.g_limit = 1;
  configuration.g_lag_in_frames = 0;
  const bool is_deep = image->fmt & AOM_IMG_FMT_HIGHBITDEPTH;
  configuration.g_profile = (image->fmt & ~AOM_IMG_FMT_HIGHBITDEPTH) == AOM_IMG_FMT_I444 ? 1 : 0;
  configuration.g_bit_depth = is_deep ? AOM_BITS_10 : AOM_BITS_8;
  configuration.g_input_bit_depth = is_deep ? 10 : 8;
  configuration.full_still_picture_hdr = 0;
  configuration.monochrome = is_monochrome;
  configuration.rc_end_usage = AOM_Q;
  configuration.rc_min_quantizer = 0;
  configuration.rc_max_quantizer = 63;
  if ((error = aom_codec_enc_init(&context, codec, &configuration, is_deep ? AOM_CODEC_USE_HIGHBITDEPTH : 0))) return reason_of(error);
  if ((error = aom_codec_control(&context, AOME_SET_CPUUSED, (int)parameters->effort)) ||
      (error = aom_codec_control(&context, AOME_SET_CQ_LEVEL, quantizer)) ||
      (error = aom_codec_control(&context, AV1E_SET_ROW_MT, 0U)) ||
      (error = aom_codec_control(&context, AV1E_SET_COLOR_RANGE, 1)) ||
      (error = aom_codec_control(&context, AV1E_SET_COLOR_PRIMARIES, (int)parameters->primaries)) ||
      (error = aom_codec_control(&context, AV1E_SET_TRANSFER_CHARACTERISTICS, (int)parameters->transfer)) ||
      (error = aom_codec_control(&context, AV1E_SET_MATRIX_COEFFICIENTS, (int)parameters->matrix)))
    return reason_of(error);
  // The second call has no frame: it flushes the encoder.
  for (int call = 0; call < 2; call++) {
    if ((error = aom_codec_encode(&context, call == 0 ? image : NULL, 0, 1, 0))) return reason_of(error);
    aom_codec_iter_t position = NULL;
    for (const aom_codec_cx_pkt_t *packet; (packet = aom_codec_get_cx_data(&context, &position));)
      if (packet->kind == AOM_CODEC_CX_FRAME_PKT) encoder_send_bytes(part, packet->data.frame.buf, packet->data.frame.sz);
  }
  aom_codec_destroy(&context);
  return 0;
}

// libaom reads chroma of monochrome frames too.
static aom_image_t *gray_image(unsigned width, unsigned height, bool is_deep) {
  aom_image_t *const image = aom_img_alloc(NULL, is_deep ? AOM_IMG_FMT_I42016 : AOM_IMG_FMT_I420, width, height, 16);
  if (!image) return NULL;
  image->monochrome = 1;
  image->range = AOM_CR_FULL_RANGE;
  if (is_deep) image->bit_depth = 10;
  for (int plane = 1; plane < 3; plane++) {
    const size_t bytes = (size_t)image->stride[plane] * ((image->h + 1) / 2);
    if (!is_deep) memset(image->planes[plane], 128, bytes);
    else
      for (size_t i = 0; i < bytes / 2; i++) ((uint16_t *)(void *)image->planes[plane])[i] = 512;
  }
  return image;
}

// Strips

typedef struct {
  frame frame;
  const encoder_parameters *parameters;
  bool is_gray, is_deep;
  uint32_t strip_rows;
  // Rows of the current strip so far, and the next part.
  uint32_t count, part;
  // Why a strip failed, or 0.
  int reason;
} strips;

// Repeats the last of `count` rows.
static void fill_up(aom_image_t *image, uint32_t count) {
  for (int plane = 0; plane < (image->monochrome ? 1 : 3); plane++) {
    const unsigned shift = plane ? image->y_chroma_shift : 0;
    const uint32_t rows = (image->d_h + shift) >> shift, used = (count + shift) >> shift;
    for (uint32_t y = used; y < rows; y++)
      memcpy(row_of(image, plane, y), row_of(image, plane, used - 1), (size_t)abs(image->stride[plane]));
  }
}

static int send_strip(strips *strips, bool is_last) {
  const encoder_parameters *const parameters = strips->parameters;
  aom_image_t *const colors = strips->frame.colors, *const alpha = strips->frame.alpha;
  fill_up(colors, strips->count);
  if (alpha) fill_up(alpha, strips->count);
  strips->count = 0;
  const uint32_t quantizer = (parameters->hundredths + 50) / 100;
  const int reason = encode_plane_set(colors, strips->part++, quantizer, parameters, strips->is_gray);
  if (is_last) aom_img_free(colors);
  if (reason || !alpha) return reason;
  // Errors of alpha are seen at edges, and it costs few bytes: half the quantizer. No colours (MIAF §7.3.5.2).
  const encoder_parameters uncolored = {
      .hundredths = parameters->hundredths, .effort = parameters->effort, .primaries = 2, .transfer = 2, .matrix = 2};
  return encode_plane_set(alpha, strips->part++, quantizer / 2, &uncolored, true);
}

static void take_strips(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  strips *const strips = context;
  const uint32_t end = first + count;
  while (first < end && !strips->reason) {
    if (strips->count == strips->strip_rows) strips->reason = send_strip(strips, false);
    const uint32_t missing = strips->strip_rows - strips->count, taken = end - first < missing ? end - first : missing;
    (strips->is_deep ? take_deep : take)(&strips->frame, strips->count, taken, rows, stride);
    strips->count += taken;
    first += taken;
    rows += taken * stride;
  }
}

static int encode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  encoder_parameters parameters;
  const bool is_gray = request->format == DECODER_PLANAR, is_deep = request->bit_depth > 8;
  if (!encoder_read_parameters(job, &parameters) || parameters.hundredths > 6300 || request->plane_count != 1 ||
      (is_deep && (is_gray || parameters.coded_bits != 10)))
    return DECODER_REASON_UNSUPPORTED;
  const uint32_t rows = parameters.strip_rows;
  // Rows of halved chroma belong to one strip.
  if (rows == 0 || rows > request->height || (rows < request->height && rows % 2 == 1)) return DECODER_REASON_UNSUPPORTED;
  frame frame = {.channels = is_gray ? 1 : request->format == DECODER_RGBA ? 4 : 3,
                 .has_full_chroma = parameters.has_full_chroma};
  if (is_gray) {
    frame.colors = gray_image(request->width, rows, false);
  } else {
    const aom_img_fmt_t format = (frame.has_full_chroma ? AOM_IMG_FMT_I444 : AOM_IMG_FMT_I420) |
                                 (is_deep ? AOM_IMG_FMT_HIGHBITDEPTH : 0);
    frame.colors = aom_img_alloc(NULL, format, request->width, rows, 16);
    if (frame.colors) frame.colors->range = AOM_CR_FULL_RANGE;
    if (frame.colors && is_deep) frame.colors->bit_depth = 10;
  }
  if (frame.channels == 4) frame.alpha = gray_image(request->width, rows, is_deep);
  if (!frame.colors || (frame.channels == 4 && !frame.alpha)) return DECODER_REASON_MEMORY;
  strips strips = {.frame = frame,
                   .parameters = &parameters,
                   .is_gray = is_gray,
                   .is_deep = is_deep,
                   .strip_rows = rows};
  encoder_take_rows(job, take_strips, &strips);
  return strips.reason ? strips.reason : send_strip(&strips, true);
}

int main(void) {
  static const decoder_codec codec = {"avif", describe, NULL, encode, true};
  return decoder_main(&codec);
}
