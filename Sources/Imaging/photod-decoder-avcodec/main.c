// photod-decoder-avcodec: frames of videos and tiles of HEIC pictures, by FFmpeg's libavcodec. It opens no files and
// reads no containers.
//
// The parameter bytes are the codec's name in four characters, as in a movie's sample description, and after it the
// codec's own configuration: the content of `avcC` or `hvcC`, the decoder configuration of `esds`, or nothing. The
// extents of a tile are one sample of the movie, which is a key frame, or a coded item of HEIF.

#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder_worker.h"

// The lowest value of max_pixels: a frame of this size is within the fixed part of a worker's memory limit.
static const int64_t min_pixel_limit = 1 << 17;

static void describe(char *text, size_t capacity) {
  const unsigned version = avcodec_version();
  snprintf(
      text, capacity, "libavcodec %u.%u.%u", AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
      AV_VERSION_MICRO(version));
}

static const struct {
  char name[5];
  enum AVCodecID codec;
} codecs[] = {
    {"avc1", AV_CODEC_ID_H264},  {"mp4v", AV_CODEC_ID_MPEG4},  {"s263", AV_CODEC_ID_H263},
    {"apch", AV_CODEC_ID_PRORES}, {"vp09", AV_CODEC_ID_VP9},    {"hvc1", AV_CODEC_ID_HEVC},
};

static enum AVCodecID codec_of(const decoder_job *job) {
  if (job->request.parameter_bytes < 4) return AV_CODEC_ID_NONE;
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
    if (memcmp(job->parameters, codecs[i].name, 4) == 0) return codecs[i].codec;
  return AV_CODEC_ID_NONE;
}

static AVCodecContext *open_context(enum AVCodecID id, const uint8_t *extra, size_t extra_bytes) {
  const AVCodec *const codec = avcodec_find_decoder(id);
  AVCodecContext *context = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!context) return NULL;
  // The sandbox has one thread.
  context->thread_count = 1;
  context->pkt_timebase = (AVRational){1, 1};
  // Pixels that error concealment would paint are not part of the video.
  context->error_concealment = 0;
  // According to the movie, the sample can be decoded without others. Some cameras write intra pictures that the codec
  // itself does not mark as such.
  context->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  // The size is compared with the container's: cropped exactly, also where that leaves rows unaligned.
  context->flags |= AV_CODEC_FLAG_UNALIGNED;
  context->flags2 |= AV_CODEC_FLAG2_SHOW_ALL;
  if (extra_bytes > 0) {
    context->extradata = av_mallocz(extra_bytes + AV_INPUT_BUFFER_PADDING_SIZE);
    if (context->extradata) {
      memcpy(context->extradata, extra, extra_bytes);
      context->extradata_size = (int)extra_bytes;
    }
  }
  if (extra_bytes > 0 && !context->extradata) {
    avcodec_free_context(&context);
  } else if (avcodec_open2(context, codec, NULL) != 0) {
    avcodec_free_context(&context);
  }
  return context;
}

// Makes the codecs' tables, and chooses functions for this processor, before children are forked.
static void warm_up(void) {
  av_log_set_level(AV_LOG_QUIET);
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    AVCodecContext *context = open_context(codecs[i].codec, NULL, 0);
    avcodec_free_context(&context);
  }
}

static int reason_of(int error) {
  switch (error) {
  case AVERROR(ENOMEM): return DECODER_REASON_MEMORY;
  case AVERROR_PATCHWELCOME: return DECODER_REASON_UNSUPPORTED;
  default: return DECODER_REASON_MALFORMED;
  }
}

// 0 if the frame is the requested one, else a DECODER_REASON: unsupported if its samples can't be sent. They are planar
// and in native order. RGB is 4:4:4 in planes of green, blue and red, which is the order of H.273's matrix 0. Formats
// whose names begin with yuvj have the full range, which the daemon knows from the file.
static int check_frame(const decoder_request *request, const AVFrame *frame) {
  const AVPixFmtDescriptor *const format = av_pix_fmt_desc_get(frame->format);
  const uint64_t others = AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                          AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT;
  if (!format || format->flags & others) return DECODER_REASON_UNSUPPORTED;
  if (format->nb_components > 1 && !(format->flags & AV_PIX_FMT_FLAG_PLANAR)) return DECODER_REASON_UNSUPPORTED;
  const bool has_chroma = format->nb_components >= 3;
  // Such as 4:1:1 and 4:4:0.
  if (has_chroma && (format->log2_chroma_w > 1 || format->log2_chroma_h > format->log2_chroma_w))
    return DECODER_REASON_UNSUPPORTED;
  uint32_t chroma = DECODER_CHROMA_NONE;
  if (has_chroma)
    chroma = format->log2_chroma_h == 1   ? DECODER_CHROMA_420
             : format->log2_chroma_w == 1 ? DECODER_CHROMA_422
                                          : DECODER_CHROMA_444;
  // Gray pictures of H.264 get planes of chroma from libavcodec, without any colour. They are not sent.
  const bool is_gray = request->chroma == DECODER_CHROMA_NONE && chroma == DECODER_CHROMA_420;
  const bool is_requested = (chroma == request->chroma || is_gray) &&
                            (uint32_t)format->comp[0].depth == request->bit_depth &&
                            (uint32_t)frame->width == request->width && (uint32_t)frame->height == request->height;
  return is_requested ? 0 : DECODER_REASON_MISMATCH;
}

// Decodes a sample and sends its rows, unless it is to be left out.
static int decode_tile(decoder_job *job, AVCodecContext *context, uint32_t index, bool *sent) {
  const decoder_tile tile = job->tiles[index];
  const uint64_t bytes = decoder_extent_bytes(job, tile.first_extent, tile.extent_count);
  if (bytes == 0 || bytes > INT32_MAX / 2) return DECODER_REASON_MALFORMED;
  if (bytes > job->request.memory_limit_bytes) return DECODER_REASON_MEMORY;
  AVPacket *packet = av_packet_alloc();
  AVFrame *frame = av_frame_alloc();
  if (!packet || !frame || av_new_packet(packet, (int)bytes) != 0) return DECODER_REASON_MEMORY;
  packet->flags = AV_PKT_FLAG_KEY;
  int reason = decoder_read_extents(job, tile.first_extent, tile.extent_count, packet->data);
  if (reason) return reason;
  int error = avcodec_send_packet(context, packet);
  av_packet_free(&packet);
  // No further sample follows: the decoder outputs its remaining frames.
  if (error == 0) error = avcodec_send_packet(context, NULL);
  if (error == 0) error = avcodec_receive_frame(context, frame);
  if (error != 0) return decoder_allocation_failed ? DECODER_REASON_MEMORY : reason_of(error);
  if (frame->decode_error_flags != 0) return DECODER_REASON_MALFORMED;
  reason = check_frame(&job->request, frame);
  if (reason) return reason;
  *sent = decoder_send_tile(
      job, index, (const uint8_t *const[]){frame->data[0], frame->data[1], frame->data[2]},
      (const ptrdiff_t[]){frame->linesize[0], frame->linesize[1], frame->linesize[2]});
  av_frame_free(&frame);
  avcodec_flush_buffers(context);
  return 0;
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  const enum AVCodecID id = codec_of(job);
  if (id == AV_CODEC_ID_NONE || !decoder_wants_planes(request, 8, 16)) return DECODER_REASON_UNSUPPORTED;
  AVCodecContext *const context = open_context(id, job->parameters + 4, request->parameter_bytes - 4);
  if (!context) return decoder_allocation_failed ? DECODER_REASON_MEMORY : DECODER_REASON_UNSUPPORTED;
  // Larger frames than the request's are refused before their memory is allocated. Frames are coded in whole blocks.
  // The limit applies to working rows of MPEG-4 and H.263 too, which are longer than small frames.
  const int64_t pixels = ((int64_t)request->width + 128) * ((int64_t)request->height + 128);
  context->max_pixels = pixels > min_pixel_limit ? pixels : min_pixel_limit;
  bool sent = false;
  for (uint32_t tile = 0; tile < request->tile_count && !(request->alternatives && sent); tile++) {
    const int reason = decode_tile(job, context, tile, &sent);
    if (reason) return reason;
  }
  return 0;
}

int main(void) {
  static const decoder_codec codec = {"avcodec", describe, warm_up, decode};
  return decoder_main(&codec);
}
