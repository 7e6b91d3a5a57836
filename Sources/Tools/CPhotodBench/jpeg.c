#include "codec_floor.h"

#include <jpeglib.h>
#include <setjmp.h>

// The names of the scaled block size in the two ABIs of libjpeg-turbo.
#if JPEG_LIB_VERSION >= 70
#define SCALED_SIZE(component) ((component)->DCT_v_scaled_size)
#define LEAST_SCALED_SIZE(info) ((info)->min_DCT_v_scaled_size)
#else
#define SCALED_SIZE(component) ((component)->DCT_scaled_size)
#define LEAST_SCALED_SIZE(info) ((info)->min_DCT_scaled_size)
#endif

#define TEXT(x) #x
#define VALUE(x) TEXT(x)

const char *photod_codec_floor_jpeg_library(void) { return "libjpeg-turbo " VALUE(LIBJPEG_TURBO_VERSION); }

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

static void decode_rows(photod_codec_floor *floor, j_decompress_ptr info, bool keep) {
  const JDIMENSION stride = info->output_width * (JDIMENSION)info->output_components;
  JSAMPARRAY rows = info->mem->alloc_sarray((j_common_ptr)info, JPOOL_IMAGE, stride, 1);
  while (info->output_scanline < info->output_height) {
    const JDIMENSION y = info->output_scanline;
    jpeg_read_scanlines(info, rows, 1);
    if (keep) floor_plane_take(&floor->planes[0], rows[0], y, info->output_width, info->output_height, 1);
  }
}

static void decode_planes(photod_codec_floor *floor, j_decompress_ptr info, bool keep) {
  JSAMPARRAY rows[FLOOR_PLANES];
  uint32_t widths[FLOOR_PLANES], heights[FLOOR_PLANES], done = 0;
  const uint32_t across = (uint32_t)info->max_h_samp_factor * DCTSIZE, down = (uint32_t)info->max_v_samp_factor * DCTSIZE;
  for (int c = 0; c < FLOOR_PLANES; c++) {
    const jpeg_component_info *component = &info->comp_info[c];
    const uint32_t h = (uint32_t)(component->h_samp_factor * SCALED_SIZE(component));
    const uint32_t v = (uint32_t)(component->v_samp_factor * SCALED_SIZE(component));
    widths[c] = (info->image_width * h + across - 1) / across;
    heights[c] = (info->image_height * v + down - 1) / down;
    rows[c] = info->mem->alloc_sarray((j_common_ptr)info, JPOOL_IMAGE, (info->image_width + across - 1) / across * h, v);
  }
  const JDIMENSION lines = (JDIMENSION)(info->max_v_samp_factor * LEAST_SCALED_SIZE(info));
  while (info->output_scanline < info->output_height) {
    jpeg_read_raw_data(info, rows, lines);
    for (int c = 0; keep && c < FLOOR_PLANES; c++) {
      const uint32_t count = (uint32_t)(info->comp_info[c].v_samp_factor * SCALED_SIZE(&info->comp_info[c]));
      for (uint32_t i = 0; i < count && done * count + i < heights[c]; i++)
        floor_plane_take(&floor->planes[c], rows[c][i], done * count + i, widths[c], heights[c], 1);
    }
    done++;
  }
}

bool floor_decode_jpeg(photod_codec_floor *floor, bool keep) {
  struct jpeg_decompress_struct info;
  errors errors;
  install((j_common_ptr)&info, &errors);
  if (setjmp(errors.escape)) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, floor->file, floor->length);
  jpeg_read_header(&info, TRUE);
  info.scale_num = (unsigned)floor->options.eighths;
  info.scale_denom = 8;
  info.raw_data_out = floor->options.planar;
  if (floor->options.planar) info.out_color_space = JCS_YCbCr;
  const bool fits = floor->options.planar ? info.jpeg_color_space == JCS_YCbCr && !floor->options.makes_png
                                          : info.out_color_space != JCS_CMYK;
  jpeg_calc_output_dimensions(&info);
  const uint32_t channels = floor->options.planar ? 1 : (uint32_t)info.out_color_components;
  if (!fits || (keep && !floor_plane_allocate(floor, channels))) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_start_decompress(&info);
  if (floor->options.planar) {
    decode_planes(floor, &info, keep);
  } else {
    decode_rows(floor, &info, keep);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return true;
}

static void encode_planes(photod_codec_floor *floor, j_compress_ptr info) {
  JSAMPROW rows[FLOOR_PLANES][2 * DCTSIZE];
  JSAMPARRAY arrays[FLOOR_PLANES] = {rows[0], rows[1], rows[2]};
  while (info->next_scanline < info->image_height) {
    for (int c = 0; c < FLOOR_PLANES; c++) {
      const JDIMENSION count = c == 0 ? 2 * DCTSIZE : DCTSIZE, first = info->next_scanline / (c == 0 ? 1 : 2);
      for (JDIMENSION i = 0; i < count; i++) rows[c][i] = floor->planes[c].bytes + (first + i) * floor->planes[c].stride;
    }
    jpeg_write_raw_data(info, arrays, 2 * DCTSIZE);
  }
}

size_t floor_encode_jpeg(photod_codec_floor *floor) {
  struct jpeg_compress_struct info;
  errors errors;
  unsigned char *out = NULL;
  unsigned long size = 0;
  install((j_common_ptr)&info, &errors);
  if (setjmp(errors.escape)) {
    jpeg_destroy_compress(&info);
    free(out);
    return 0;
  }
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &out, &size);
  const uint32_t channels = floor->planes[0].channels;
  info.image_width = floor->options.width;
  info.image_height = floor->options.height;
  info.input_components = floor->options.planar ? FLOOR_PLANES : (int)channels;
  info.in_color_space = floor->options.planar ? JCS_YCbCr : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, floor->options.quality, TRUE);
  info.raw_data_in = floor->options.planar;
  jpeg_start_compress(&info, TRUE);
  if (floor->options.planar) {
    encode_planes(floor, &info);
  } else {
    while (info.next_scanline < info.image_height) {
      JSAMPROW row = floor->planes[0].bytes + info.next_scanline * floor->planes[0].stride;
      jpeg_write_scanlines(&info, &row, 1);
    }
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  free(out);
  return size;
}
