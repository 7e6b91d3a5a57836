#include <stddef.h>
#include <stdio.h>

#include <jpeglib.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "CPhotoFixtures.h"
#include "decode.h"

typedef struct {
  struct jpeg_error_mgr base;
  jmp_buf escape;
} errors;

static void on_error(j_common_ptr info) { longjmp(((errors *)info->err)->escape, 1); }
static void on_message(j_common_ptr info) { (void)info; }

static void install(j_common_ptr info, errors *errors) {
  info->err = jpeg_std_error(&errors->base);
  errors->base.error_exit = on_error;
  errors->base.output_message = on_message;
}

static const int channels_of[] = {1, 3, 3, 4, 4};

// Sets up the compression, up to the first row. `scans` is read until the compression ends.
static void begin(struct jpeg_compress_struct *info, uint32_t width, uint32_t height,
                  const fixture_jpeg_options *options, jpeg_scan_info scans[4]) {
  static const J_COLOR_SPACE in[] = {JCS_GRAYSCALE, JCS_RGB, JCS_RGB, JCS_CMYK, JCS_CMYK};
  static const J_COLOR_SPACE stored[] = {JCS_GRAYSCALE, JCS_YCbCr, JCS_RGB, JCS_CMYK, JCS_YCCK};
  info->image_width = width;
  info->image_height = height;
  info->input_components = channels_of[options->color];
  info->in_color_space = in[options->color];
  jpeg_set_defaults(info);
  jpeg_set_colorspace(info, stored[options->color]);
  jpeg_set_quality(info, options->quality, TRUE);
  if (options->horizontal_sampling) {
    info->comp_info[0].h_samp_factor = options->horizontal_sampling;
    info->comp_info[0].v_samp_factor = options->vertical_sampling;
    if (options->color == FIXTURE_JPEG_YCCK) {
      info->comp_info[3].h_samp_factor = options->horizontal_sampling;
      info->comp_info[3].v_samp_factor = options->vertical_sampling;
    }
  }
  if (options->without_adobe_marker) info->write_Adobe_marker = FALSE;
  if (options->extended) {
    // T.81 table B.4: baseline has only tables 0 and 1. With optimize_coding libjpeg creates the named tables.
    info->optimize_coding = TRUE;
    for (int i = 1; i < info->num_components; i++) info->comp_info[i].dc_tbl_no = info->comp_info[i].ac_tbl_no = 3;
  }
  if (options->multiple_scans) {
    for (int i = 0; i < info->num_components; i++)
      scans[i] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {i}, .Ss = 0, .Se = 63};
    info->scan_info = scans;
    info->num_scans = info->num_components;
  }
  info->arith_code = options->arithmetic;
  info->restart_in_rows = options->restart_rows;
  if (options->progressive) jpeg_simple_progression(info);
  static const jpeg_scan_info separate[] = {
      {1, {0}, 0, 0, 0, 0}, {1, {1}, 0, 0, 0, 0}, {1, {2}, 0, 0, 0, 0},
      {1, {0}, 1, 63, 0, 0}, {1, {1}, 1, 63, 0, 0}, {1, {2}, 1, 63, 0, 0},
  };
  if (options->separate_dc_scans) {
    info->scan_info = separate;
    info->num_scans = sizeof separate / sizeof separate[0];
  }
  jpeg_start_compress(info, TRUE);
  for (size_t i = 0; i + 3 <= options->segments_length;) {
    const uint8_t *segment = options->segments + i;
    unsigned count = (unsigned)segment[1] << 8 | segment[2];
    jpeg_write_marker(info, segment[0], segment + 3, count);
    i += 3 + count;
  }
  if (options->icc_profile)
    jpeg_write_icc_profile(info, options->icc_profile, (unsigned)options->icc_profile_length);
}

uint8_t *fixture_encode_jpeg(const uint8_t *pixels, uint32_t width, uint32_t height, fixture_jpeg_options options,
                             size_t *length) {
  struct jpeg_compress_struct info;
  errors errors;
  uint8_t *volatile bytes = NULL;
  unsigned char *out = NULL;
  unsigned long size = 0;
  jpeg_scan_info scans[4] = {0};
  install((j_common_ptr)&info, &errors);
  if (setjmp(errors.escape)) {
    jpeg_destroy_compress(&info);
    free(out);
    return NULL;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &out, &size);
  begin(&info, width, height, &options, scans);
  for (uint32_t y = 0; y < height; y++) {
    JSAMPROW row = (JSAMPROW)(pixels + (size_t)y * width * (size_t)channels_of[options.color]);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  bytes = out;
  *length = size;
  return bytes;
}

// The position in the tile of a pixel of the picture that consists of the tile and its mirror images.
static uint32_t mirrored(uint32_t at, uint32_t side) {
  return at / side % 2 == 0 ? at % side : side - 1 - at % side;
}

bool fixture_write_mirrored_jpeg(const char *path, const uint8_t *tile, uint32_t tile_width, uint32_t tile_height,
                                 uint32_t width, uint32_t height, fixture_jpeg_options options) {
  struct jpeg_compress_struct info;
  errors errors;
  jpeg_scan_info scans[4] = {0};
  size_t channels = (size_t)channels_of[options.color];
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  uint8_t *row = malloc(width * channels);
  install((j_common_ptr)&info, &errors);
  if (!row || setjmp(errors.escape)) {
    if (row) jpeg_destroy_compress(&info);
    free(row);
    fclose(file);
    return false;
  }
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  begin(&info, width, height, &options, scans);
  for (uint32_t y = 0; y < height; y++) {
    const uint8_t *from = tile + (size_t)mirrored(y, tile_height) * tile_width * channels;
    for (uint32_t x = 0; x < width; x++)
      memcpy(row + x * channels, from + mirrored(x, tile_width) * channels, channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  free(row);
  return fclose(file) == 0;
}

uint8_t *fixture_profile_in_jpeg(const uint8_t *bytes, size_t length, size_t *profile_length) {
  struct jpeg_decompress_struct info;
  errors errors;
  JOCTET *profile = NULL;
  unsigned count = 0;
  install((j_common_ptr)&info, &errors);
  if (setjmp(errors.escape)) {
    jpeg_destroy_decompress(&info);
    return NULL;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, length);
  jpeg_save_markers(&info, JPEG_APP0 + 2, 0xFFFF);
  jpeg_read_header(&info, TRUE);
  if (!jpeg_read_icc_profile(&info, &profile, &count)) profile = NULL;
  jpeg_destroy_decompress(&info);
  *profile_length = count;
  return profile;
}

uint8_t *fixture_decode_jpeg(const uint8_t *bytes, size_t length, uint32_t *width, uint32_t *height, int *channels) {
  struct jpeg_decompress_struct info;
  errors errors;
  uint8_t *volatile pixels = NULL;
  install((j_common_ptr)&info, &errors);
  if (setjmp(errors.escape)) {
    jpeg_destroy_decompress(&info);
    free(pixels);
    return NULL;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, length);
  jpeg_read_header(&info, TRUE);
  *channels = info.num_components;
  info.out_color_space = JCS_EXT_RGBA;
  jpeg_start_decompress(&info);
  *width = info.output_width;
  *height = info.output_height;
  pixels = malloc((size_t)info.output_width * info.output_height * 4);
  while (pixels && info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + (size_t)info.output_scanline * info.output_width * 4;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}

bool fixture_jpeg_decodes(const uint8_t *bytes, size_t length, uint64_t maximum_pixels, fixture_jpeg_facts *facts) {
  struct jpeg_decompress_struct info;
  errors errors;
  uint8_t *volatile row = NULL;
  if (length == 0) return false;
  install((j_common_ptr)&info, &errors);
  if (setjmp(errors.escape)) {
    jpeg_destroy_decompress(&info);
    free(row);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, length);
  jpeg_read_header(&info, TRUE);
  *facts = (fixture_jpeg_facts){.width = info.image_width, .height = info.image_height};
  facts->components = info.num_components;
  facts->ycbcr = info.jpeg_color_space == JCS_YCbCr;
  facts->progressive = info.progressive_mode;
  facts->multiple_scans = jpeg_has_multiple_scans(&info);
  // Two components, or five and more, have no defined colours.
  bool is_shown = info.jpeg_color_space != JCS_UNKNOWN &&
                  (uint64_t)info.image_width * info.image_height <= maximum_pixels;
  if (is_shown) {
    jpeg_start_decompress(&info);
    row = malloc((size_t)info.output_width * (size_t)info.output_components);
    while (row && info.output_scanline < info.output_height) {
      JSAMPROW rows = row;
      jpeg_read_scanlines(&info, &rows, 1);
    }
  }
  facts->warnings = errors.base.num_warnings;
  jpeg_destroy_decompress(&info);
  is_shown = is_shown && row;
  free(row);
  return is_shown;
}
