// photod-encoder-jxl: one JPEG XL by libjxl, from rows or from a JPEG.
//
// Rows: the payload is their ICC profile; without one they are sRGB, or BT.2100 PQ if they have 16 bits. libjxl takes
// whole frames, so the rows of a strip are held first. Each strip of several is a layer: a frame without duration that
// replaces its rows of the picture (ISO/IEC 18181-1, annex F). The output is a codestream.
//
// A JPEG: it is the payload, and its coefficients are recoded without loss. The output is a codestream, or a file that
// also has what is needed to make the JPEG again (the box jbrd of ISO/IEC 18181-2).

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

// H.273's primaries 9 and curve 16; JxlPrimaries and JxlTransferFunction have the same numbers.
static bool set_high_range(JxlEncoder *encoder, const encoder_parameters *parameters) {
  if (parameters->primaries != JXL_PRIMARIES_2100 || parameters->transfer != JXL_TRANSFER_FUNCTION_PQ) return false;
  JxlColorEncoding colors = {.color_space = JXL_COLOR_SPACE_RGB,
                             .white_point = JXL_WHITE_POINT_D65,
                             .primaries = JXL_PRIMARIES_2100,
                             .transfer_function = JXL_TRANSFER_FUNCTION_PQ,
                             .rendering_intent = JXL_RENDERING_INTENT_RELATIVE};
  return JxlEncoderSetColorEncoding(encoder, &colors) == JXL_ENC_SUCCESS;
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

// Sends everything that the encoder makes.
static int send_output(JxlEncoder *encoder) {
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

// Rows

typedef struct {
  JxlEncoder *encoder;
  const encoder_parameters *parameters;
  JxlPixelFormat format;
  uint32_t width, height, strip_rows;
  size_t row_bytes;
  // The rows of the current strip: from `first` on, `count` so far.
  uint8_t *pixels;
  uint32_t first, count;
  // Why a strip failed, or 0.
  int reason;
} strips;

static uint32_t rows_of_strip(const strips *strips) {
  const uint32_t left = strips->height - strips->first;
  return left < strips->strip_rows ? left : strips->strip_rows;
}

static int send_strip(strips *strips) {
  JxlEncoderFrameSettings *const settings = JxlEncoderFrameSettingsCreate(strips->encoder, NULL);
  const encoder_parameters *const parameters = strips->parameters;
  if (!settings || JxlEncoderSetFrameDistance(settings, (float)parameters->hundredths / 100) != JXL_ENC_SUCCESS ||
      JxlEncoderFrameSettingsSetOption(settings, JXL_ENC_FRAME_SETTING_EFFORT, parameters->effort) != JXL_ENC_SUCCESS)
    return DECODER_REASON_UNSUPPORTED;
  if (strips->strip_rows < strips->height) {
    JxlFrameHeader header;
    JxlEncoderInitFrameHeader(&header);
    header.layer_info.have_crop = JXL_TRUE;
    header.layer_info.crop_y0 = (int32_t)strips->first;
    header.layer_info.xsize = strips->width;
    header.layer_info.ysize = strips->count;
    if (JxlEncoderSetFrameHeader(settings, &header) != JXL_ENC_SUCCESS) return DECODER_REASON_UNSUPPORTED;
  }
  const size_t bytes = strips->count * strips->row_bytes;
  if (JxlEncoderAddImageFrame(settings, &strips->format, strips->pixels, bytes) != JXL_ENC_SUCCESS)
    return DECODER_REASON_UNSUPPORTED;
  free(strips->pixels);
  strips->pixels = NULL;
  strips->first += strips->count;
  strips->count = 0;
  if (strips->first == strips->height) JxlEncoderCloseInput(strips->encoder);
  return send_output(strips->encoder);
}

static void take(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  (void)first;
  strips *const strips = context;
  if (strips->reason) return;
  for (uint32_t i = 0; i < count; i++) {
    if (strips->count == strips->strip_rows) strips->reason = send_strip(strips);
    if (!strips->pixels) strips->pixels = malloc(rows_of_strip(strips) * strips->row_bytes);
    if (!strips->pixels) strips->reason = DECODER_REASON_MEMORY;
    if (strips->reason) return;
    memcpy(strips->pixels + strips->count++ * strips->row_bytes, rows + i * stride, strips->row_bytes);
  }
}

// Transcoding

static unsigned number(const uint8_t *bytes) { return (unsigned)bytes[0] << 8 | bytes[1]; }

static bool begins(const uint8_t *content, size_t count, const char *name, size_t length) {
  return count >= length && memcmp(content, name, length) == 0;
}

// Whether a segment (T.81 annex B) is part of the picture: JFIF, a colour profile and Adobe's colour model are.
// Metadata, comments and a second picture are not.
static bool is_kept(uint8_t marker, const uint8_t *content, size_t count) {
  if (marker == 0xFE) return false;
  if (marker < 0xE0 || marker > 0xEF) return true;
  return (marker == 0xE0 && begins(content, count, "JFIF", 5)) ||
         (marker == 0xE2 && begins(content, count, "ICC_PROFILE", 12)) ||
         (marker == 0xEE && begins(content, count, "Adobe", 5));
}

// Moves the segments of a JPEG's picture together, in place. Returns their length; 0 unless the file has a whole
// picture of the given size.
static size_t keep_picture(uint8_t *file, size_t count, uint32_t width, uint32_t height) {
  if (count < 2 || number(file) != 0xFFD8) return 0;
  bool has_size = false;
  size_t from = 2, to = 2;
  while (from + 2 <= count) {
    if (file[from] != 0xFF) return 0;
    const uint8_t marker = file[from + 1];
    if (marker == 0xFF) {
      from++;
      continue;
    }
    if (marker == 0xD9) {
      memcpy(file + to, "\xFF\xD9", 2);
      return has_size ? to + 2 : 0;
    }
    // Only a scan has markers without a length.
    if (marker < 0xC0 || (marker >= 0xD0 && marker <= 0xD8) || count - from < 4) return 0;
    const size_t length = number(file + from + 2);
    if (length < 2 || length > count - from - 2) return 0;
    const uint8_t *const content = file + from + 4;
    if (marker >= 0xC0 && marker <= 0xC2) {
      if (length < 8 || number(content + 1) != height || number(content + 3) != width) return 0;
      has_size = true;
    }
    size_t end = from + 2 + length;
    const bool is_part = is_kept(marker, content, length - 2);
    // Entropy-coded data (B.1.1.5) ends before a marker that is neither a stuffed zero nor a restart.
    if (marker == 0xDA) {
      while (end + 2 <= count && (file[end] != 0xFF || file[end + 1] == 0 || (file[end + 1] & 0xF8) == 0xD0)) end++;
    }
    if (is_part) {
      memmove(file + to, file + from, end - from);
      to += end - from;
    }
    from = end;
  }
  return 0;
}

static int transcode(const decoder_job *job, const encoder_parameters *parameters) {
  const decoder_request *const request = &job->request;
  const uint64_t count = decoder_extent_bytes(job, 0, request->extent_count);
  uint8_t *const file = count > request->memory_limit_bytes ? NULL : malloc(count);
  if (!file) return DECODER_REASON_MEMORY;
  const int reason = decoder_read_extents(job, 0, request->extent_count, file);
  if (reason) return reason;
  const size_t length = keep_picture(file, count, request->width, request->height);
  if (length == 0) return DECODER_REASON_MALFORMED;
  JxlEncoder *const encoder = JxlEncoderCreate(NULL);
  if (!encoder) return DECODER_REASON_MEMORY;
  JxlEncoderFrameSettings *const settings = JxlEncoderFrameSettingsCreate(encoder, NULL);
  if (!settings || (parameters->keeps_reconstruction && JxlEncoderStoreJPEGMetadata(encoder, JXL_TRUE)) ||
      JxlEncoderFrameSettingsSetOption(settings, JXL_ENC_FRAME_SETTING_EFFORT, parameters->effort) != JXL_ENC_SUCCESS ||
      JxlEncoderAddJPEGFrame(settings, file, length) != JXL_ENC_SUCCESS)
    return DECODER_REASON_UNSUPPORTED;
  free(file);
  JxlEncoderCloseInput(encoder);
  return send_output(encoder);
}

static int encode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  encoder_parameters parameters;
  if (!encoder_read_parameters(job, &parameters) || request->plane_count != 1) return DECODER_REASON_UNSUPPORTED;
  if (parameters.is_transcoding) return transcode(job, &parameters);
  const bool is_gray = request->format == DECODER_PLANAR, has_alpha = request->format == DECODER_RGBA;
  const bool is_deep = request->bit_depth > 8;
  if (is_deep && (is_gray || parameters.coded_bits < 10 || parameters.coded_bits > 16)) return DECODER_REASON_UNSUPPORTED;
  if (parameters.strip_rows == 0) return DECODER_REASON_UNSUPPORTED;
  JxlEncoder *const encoder = JxlEncoderCreate(NULL);
  if (!encoder) return DECODER_REASON_MEMORY;
  JxlBasicInfo info;
  JxlEncoderInitBasicInfo(&info);
  info.xsize = request->width;
  info.ysize = request->height;
  info.bits_per_sample = is_deep ? parameters.coded_bits : 8;
  info.num_color_channels = is_gray ? 1 : 3;
  info.num_extra_channels = has_alpha;
  info.alpha_bits = has_alpha ? info.bits_per_sample : 0;
  info.uses_original_profile = JXL_FALSE;
  // The light of a sample of 1 in the codestream: no more than the picture has keeps its numbers small.
  if (is_deep) info.intensity_target = (float)parameters.peak_luminance;
  const bool has_colors = JxlEncoderSetBasicInfo(encoder, &info) == JXL_ENC_SUCCESS &&
                          (is_deep ? set_high_range(encoder, &parameters) : set_colors(encoder, job, is_gray));
  if (!has_colors) return DECODER_REASON_UNSUPPORTED;
  strips strips = {
      .encoder = encoder,
      .parameters = &parameters,
      .format = {is_gray ? 1 : has_alpha ? 4 : 3, is_deep ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0},
      .width = request->width,
      .height = request->height,
      .strip_rows = parameters.strip_rows,
      .row_bytes = (size_t)request->width * decoder_sample_bytes(request)};
  encoder_take_rows(job, take, &strips);
  return strips.reason ? strips.reason : send_strip(&strips);
}

// Little CMS reads the time when it reads a profile. The first such call opens the time zone file, which workers may
// not do.
static void warm_up(void) { tzset(); }

int main(void) {
  static const decoder_codec codec = {"jxl", describe, warm_up, encode, true};
  return decoder_main(&codec);
}
