// Decoding: header, start, rows. CPhotodJPEG.h describes the rules for callbacks and longjmp.

#include <stdlib.h>

#include "shared.h"

// Size of the input buffer. A whole MCU must fit beside a refill for suspension to make progress (T.81 F.1.2: a block
// is at most 64 coefficients of 32 bits with stuffing, an MCU at most 10 blocks), so 64 KiB leaves ample room.
#define INPUT_CAPACITY (64 * 1024)

struct photod_jpeg_decoder {
  struct jpeg_decompress_struct info;
  photod_jpeg_errors errors;
  struct jpeg_source_mgr source_manager;
  struct jpeg_progress_mgr progress;
  photod_jpeg_source source;
  int maximum_scans;
  size_t pending_skip;
  bool first_scan_only;
  bool output_started;
  bool truncated;
  bool read_failed;
  uint8_t input[INPUT_CAPACITY];
};

static photod_jpeg_decoder *decoder_of(j_decompress_ptr info) { return (photod_jpeg_decoder *)info->client_data; }

// Ends a truncated file with an EOI, as libjpeg's own sources do, so that libjpeg delivers the existing part.
static void insert_end_of_image(photod_jpeg_decoder *decoder) {
  decoder->truncated = true;
  decoder->input[0] = 0xFF;
  decoder->input[1] = JPEG_EOI;
  decoder->source_manager.next_input_byte = decoder->input;
  decoder->source_manager.bytes_in_buffer = 2;
}

static void fail_reading(photod_jpeg_decoder *decoder) {
  decoder->read_failed = true;
  decoder->errors.status = PHOTOD_JPEG_FAILED;
  strcpy(decoder->errors.message, "the source could not be read");
}

static void stop_if_asked(photod_jpeg_decoder *decoder) {
  if (!decoder->source.should_stop(decoder->source.context)) return;
  decoder->errors.status = PHOTOD_JPEG_STOPPED;
  longjmp(decoder->errors.escape, 1);
}

static void source_nothing(j_decompress_ptr info) { (void)info; }

static boolean fill_input_buffer(j_decompress_ptr info) {
  photod_jpeg_decoder *decoder = decoder_of(info);
  if (decoder->source.may_wait) return FALSE;
  // Skipped rows report no progress, but they use up input: 64 KiB take at most a few milliseconds, because a block has
  // at least 4 bits.
  stop_if_asked(decoder);
  long count = decoder->source.fill(decoder->source.context, decoder->input, INPUT_CAPACITY);
  if (count < 0) {
    fail_reading(decoder);
    longjmp(decoder->errors.escape, 1);
  }
  if (count == 0) {
    insert_end_of_image(decoder);
    return TRUE;
  }
  decoder->source_manager.next_input_byte = decoder->input;
  decoder->source_manager.bytes_in_buffer = (size_t)count;
  return TRUE;
}

static void skip_input_data(j_decompress_ptr info, long count) {
  photod_jpeg_decoder *decoder = decoder_of(info);
  struct jpeg_source_mgr *manager = &decoder->source_manager;
  if (count <= 0) return;
  size_t left = (size_t)count;
  if (decoder->source.may_wait) {
    size_t now = left < manager->bytes_in_buffer ? left : manager->bytes_in_buffer;
    manager->next_input_byte += now;
    manager->bytes_in_buffer -= now;
    decoder->pending_skip += left - now;
    return;
  }
  while (left > manager->bytes_in_buffer) {
    left -= manager->bytes_in_buffer;
    manager->bytes_in_buffer = 0;
    fill_input_buffer(info);
    if (decoder->truncated) return;
  }
  manager->next_input_byte += left;
  manager->bytes_in_buffer -= left;
}

// Appends input to the bytes that libjpeg has not consumed yet. Only with may_wait, between two calls of libjpeg.
static photod_jpeg_status refill(photod_jpeg_decoder *decoder) {
  struct jpeg_source_mgr *manager = &decoder->source_manager;
  if (decoder->truncated) {
    // libjpeg needs input after the inserted EOI, but there is none.
    decoder->errors.status = PHOTOD_JPEG_FAILED;
    strcpy(decoder->errors.message, "the file ended inside its header");
    return PHOTOD_JPEG_FAILED;
  }
  memmove(decoder->input, manager->next_input_byte, manager->bytes_in_buffer);
  manager->next_input_byte = decoder->input;
  for (;;) {
    size_t room = INPUT_CAPACITY - manager->bytes_in_buffer;
    if (room == 0) {
      decoder->errors.status = PHOTOD_JPEG_FAILED;
      strcpy(decoder->errors.message, "a unit larger than any that JPEG allows");
      return PHOTOD_JPEG_FAILED;
    }
    long count = decoder->source.fill(decoder->source.context, decoder->input + manager->bytes_in_buffer, room);
    if (count == -1) return PHOTOD_JPEG_NEEDS_INPUT;
    if (count < 0) {
      fail_reading(decoder);
      return PHOTOD_JPEG_FAILED;
    }
    if (count == 0) {
      insert_end_of_image(decoder);
      return PHOTOD_JPEG_OK;
    }
    if (decoder->pending_skip >= (size_t)count) {
      decoder->pending_skip -= (size_t)count;
      continue;
    }
    size_t skipped = decoder->pending_skip;
    decoder->pending_skip = 0;
    manager->next_input_byte += skipped;
    manager->bytes_in_buffer += (size_t)count - skipped;
    return PHOTOD_JPEG_OK;
  }
}

// Called by libjpeg about once an MCU row, also while it reads a progressive file on its own.
static void progress_monitor(j_common_ptr info) {
  photod_jpeg_decoder *decoder = decoder_of((j_decompress_ptr)info);
  if (((j_decompress_ptr)info)->input_scan_number > decoder->maximum_scans) {
    decoder->errors.status = PHOTOD_JPEG_TOO_MANY_SCANS;
    strcpy(decoder->errors.message, "too many scans");
    longjmp(decoder->errors.escape, 1);
  }
  stop_if_asked(decoder);
}

photod_jpeg_decoder *photod_jpeg_decoder_create(photod_jpeg_source source, int maximum_scans) {
  photod_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
  if (!decoder) return NULL;
  decoder->source = source;
  decoder->maximum_scans = maximum_scans;
  photod_jpeg_errors_install((j_common_ptr)&decoder->info, &decoder->errors);
  if (setjmp(decoder->errors.escape)) {
    photod_jpeg_decoder_destroy(decoder);
    return NULL;
  }
  jpeg_create_decompress(&decoder->info);
  decoder->info.client_data = decoder;
  decoder->progress.progress_monitor = progress_monitor;
  decoder->info.progress = &decoder->progress;
  decoder->source_manager.init_source = source_nothing;
  decoder->source_manager.fill_input_buffer = fill_input_buffer;
  decoder->source_manager.skip_input_data = skip_input_data;
  decoder->source_manager.resync_to_restart = jpeg_resync_to_restart;
  decoder->source_manager.term_source = source_nothing;
  decoder->source_manager.next_input_byte = decoder->input;
  decoder->info.src = &decoder->source_manager;
  return decoder;
}

void photod_jpeg_decoder_destroy(photod_jpeg_decoder *decoder) {
  if (!decoder) return;
  jpeg_destroy_decompress(&decoder->info);
  free(decoder);
}

photod_jpeg_status photod_jpeg_read_header(photod_jpeg_decoder *decoder, photod_jpeg_header *header) {
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  while (jpeg_read_header(&decoder->info, TRUE) == JPEG_SUSPENDED) {
    photod_jpeg_status status = refill(decoder);
    if (status != PHOTOD_JPEG_OK) return status;
  }
  header->width = decoder->info.image_width;
  header->height = decoder->info.image_height;
  header->components = decoder->info.num_components;
  header->color_space = decoder->info.jpeg_color_space;
  header->progressive = decoder->info.progressive_mode;
  header->multiple_scans = jpeg_has_multiple_scans(&decoder->info);
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_prepare(photod_jpeg_decoder *decoder, photod_jpeg_decode_options options,
                                       photod_jpeg_output *output) {
  j_decompress_ptr info = &decoder->info;
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  info->scale_num = (unsigned)options.scale;
  info->scale_denom = 8;
  decoder->first_scan_only = options.first_scan_only && info->progressive_mode;
  info->buffered_image = decoder->first_scan_only;
  if (decoder->first_scan_only) info->do_block_smoothing = FALSE;
  switch (info->jpeg_color_space) {
    case JCS_GRAYSCALE: info->out_color_space = JCS_GRAYSCALE; break;
    case JCS_CMYK:
    case JCS_YCCK: info->out_color_space = JCS_CMYK; break;
    default: info->out_color_space = JCS_RGB; break;
  }
  if (options.planar) {
    if (info->jpeg_color_space != JCS_YCbCr || info->num_components != PHOTOD_JPEG_PLANES) {
      decoder->errors.status = PHOTOD_JPEG_FAILED;
      strcpy(decoder->errors.message, "not YCbCr, which its header announced");
      return PHOTOD_JPEG_FAILED;
    }
    info->raw_data_out = TRUE;
    info->out_color_space = JCS_YCbCr;
  }
  jpeg_calc_output_dimensions(info);
  output->width = info->output_width;
  output->height = info->output_height;
  output->components = info->out_color_components;
  return PHOTOD_JPEG_OK;
}

// Reads the scans before the one that has the last component's DC coefficients. That scan, usually the first, is read
// while rows are requested.
static photod_jpeg_status read_to_dc(photod_jpeg_decoder *decoder) {
  j_decompress_ptr info = &decoder->info;
  for (int c = 0; c < info->num_components; c++) {
    // -1: no scan so far has the coefficient (jpeglib.h).
    while (info->coef_bits[c][0] < 0) {
      int result = jpeg_consume_input(info);
      if (result == JPEG_REACHED_EOI) return PHOTOD_JPEG_OK;
      if (result == JPEG_SUSPENDED) {
        photod_jpeg_status status = refill(decoder);
        if (status != PHOTOD_JPEG_OK) return status;
      }
      progress_monitor((j_common_ptr)info);
    }
  }
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_start(photod_jpeg_decoder *decoder) {
  j_decompress_ptr info = &decoder->info;
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  if (!decoder->output_started) {
    while (!jpeg_start_decompress(info)) {
      photod_jpeg_status status = refill(decoder);
      if (status != PHOTOD_JPEG_OK) return status;
    }
    decoder->output_started = true;
  }
  if (decoder->first_scan_only) {
    photod_jpeg_status status = read_to_dc(decoder);
    if (status != PHOTOD_JPEG_OK) return status;
    while (!jpeg_start_output(info, info->input_scan_number)) {
      photod_jpeg_status status = refill(decoder);
      if (status != PHOTOD_JPEG_OK) return status;
    }
  }
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_crop(photod_jpeg_decoder *decoder, uint32_t *x, uint32_t *width) {
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  JDIMENSION left = *x, columns = *width;
  jpeg_crop_scanline(&decoder->info, &left, &columns);
  *x = left;
  *width = columns;
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_skip_rows(photod_jpeg_decoder *decoder, uint32_t count) {
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  jpeg_skip_scanlines(&decoder->info, count);
  return PHOTOD_JPEG_OK;
}

photod_jpeg_status photod_jpeg_read_rows(photod_jpeg_decoder *decoder, uint8_t *rows, size_t stride, uint32_t count,
                                         uint32_t *decoded) {
  *decoded = 0;
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  while (*decoded < count) {
    JSAMPROW row = rows + *decoded * stride;
    JDIMENSION got = jpeg_read_scanlines(&decoder->info, &row, 1);
    if (got == 0) {
      // Deliver available rows before waiting for more.
      if (*decoded > 0) return PHOTOD_JPEG_OK;
      photod_jpeg_status status = refill(decoder);
      if (status != PHOTOD_JPEG_OK) return status;
    }
    *decoded += got;
  }
  return PHOTOD_JPEG_OK;
}

void photod_jpeg_planes(const photod_jpeg_decoder *decoder, photod_jpeg_plane planes[PHOTOD_JPEG_PLANES]) {
  const struct jpeg_decompress_struct *info = &decoder->info;
  for (int c = 0; c < PHOTOD_JPEG_PLANES; c++) {
    const jpeg_component_info *component = &info->comp_info[c];
    const uint64_t size = (uint64_t)component->DCT_scaled_size;
    const uint64_t across = (uint64_t)info->max_h_samp_factor * DCTSIZE, h = (uint64_t)component->h_samp_factor;
    const uint64_t down = (uint64_t)info->max_v_samp_factor * DCTSIZE, v = (uint64_t)component->v_samp_factor;
    const uint64_t mcus = (info->image_width + across - 1) / across;
    planes[c].width = (uint32_t)((info->image_width * h * size + across - 1) / across);
    planes[c].height = (uint32_t)((info->image_height * v * size + down - 1) / down);
    planes[c].row_bytes = (uint32_t)(mcus * h * size);
    planes[c].rows_per_group = (uint32_t)(v * size);
  }
}

photod_jpeg_status photod_jpeg_read_planes(photod_jpeg_decoder *decoder,
                                           uint8_t *const *const rows[PHOTOD_JPEG_PLANES]) {
  j_decompress_ptr info = &decoder->info;
  if (setjmp(decoder->errors.escape)) return decoder->errors.status;
  const JDIMENSION lines = (JDIMENSION)(info->max_v_samp_factor * info->min_DCT_scaled_size);
  while (jpeg_read_raw_data(info, (JSAMPIMAGE)rows, lines) == 0) {
    photod_jpeg_status status = refill(decoder);
    if (status != PHOTOD_JPEG_OK) return status;
  }
  return PHOTOD_JPEG_OK;
}

void photod_jpeg_decoder_report(const photod_jpeg_decoder *decoder, photod_jpeg_report *report) {
  memset(report, 0, sizeof *report);
  report->warnings = decoder->errors.base.num_warnings;
  report->truncated = decoder->truncated || decoder->errors.data_ended;
  report->read_failed = decoder->read_failed;
  memcpy(report->message, decoder->errors.message, sizeof report->message);
}
