// Encoding rows to a baseline or progressive JPEG in memory.

#include <stdlib.h>

#include "shared.h"

#define OUTPUT_CAPACITY (32 * 1024)

struct photod_jpeg_encoder {
  struct jpeg_compress_struct info;
  photod_jpeg_errors errors;
  struct jpeg_destination_mgr destination;
  photod_jpeg_sink sink;
  uint8_t output[OUTPUT_CAPACITY];
};

static photod_jpeg_encoder *encoder_of(j_compress_ptr info) { return (photod_jpeg_encoder *)info->client_data; }

static void reset(photod_jpeg_encoder *encoder) {
  encoder->destination.next_output_byte = encoder->output;
  encoder->destination.free_in_buffer = OUTPUT_CAPACITY;
}

static void empty(photod_jpeg_encoder *encoder, size_t count) {
  if (count > 0 && !encoder->sink.write(encoder->sink.context, encoder->output, count)) {
    encoder->errors.status = PHOTOD_JPEG_FAILED;
    strcpy(encoder->errors.message, "the file was refused");
    longjmp(encoder->errors.escape, 1);
  }
  reset(encoder);
}

static void init_destination(j_compress_ptr info) { reset(encoder_of(info)); }

static boolean empty_output_buffer(j_compress_ptr info) {
  // libjpeg calls this when the whole buffer is full, even if free_in_buffer is not 0.
  empty(encoder_of(info), OUTPUT_CAPACITY);
  return TRUE;
}

static void term_destination(j_compress_ptr info) {
  empty(encoder_of(info), OUTPUT_CAPACITY - encoder_of(info)->destination.free_in_buffer);
}

photod_jpeg_encoder *photod_jpeg_encoder_create(photod_jpeg_sink sink) {
  photod_jpeg_encoder *encoder = calloc(1, sizeof *encoder);
  if (!encoder) return NULL;
  encoder->sink = sink;
  photod_jpeg_errors_install((j_common_ptr)&encoder->info, &encoder->errors);
  if (setjmp(encoder->errors.escape)) {
    photod_jpeg_encoder_destroy(encoder);
    return NULL;
  }
  jpeg_create_compress(&encoder->info);
  encoder->info.client_data = encoder;
  encoder->destination.init_destination = init_destination;
  encoder->destination.empty_output_buffer = empty_output_buffer;
  encoder->destination.term_destination = term_destination;
  encoder->info.dest = &encoder->destination;
  return encoder;
}

void photod_jpeg_encoder_destroy(photod_jpeg_encoder *encoder) {
  if (!encoder) return;
  jpeg_destroy_compress(&encoder->info);
  free(encoder);
}

// By N. Robidoux, for luma and chroma; published with ImageMagick, and as table 3 of mozjpeg. It spends less on high
// frequencies than annex K of T.81, which gives a better picture for the same bytes.
static const unsigned robidoux_table[DCTSIZE2] = {
    16, 16, 16,  18,  25,  37,  56,  85,   //
    16, 17, 20,  27,  34,  40,  53,  75,   //
    16, 20, 24,  31,  43,  62,  91,  135,  //
    18, 27, 31,  40,  53,  74,  106, 156,  //
    25, 34, 43,  53,  69,  94,  131, 189,  //
    37, 40, 62,  74,  94,  124, 169, 238,  //
    56, 53, 91,  106, 131, 169, 226, 311,  //
    85, 75, 135, 156, 189, 238, 311, 418,
};

// Scans by frequency alone, luma in two parts. A third part saves nothing; libjpeg's own ten scans, which also send the
// low bits of coefficients later, save another 0 to 1 percent of a photograph's bytes and take nearly twice the time.
static const jpeg_scan_info gray_scans[] = {
    {1, {0}, 0, 0, 0, 0},
    {1, {0}, 1, 8, 0, 0},
    {1, {0}, 9, 63, 0, 0},
};
static const jpeg_scan_info colour_scans[] = {
    {3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 8, 0, 0},  {1, {2}, 1, 63, 0, 0},
    {1, {1}, 1, 63, 0, 0},      {1, {0}, 9, 63, 0, 0},
};

static void set_scans(j_compress_ptr info) {
  int is_gray = info->num_components == 1;
  info->scan_info = is_gray ? gray_scans : colour_scans;
  info->num_scans = is_gray ? sizeof gray_scans / sizeof *gray_scans : sizeof colour_scans / sizeof *colour_scans;
}

photod_jpeg_status photod_jpeg_encoder_start(photod_jpeg_encoder *encoder, photod_jpeg_encode_options options) {
  j_compress_ptr info = &encoder->info;
  if (setjmp(encoder->errors.escape)) return encoder->errors.status;
  info->image_width = options.width;
  info->image_height = options.height;
  info->input_components = options.components;
  info->in_color_space = options.components == 1 ? JCS_GRAYSCALE : options.planar ? JCS_YCbCr : JCS_RGB;
  jpeg_set_defaults(info);
  jpeg_set_quality(info, options.quality, TRUE);
  if (options.robidoux_table)
    for (int table = 0; table < 2; table++)
      jpeg_add_quant_table(info, table, robidoux_table, jpeg_quality_scaling(options.quality), TRUE);
  if (options.components == 3) {
    int factor = options.subsample_chroma ? 2 : 1;
    info->comp_info[0].h_samp_factor = factor;
    info->comp_info[0].v_samp_factor = factor;
  }
  info->raw_data_in = options.planar;
  if (options.progressive) set_scans(info);
  jpeg_start_compress(info, TRUE);
  if (options.icc_profile && options.icc_profile_length > 0)
    jpeg_write_icc_profile(info, options.icc_profile, (unsigned)options.icc_profile_length);
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_write_rows(photod_jpeg_encoder *encoder, const uint8_t *rows, size_t stride,
                                          uint32_t count) {
  if (setjmp(encoder->errors.escape)) return encoder->errors.status;
  for (uint32_t i = 0; i < count; i++) {
    JSAMPROW row = (JSAMPROW)(rows + i * stride);
    jpeg_write_scanlines(&encoder->info, &row, 1);
  }
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_write_planes(photod_jpeg_encoder *encoder,
                                            const uint8_t *const planes[PHOTOD_JPEG_PLANES],
                                            const size_t strides[PHOTOD_JPEG_PLANES]) {
  j_compress_ptr info = &encoder->info;
  JSAMPROW rows[PHOTOD_JPEG_PLANES][2 * DCTSIZE];
  JSAMPARRAY arrays[PHOTOD_JPEG_PLANES];
  if (setjmp(encoder->errors.escape)) return encoder->errors.status;
  for (int c = 0; c < PHOTOD_JPEG_PLANES; c++) {
    for (int i = 0; i < info->comp_info[c].v_samp_factor * DCTSIZE; i++)
      rows[c][i] = (JSAMPROW)(planes[c] + (size_t)i * strides[c]);
    arrays[c] = rows[c];
  }
  jpeg_write_raw_data(info, arrays, (JDIMENSION)(info->max_v_samp_factor * DCTSIZE));
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_encoder_finish(photod_jpeg_encoder *encoder) {
  if (setjmp(encoder->errors.escape)) return encoder->errors.status;
  jpeg_finish_compress(&encoder->info);
  return PHOTOD_JPEG_OK;
}

void photod_jpeg_encoder_report(const photod_jpeg_encoder *encoder, photod_jpeg_report *report) {
  memset(report, 0, sizeof *report);
  report->warnings = encoder->errors.base.num_warnings;
  memcpy(report->message, encoder->errors.message, sizeof report->message);
}
