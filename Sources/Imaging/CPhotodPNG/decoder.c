// Decoding: header, then every row. CPhotodPNG.h describes the rules for callbacks and longjmp.

#include "pixels.h"
#include "shared.h"

#define INPUT_CAPACITY (64 * 1024)
// A chunk's length and type. Kept before the input, so that those of the first IDAT are there wherever a fill ended.
#define CHUNK_HEAD 8

struct photod_png_decoder {
  png_structp png;
  png_infop info;
  photod_png_errors errors;
  photod_png_source source;
  photod_png_header header;
  bool have_header;
  bool ended;
  bool read_failed;
  // The whole picture, for interlaced files only: row y at y * row_bytes.
  uint8_t *image;
  // For plain files, whose pixels libpng does not decode.
  photod_png_pixels *pixels;
  bool is_plain;
  // Input that libpng got but did not process, because it was paused after the header: input[unread_start, unread_end).
  size_t unread_start, unread_end;
  uint8_t input[CHUNK_HEAD + INPUT_CAPACITY];
};

// Leaves libpng by its own error path with a status of ours. No Swift frame is on the stack here.
static void leave(photod_png_decoder *decoder, photod_png_status status) {
  decoder->errors.status = status;
  png_longjmp(decoder->png, 1);
}

static void on_header(png_structp png, png_infop info) {
  photod_png_decoder *decoder = png_get_progressive_ptr(png);
  int depth = png_get_bit_depth(png, info);
  decoder->is_plain = depth >= 8 && png_get_color_type(png, info) != PNG_COLOR_TYPE_PALETTE &&
                      !png_get_valid(png, info, PNG_INFO_tRNS) &&
                      png_get_interlace_type(png, info) == PNG_INTERLACE_NONE;
  png_set_expand(png);
  if (depth == 16) {
    const uint16_t one = 1;
    if (*(const uint8_t *)&one == 1) png_set_swap(png);
  }
  decoder->header.interlaced = png_set_interlace_handling(png) > 1;
  png_read_update_info(png, info);
  decoder->header.width = png_get_image_width(png, info);
  decoder->header.height = png_get_image_height(png, info);
  decoder->header.channels = png_get_channels(png, info);
  decoder->header.bits_per_channel = png_get_bit_depth(png, info);
  decoder->header.row_bytes = png_get_rowbytes(png, info);
  decoder->have_header = true;
  // Stop before the pixels: the caller of photod_png_read_header decides what comes next.
  size_t left = png_process_data_pause(png, 0);
  decoder->unread_start = decoder->unread_end - left;
}

static void on_row(png_structp png, png_bytep row, png_uint_32 y, int pass) {
  (void)pass;
  photod_png_decoder *decoder = png_get_progressive_ptr(png);
  if (decoder->source.should_stop(decoder->source.context)) leave(decoder, PHOTOD_PNG_STOPPED);
  if (decoder->image) {
    if (row) png_progressive_combine_row(png, decoder->image + (size_t)y * decoder->header.row_bytes, row);
    return;
  }
  if (!row) return;
  if (decoder->source.row(decoder->source.context, y, row)) {
    decoder->ended = true;
    leave(decoder, PHOTOD_PNG_OK);
  }
}

static void on_end(png_structp png, png_infop info) {
  (void)info;
  photod_png_decoder *decoder = png_get_progressive_ptr(png);
  decoder->ended = true;
}

photod_png_decoder *photod_png_decoder_create(photod_png_source source, size_t maximum_chunk_bytes) {
  photod_png_decoder *decoder = calloc(1, sizeof *decoder);
  if (!decoder) return NULL;
  decoder->source = source;
  decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder->errors, photod_png_on_error,
                                        photod_png_on_warning);
  if (decoder->png) decoder->info = png_create_info_struct(decoder->png);
  if (!decoder->info || setjmp(png_jmpbuf(decoder->png))) {
    photod_png_decoder_destroy(decoder);
    return NULL;
  }
  png_set_user_limits(decoder->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(decoder->png, maximum_chunk_bytes);
  png_set_chunk_cache_max(decoder->png, 128);
  png_set_benign_errors(decoder->png, 1);
  // Chunks that do not affect the pixels are neither inflated nor kept: text, and the colour chunks, which the header
  // reader evaluates, because libpng's order of precedence differs from the standard's.
  static const png_byte unread[] =
      "cHRM\0gAMA\0iCCP\0sRGB\0cICP\0tEXt\0zTXt\0iTXt\0eXIf\0sPLT\0hIST\0tIME\0pCAL\0sCAL\0oFFs\0pHYs";
  png_set_keep_unknown_chunks(decoder->png, PNG_HANDLE_CHUNK_NEVER, unread, sizeof unread / 5);
  png_set_progressive_read_fn(decoder->png, decoder, on_header, on_row, on_end);
  return decoder;
}

void photod_png_decoder_destroy(photod_png_decoder *decoder) {
  if (!decoder) return;
  if (decoder->png) png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
  photod_png_pixels_destroy(decoder->pixels);
  free(decoder->image);
  free(decoder);
}

// Makes sure that there are unread bytes.
static photod_png_status refill(photod_png_decoder *decoder) {
  if (decoder->unread_start < decoder->unread_end) return PHOTOD_PNG_OK;
  if (decoder->unread_end > 0) memmove(decoder->input, decoder->input + decoder->unread_end - CHUNK_HEAD, CHUNK_HEAD);
  decoder->unread_start = decoder->unread_end = CHUNK_HEAD;
  long count = decoder->source.fill(decoder->source.context, decoder->input + CHUNK_HEAD, INPUT_CAPACITY);
  if (count < -1) {
    decoder->read_failed = true;
    strcpy(decoder->errors.message, "the source could not be read");
    return PHOTOD_PNG_FAILED;
  }
  if (count <= 0) {
    strcpy(decoder->errors.message, "the file ended before its picture did");
    return PHOTOD_PNG_TRUNCATED;
  }
  decoder->unread_end += (size_t)count;
  return PHOTOD_PNG_OK;
}

// Feeds libpng until `*done` or the end of the file.
static photod_png_status feed(photod_png_decoder *decoder, const bool *done) {
  while (!*done) {
    photod_png_status status = refill(decoder);
    if (status != PHOTOD_PNG_OK) return status;
    size_t start = decoder->unread_start;
    decoder->unread_start = decoder->unread_end;
    png_process_data(decoder->png, decoder->info, decoder->input + start, decoder->unread_end - start);
  }
  return PHOTOD_PNG_OK;
}

// libpng has paused at the data of the first IDAT, and is not used from here on.
static photod_png_status decode_plain(photod_png_decoder *decoder) {
  const photod_png_header *header = &decoder->header;
  if (!decoder->pixels) {
    const uint8_t *head = decoder->input + decoder->unread_start - CHUNK_HEAD;
    const uint32_t length = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
    decoder->pixels = photod_png_pixels_create(header->height, header->row_bytes,
                                               header->channels * header->bits_per_channel / 8,
                                               header->bits_per_channel == 16, length);
    if (!decoder->pixels) return PHOTOD_PNG_NO_MEMORY;
  }
  for (;;) {
    photod_png_status status = refill(decoder);
    if (status == PHOTOD_PNG_TRUNCATED && photod_png_pixels_are_complete(decoder->pixels)) return PHOTOD_PNG_OK;
    if (status != PHOTOD_PNG_OK) return status;
    const char *message = "";
    status = photod_png_pixels_take(decoder->pixels, decoder->input + decoder->unread_start,
                                    decoder->unread_end - decoder->unread_start, &decoder->source, &message);
    decoder->unread_start = decoder->unread_end;
    if (status == PHOTOD_PNG_FAILED) strcpy(decoder->errors.message, message);
    if (status != PHOTOD_PNG_NEEDS_INPUT) return status;
  }
}

photod_png_status photod_png_read_header(photod_png_decoder *decoder, photod_png_header *header) {
  if (setjmp(png_jmpbuf(decoder->png))) return decoder->errors.status;
  photod_png_status status = feed(decoder, &decoder->have_header);
  *header = decoder->header;
  return status;
}

photod_png_status photod_png_decode(photod_png_decoder *decoder) {
  if (decoder->is_plain) return decode_plain(decoder);
  if (setjmp(png_jmpbuf(decoder->png))) return decoder->errors.status;
  if (decoder->header.interlaced && !decoder->image) {
    decoder->image = calloc(decoder->header.height, decoder->header.row_bytes);
    if (!decoder->image) return PHOTOD_PNG_NO_MEMORY;
  }
  photod_png_status status = feed(decoder, &decoder->ended);
  if (status != PHOTOD_PNG_OK || !decoder->image) return status;
  for (uint32_t y = 0; y < decoder->header.height; y++) {
    if (decoder->source.should_stop(decoder->source.context)) return PHOTOD_PNG_STOPPED;
    if (decoder->source.row(decoder->source.context, y, decoder->image + (size_t)y * decoder->header.row_bytes)) break;
  }
  return PHOTOD_PNG_OK;
}

void photod_png_decoder_report(const photod_png_decoder *decoder, photod_png_report *report) {
  memset(report, 0, sizeof *report);
  report->warnings = decoder->errors.warnings;
  report->read_failed = decoder->read_failed;
  memcpy(report->message, decoder->errors.message, sizeof report->message);
}
