// photod-encoder-jxl: one JPEG XL codestream by libjxl. The payload is the ICC profile of the rows; without one they are
// sRGB.
//
// libjxl takes whole pictures, so all rows are held first.

#include <jxl/encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder_worker.h"

static void describe(char *text, size_t capacity) {
  const uint32_t version = JxlEncoderVersion();
  snprintf(text, capacity, "libjxl %u.%u.%u", version / 1000000, version / 1000 % 1000, version % 1000);
}

typedef struct {
  uint8_t *pixels;
  size_t row_bytes;
} picture;

static void take(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  const picture *const picture = context;
  for (uint32_t i = 0; i < count; i++)
    memcpy(picture->pixels + (first + i) * picture->row_bytes, rows + i * stride, picture->row_bytes);
}

static bool set_colors(JxlEncoder *encoder, const decoder_job *job, bool is_gray) {
  const uint64_t count = decoder_extent_bytes(job, 0, job->request.extent_count);
  if (count == 0) {
    JxlColorEncoding colors;
    JxlColorEncodingSetToSRGB(&colors, is_gray);
    return JxlEncoderSetColorEncoding(encoder, &colors) == JXL_ENC_SUCCESS;
  }
  uint8_t *const profile = count > 64 << 20 ? NULL : malloc(count);
  if (!profile || decoder_read_extents(job, 0, job->request.extent_count, profile)) return false;
  const bool is_set = JxlEncoderSetICCProfile(encoder, profile, count) == JXL_ENC_SUCCESS;
  free(profile);
  return is_set;
}

static int encode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  encoder_parameters parameters;
  if (!encoder_read_parameters(job, &parameters) || request->plane_count != 1) return DECODER_REASON_UNSUPPORTED;
  const bool is_gray = request->format == DECODER_PLANAR, has_alpha = request->format == DECODER_RGBA;
  const uint32_t channels = is_gray ? 1 : has_alpha ? 4 : 3;
  picture picture = {.row_bytes = (size_t)request->width * channels};
  const size_t pixel_bytes = picture.row_bytes * request->height;
  picture.pixels = malloc(pixel_bytes);
  if (!picture.pixels) return DECODER_REASON_MEMORY;
  encoder_take_rows(job, take, &picture);

  JxlEncoder *const encoder = JxlEncoderCreate(NULL);
  if (!encoder) return DECODER_REASON_MEMORY;
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = request->width;
  info.ysize = request->height;
  info.bits_per_sample = 8;
  info.num_color_channels = is_gray ? 1 : 3;
  info.num_extra_channels = has_alpha;
  info.alpha_bits = has_alpha ? 8 : 0;
  info.uses_original_profile = JXL_FALSE;
  JxlEncoderFrameSettings *const settings = JxlEncoderFrameSettingsCreate(encoder, NULL);
  if (JxlEncoderSetBasicInfo(encoder, &info) != JXL_ENC_SUCCESS || !set_colors(encoder, job, is_gray) || !settings ||
      JxlEncoderSetFrameDistance(settings, (float)parameters.hundredths / 100) != JXL_ENC_SUCCESS ||
      JxlEncoderFrameSettingsSetOption(settings, JXL_ENC_FRAME_SETTING_EFFORT, parameters.effort) != JXL_ENC_SUCCESS)
    return DECODER_REASON_UNSUPPORTED;
  const JxlPixelFormat format = {channels, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  if (JxlEncoderAddImageFrame(settings, &format, picture.pixels, pixel_bytes) != JXL_ENC_SUCCESS)
    return DECODER_REASON_UNSUPPORTED;
  free(picture.pixels);
  JxlEncoderCloseInput(encoder);
  static uint8_t output[ENCODER_MAX_MESSAGE_BYTES];
  while (true) {
    uint8_t *next = output;
    size_t left = sizeof output;
    const JxlEncoderStatus status = JxlEncoderProcessOutput(encoder, &next, &left);
    encoder_send_bytes(0, output, sizeof output - left);
    if (status == JXL_ENC_SUCCESS) return 0;
    if (status != JXL_ENC_NEED_MORE_OUTPUT) return DECODER_REASON_UNSUPPORTED;
  }
}

// Little CMS reads the time when it reads a profile. The first such call opens the time zone file, which workers may
// not do.
static void warm_up(void) { tzset(); }

int main(void) {
  static const decoder_codec codec = {"jxl", describe, warm_up, encode, true};
  return decoder_main(&codec);
}
