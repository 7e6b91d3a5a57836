// photod-encoder-webp: one lossy WebP by libwebp, with lossless alpha if there is any.
//
// Rows become YCbCr 4:2:0 as they arrive, a band at a time, so the picture is held once and never as RGB. At the best
// qualities it is held as ARGB, until it is complete and libwebp has looked for the samples that come closest to it.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webp/encode.h>

#include "decoder_worker.h"

static void describe(char *text, size_t capacity) {
  const int version = WebPGetEncoderVersion();
  snprintf(text, capacity, "libwebp %d.%d.%d", version >> 16, version >> 8 & 0xff, version & 0xff);
}

// WebP's qualities above this one are requested by qualities above 90, at which JPEG and AVIF have the full resolution
// of colours. WebP has not, but libwebp's "sharp" conversion makes up for a part of it: a photograph of 1600 x 1200
// comes 1 dB closer, for 40% more CPU and 3% more bytes. It takes 14 bytes a pixel, which large pictures do not have.
static const uint32_t fine_conversion_hundredths = 9300;

typedef struct {
  WebPPicture picture;
  // The whole picture, for the sharp conversion; else NULL.
  uint32_t *argb;
  bool has_alpha, has_failed;
} frame;

static void copy_plane(uint8_t *to, int to_stride, const uint8_t *from, int from_stride, int width, int rows) {
  for (int y = 0; y < rows; y++) memcpy(to + (ptrdiff_t)y * to_stride, from + (ptrdiff_t)y * from_stride, (size_t)width);
}

// Bands begin at even rows, so their chroma is whole.
static void take(void *context, uint32_t first, uint32_t count, const uint8_t *rows, size_t stride) {
  frame *const frame = context;
  WebPPicture *const picture = &frame->picture;
  WebPPicture band;
  if (frame->has_failed) return;
  if (!WebPPictureInit(&band)) {
    frame->has_failed = true;
    return;
  }
  band.width = picture->width;
  band.height = (int)count;
  band.use_argb = frame->argb != NULL;
  const int imported = frame->has_alpha ? WebPPictureImportRGBA(&band, rows, (int)stride)
                                        : WebPPictureImportRGB(&band, rows, (int)stride);
  if (!imported) {
    frame->has_failed = true;
    return;
  }
  if (frame->argb) {
    for (uint32_t y = 0; y < count; y++)
      memcpy(
          frame->argb + (size_t)(first + y) * (size_t)band.width, band.argb + (ptrdiff_t)y * band.argb_stride,
          (size_t)band.width * sizeof *frame->argb);
    WebPPictureFree(&band);
    return;
  }
  const int chroma_width = (picture->width + 1) / 2, chroma_rows = ((int)count + 1) / 2;
  const ptrdiff_t row = (ptrdiff_t)first, chroma_row = (ptrdiff_t)first / 2;
  copy_plane(picture->y + row * picture->y_stride, picture->y_stride, band.y, band.y_stride, band.width, (int)count);
  copy_plane(
      picture->u + chroma_row * picture->uv_stride, picture->uv_stride, band.u, band.uv_stride, chroma_width,
      chroma_rows);
  copy_plane(
      picture->v + chroma_row * picture->uv_stride, picture->uv_stride, band.v, band.uv_stride, chroma_width,
      chroma_rows);
  if (picture->a) {
    uint8_t *const alpha = picture->a + row * picture->a_stride;
    // A band that is opaque has no plane.
    if (band.a) copy_plane(alpha, picture->a_stride, band.a, band.a_stride, band.width, (int)count);
    else
      for (uint32_t y = 0; y < count; y++) memset(alpha + (ptrdiff_t)y * picture->a_stride, 255, (size_t)band.width);
  }
  WebPPictureFree(&band);
}

// Makes the YCbCr of a picture that is complete as ARGB.
static bool convert(frame *frame) {
  WebPPicture *const picture = &frame->picture;
  picture->use_argb = 1;
  picture->argb = frame->argb;
  picture->argb_stride = picture->width;
  const bool is_converted = WebPPictureSharpARGBToYUVA(picture) != 0;
  picture->argb = NULL;
  free(frame->argb);
  return is_converted;
}

static int send_bytes(const uint8_t *bytes, size_t count, const WebPPicture *picture) {
  (void)picture;
  encoder_send_bytes(0, bytes, count);
  return 1;
}

static int encode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  encoder_parameters parameters;
  WebPConfig config;
  frame frame = {.has_alpha = request->format == DECODER_RGBA};
  WebPPicture *const picture = &frame.picture;
  if (!encoder_read_parameters(job, &parameters) || (request->format != DECODER_RGB && !frame.has_alpha) ||
      request->bit_depth != 8 || request->width > WEBP_MAX_DIMENSION || request->height > WEBP_MAX_DIMENSION || !WebPConfigInit(&config) ||
      !WebPPictureInit(picture))
    return DECODER_REASON_UNSUPPORTED;
  config.quality = (float)parameters.hundredths / 100;
  config.method = (int)parameters.effort;
  // A list of tokens takes up to 28 bytes a pixel. Without it the file has the same size, to a hundredth, and takes
  // half as much time again. WorkerEncoding.workerBytes has the same limit.
  config.low_memory = (uint64_t)request->width * request->height >= 4000000;
  if (!WebPValidateConfig(&config)) return DECODER_REASON_UNSUPPORTED;
  picture->width = (int)request->width;
  picture->height = (int)request->height;
  picture->colorspace = frame.has_alpha ? WEBP_YUV420A : WEBP_YUV420;
  picture->writer = send_bytes;
  // That conversion does not weigh colours by their alpha.
  const bool is_fine = parameters.hundredths > fine_conversion_hundredths && !frame.has_alpha && !config.low_memory;
  if (is_fine) frame.argb = malloc((size_t)request->width * request->height * sizeof *frame.argb);
  if (is_fine ? !frame.argb : !WebPPictureAlloc(picture)) return DECODER_REASON_MEMORY;
  encoder_take_rows(job, take, &frame);
  if (frame.has_failed || (is_fine && !convert(&frame))) return DECODER_REASON_MEMORY;
  if (WebPEncode(&config, picture)) return 0;
  return picture->error_code == VP8_ENC_ERROR_OUT_OF_MEMORY || picture->error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY
             ? DECODER_REASON_MEMORY
             : DECODER_REASON_UNSUPPORTED;
}

int main(void) {
  static const decoder_codec codec = {"webp", describe, NULL, encode, true};
  return decoder_main(&codec);
}
