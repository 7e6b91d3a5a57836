// photod-decoder-raw: the sensor data of a camera's RAW file, developed by LibRaw into sRGB.
//
// The payload is the whole file. LibRaw has no rows in order: it develops the whole picture in memory, at half the size
// if that suffices. The picture is not turned, because photod turns it by the orientation that its own parser found. Of
// the rows that LibRaw makes, only the size that photod expects is sent: cameras have a few more rows and columns.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <libraw/libraw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "decoder_worker.h"

// The parameters of a request: decoder_raw_parameters of decoder_protocol.h.
typedef decoder_raw_parameters parameters;

// The developed picture and the part of it that is sent.
typedef struct {
  const uint8_t *pixels;
  int64_t width, height;
  unsigned colors;
  // Developed pixels of a side that are averaged to one.
  int64_t box;
  // The expected picture, in developed pixels, and its place in the developed one. A place may be negative: the border
  // pixels are then repeated.
  int64_t expected_width, expected_height, left, top;
} output;

static void describe(char *text, size_t capacity) { snprintf(text, capacity, "LibRaw %s", libraw_version()); }

static void ignore_data_error(void *context, const char *file, const int offset) {
  (void)file, (void)offset;
  *(bool *)context = true;
}

static void ignore_memory_error(void *context, const char *file, const char *place) {
  (void)context, (void)file, (void)place;
}

static libraw_data_t *make_reader(bool *is_damaged) {
  libraw_data_t *const raw = libraw_init(0);
  if (!raw) return NULL;
  // The default handlers print to standard error.
  libraw_set_dataerror_handler(raw, ignore_data_error, is_damaged);
  libraw_set_memerror_handler(raw, ignore_memory_error, NULL);
  return raw;
}

// Prepares what a worker may not do: starting threads, and reading the time zone.
static void warm_up(void) {
  // LibRaw may be built with OpenMP, which then runs everything on the calling thread.
  void (*set_threads)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  if (set_threads) set_threads(1);
  // With a value, mktime(3) does not look at /etc/localtime again.
  setenv("TZ", "UTC0", 1);
  tzset();
  // A file that is refused: C++ exceptions allocate when the first one is thrown.
  static uint8_t empty[512] = "II*";
  bool is_damaged = false;
  libraw_data_t *const raw = make_reader(&is_damaged);
  if (!raw) return;
  libraw_open_buffer(raw, empty, sizeof empty);
  libraw_close(raw);
}

static int reason_of(int error, bool is_damaged) {
  switch (error) {
  case LIBRAW_SUCCESS: return is_damaged ? DECODER_REASON_MALFORMED : 0;
  case LIBRAW_UNSUFFICIENT_MEMORY:
  case LIBRAW_TOO_BIG:
  case LIBRAW_MEMPOOL_OVERFLOW: return DECODER_REASON_MEMORY;
  case LIBRAW_DATA_ERROR:
  case LIBRAW_IO_ERROR:
  case LIBRAW_BAD_CROP: return DECODER_REASON_MALFORMED;
  // Codes of errno are positive.
  default: return error > 0 ? DECODER_REASON_MALFORMED : DECODER_REASON_UNSUPPORTED;
  }
}

static void set_parameters(libraw_data_t *raw, uint32_t step) {
  libraw_output_params_t *const wanted = &raw->params;
  wanted->output_bps = 8;
  // sRGB: its primaries, and its curve instead of the default BT.709.
  wanted->output_color = 1;
  wanted->gamm[0] = 1 / 2.4;
  wanted->gamm[1] = 12.92;
  wanted->use_camera_wb = 1;
  wanted->half_size = step > 1;
  // Not turned.
  wanted->user_flip = 0;
  // PPG takes half the time of LibRaw's default AHD.
  wanted->user_qual = 2;
}

// Maximum number of sensor pixels for each byte of the file: a black frame in the best codec that LibRaw knows has
// fewer. In some formats LibRaw makes black or random rows of missing data without an error.
enum { MAX_PIXELS_PER_BYTE = 100 };

// Whether a developed side fits an expected one. LibRaw knows the sensor's borders, which cameras cut off; containers
// may count a few rows or columns of the frame.
static bool is_near(int64_t developed, int64_t expected) {
  return developed >= expected - expected / 50 - 2 && developed <= expected + expected / 8 + 2;
}

// Sets the place of the expected picture: that of a DNG's default crop, else the middle.
static void set_place(
    output *out, const libraw_data_t *raw, const decoder_request *request, uint32_t step, bool is_halved) {
  const unsigned *const crop = raw->color.dng_levels.default_crop;
  const bool has_crop = raw->idata.dng_version && crop[2] == request->coded_width && crop[3] == request->coded_height;
  const int64_t unit = is_halved ? 2 : 1;
  out->box = step / unit;
  out->expected_width = (request->coded_width + unit - 1) / unit;
  out->expected_height = (request->coded_height + unit - 1) / unit;
  out->left = has_crop ? crop[0] / unit : (out->width - out->expected_width) / 2;
  out->top = has_crop ? crop[1] / unit : (out->height - out->expected_height) / 2;
}

static int64_t clamped(int64_t value, int64_t maximum) { return value < 0 ? 0 : value > maximum ? maximum : value; }

// Writes a row of the picture of averaged pixels. Boxes at the right and at the bottom have fewer pixels.
static void write_row(const output *out, int64_t x, int64_t y, uint32_t width, uint8_t *to) {
  const int64_t top = y * out->box;
  const int64_t bottom = top + out->box < out->expected_height ? top + out->box : out->expected_height;
  for (uint32_t column = 0; column < width; column++) {
    const int64_t left = (x + column) * out->box;
    const int64_t right = left + out->box < out->expected_width ? left + out->box : out->expected_width;
    uint32_t sums[3] = {0, 0, 0};
    for (int64_t row = top; row < bottom; row++) {
      const uint8_t *const from =
          out->pixels + clamped(out->top + row, out->height - 1) * out->width * (int64_t)out->colors;
      for (int64_t i = left; i < right; i++) {
        const uint8_t *const pixel = from + clamped(out->left + i, out->width - 1) * (int64_t)out->colors;
        for (unsigned c = 0; c < 3; c++) sums[c] += pixel[out->colors == 3 ? c : 0];
      }
    }
    const uint32_t count = (uint32_t)((bottom - top) * (right - left));
    for (unsigned c = 0; c < 3; c++) *to++ = (uint8_t)((sums[c] + count / 2) / count);
  }
}

static void send_rows(decoder_job *job, const output *out, const parameters *wanted) {
  const decoder_request *const request = &job->request;
  const decoder_plane plane = request->planes[0];
  for (uint32_t first = 0; first < request->height; first += request->band_rows) {
    const uint32_t left = request->height - first;
    const uint32_t rows = left < request->band_rows ? left : request->band_rows;
    const unsigned slot = decoder_wait_for_slot(job);
    for (uint32_t row = 0; row < rows; row++) {
      uint8_t *const to = job->slots[slot] + plane.offset + (size_t)row * plane.stride;
      write_row(out, wanted->x, (int64_t)wanted->y + first + row, request->width, to);
    }
    job->is_slot_free[slot] = false;
    decoder_send(&(decoder_message){.kind = DECODER_ROWS, .slot = slot, .first_row = first, .row_count = rows});
  }
}

static bool is_valid(const decoder_request *request, const parameters *wanted) {
  const uint32_t step = wanted->step;
  if (step != 1 && step != 2 && step != 4 && step != 8) return false;
  const uint64_t columns = (request->coded_width + step - 1) / step, rows = (request->coded_height + step - 1) / step;
  return (uint64_t)wanted->x + request->width <= columns && (uint64_t)wanted->y + request->height <= rows &&
         request->format == DECODER_RGB && request->plane_count == 1 && request->planes[0].width == request->width;
}

static int develop(
    libraw_data_t *raw, uint64_t file_bytes, decoder_job *job, const parameters *wanted, const bool *is_damaged) {
  const decoder_request *const request = &job->request;
  // Before any memory is taken for it: a file may have several pictures, or state a size that it does not have.
  const bool is_expected =
      is_near(raw->sizes.width, request->coded_width) && is_near(raw->sizes.height, request->coded_height);
  // Sensors that are turned by 45 degrees, and pixels that are not square, have other sizes until they are developed.
  if (!is_expected && raw->sizes.pixel_aspect == 1 && !raw->rawdata.ioparams.fuji_width) return DECODER_REASON_MISMATCH;
  const uint64_t sensor_pixels = (uint64_t)raw->sizes.raw_width * raw->sizes.raw_height;
  if (sensor_pixels / MAX_PIXELS_PER_BYTE > file_bytes) return DECODER_REASON_MALFORMED;
  set_parameters(raw, wanted->step);
  // Only a mosaic is halved. LibRaw forgets the mosaic when it has developed it.
  const bool is_halved = wanted->step > 1 && raw->idata.filters;
  int error = libraw_unpack(raw);
  if (!error) error = libraw_dcraw_process(raw);
  int reason = reason_of(error, *is_damaged);
  if (reason) return reason;
  libraw_processed_image_t *const image = libraw_dcraw_make_mem_image(raw, &error);
  reason = reason_of(error, false);
  if (reason) return reason;
  if (!image) return DECODER_REASON_MEMORY;
  if (image->type != LIBRAW_IMAGE_BITMAP || image->bits != 8 || (image->colors != 1 && image->colors != 3))
    return DECODER_REASON_UNSUPPORTED;
  output out = {
      .pixels = image->data, .width = image->width, .height = image->height, .colors = image->colors};
  set_place(&out, raw, request, wanted->step, is_halved);
  if (out.width < 1 || out.height < 1 || !is_near(out.width, out.expected_width) ||
      !is_near(out.height, out.expected_height))
    return DECODER_REASON_MISMATCH;
  send_rows(job, &out, wanted);
  libraw_dcraw_clear_mem(image);
  return 0;
}

static int decode(decoder_job *job) {
  const decoder_request *const request = &job->request;
  parameters wanted;
  if (request->tile_count != 1 || request->parameter_bytes != sizeof wanted) return DECODER_REASON_UNSUPPORTED;
  memcpy(&wanted, job->parameters, sizeof wanted);
  if (!is_valid(request, &wanted)) return DECODER_REASON_UNSUPPORTED;
  const uint32_t first = job->tiles[0].first_extent, count = job->tiles[0].extent_count;
  const uint64_t bytes = decoder_extent_bytes(job, first, count);
  if (bytes == 0) return DECODER_REASON_MALFORMED;
  uint8_t *const input = bytes < SIZE_MAX ? malloc((size_t)bytes) : NULL;
  bool is_damaged = false;
  libraw_data_t *const raw = make_reader(&is_damaged);
  if (!input || !raw) return DECODER_REASON_MEMORY;
  int reason = decoder_read_extents(job, first, count, input);
  if (reason) return reason;
  reason = reason_of(libraw_open_buffer(raw, input, (size_t)bytes), is_damaged);
  if (!reason) reason = develop(raw, bytes, job, &wanted, &is_damaged);
  libraw_close(raw);
  free(input);
  return reason;
}

int main(void) {
  static const decoder_codec codec = {.name = "raw", .describe = describe, .warm_up = warm_up, .decode = decode};
  return decoder_main(&codec);
}
