// Inflates the compressed parts of a PNG other than its pixels.

#include <zlib.h>

#include "shared.h"

photod_png_status photod_inflate(const uint8_t *from, size_t length, size_t limit, uint8_t **bytes,
                                 size_t *inflated) {
  z_stream stream = {.next_in = (Bytef *)from, .avail_in = (uInt)length};
  *bytes = NULL;
  *inflated = 0;
  if (inflateInit(&stream) != Z_OK) return PHOTOD_PNG_NO_MEMORY;
  size_t capacity = 0;
  photod_png_status status = PHOTOD_PNG_OK;
  for (;;) {
    if (*inflated == capacity) {
      // One byte more than the limit is enough to notice that the limit is exceeded.
      if (capacity > limit) {
        status = PHOTOD_PNG_TOO_LARGE;
        break;
      }
      size_t wanted = capacity ? capacity * 4 : 4096;
      if (wanted > limit) wanted = limit + 1;
      uint8_t *grown = realloc(*bytes, wanted);
      if (!grown) {
        status = PHOTOD_PNG_NO_MEMORY;
        break;
      }
      *bytes = grown;
      capacity = wanted;
    }
    stream.next_out = *bytes + *inflated;
    stream.avail_out = (uInt)(capacity - *inflated);
    int result = inflate(&stream, Z_NO_FLUSH);
    *inflated = capacity - stream.avail_out;
    if (result == Z_STREAM_END) {
      if (*inflated > limit) status = PHOTOD_PNG_TOO_LARGE;
      break;
    }
    if (result != Z_OK) {
      status = result == Z_MEM_ERROR ? PHOTOD_PNG_NO_MEMORY : PHOTOD_PNG_FAILED;
      break;
    }
  }
  inflateEnd(&stream);
  return status;
}

void photod_inflate_free(uint8_t *bytes) { free(bytes); }
