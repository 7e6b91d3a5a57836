// Filters are undone a pixel at a time, because each pixel needs the one to its left: all samples of a pixel side by
// side in a vector. Written with clang's vector types, so that every processor gets its own.

#include <string.h>

#include "pixels.h"

#if defined(__x86_64__)
#define MULTIVERSIONED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MULTIVERSIONED
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t samples __attribute__((vector_size(16)));

enum { FILTER_NONE, FILTER_SUB, FILTER_UP, FILTER_AVERAGE, FILTER_PAETH };

ALWAYS_INLINE samples load(const uint8_t *from, int count) {
  bytes8 bytes = {0};
  memcpy(&bytes, from, count <= 4 ? 4 : 8);
  return __builtin_convertvector(bytes, samples);
}

// Modulo 256, as all of PNG's filters count.
ALWAYS_INLINE samples wrap(samples values) { return values & 255; }

ALWAYS_INLINE void store(uint8_t *to, samples values, int count) {
  const bytes8 bytes = __builtin_convertvector(values, bytes8);
  memcpy(to, &bytes, (size_t)count);
}

ALWAYS_INLINE samples choose(samples condition, samples yes, samples no) {
  return (yes & condition) | (no & ~condition);
}

// Which of left, above and upper left lies nearest to left + above - corner (§9.4), with ties in that order. With
// t = 3 corner - left - above the nearest is the larger of left and above where t <= both, the smaller where t >= both,
// and the corner in between; that leaves five steps from one pixel to the next where the definition takes nine.
ALWAYS_INLINE samples paeth(samples left, samples above, samples corner) {
  const samples t = (corner * 3 - above) - left;
  const samples low = __builtin_elementwise_min(left, above), high = __builtin_elementwise_max(left, above);
  return choose(t <= low, high, choose(t >= high, low, corner));
}

ALWAYS_INLINE void unfilter(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes, int count) {
  samples left = {0}, corner = {0};
  switch (filter) {
    case FILTER_SUB:
      for (size_t i = 0; i < row_bytes; i += (size_t)count) {
        left = wrap(load(row + i, count) + left);
        store(row + i, left, count);
      }
      break;
    case FILTER_UP:
      for (size_t i = 0; i < row_bytes; i++) row[i] = (uint8_t)(row[i] + previous[i]);
      break;
    case FILTER_AVERAGE:
      for (size_t i = 0; i < row_bytes; i += (size_t)count) {
        left = wrap(load(row + i, count) + ((left + load(previous + i, count)) >> 1));
        store(row + i, left, count);
      }
      break;
    case FILTER_PAETH:
      for (size_t i = 0; i < row_bytes; i += (size_t)count) {
        const samples above = load(previous + i, count);
        left = wrap(load(row + i, count) + paeth(left, above, corner));
        corner = above;
        store(row + i, left, count);
      }
      break;
    default: break;
  }
}

MULTIVERSIONED static void unfilter_1(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes) {
  unfilter(filter, row, previous, row_bytes, 1);
}
MULTIVERSIONED static void unfilter_2(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes) {
  unfilter(filter, row, previous, row_bytes, 2);
}
MULTIVERSIONED static void unfilter_3(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes) {
  unfilter(filter, row, previous, row_bytes, 3);
}
MULTIVERSIONED static void unfilter_4(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes) {
  unfilter(filter, row, previous, row_bytes, 4);
}
MULTIVERSIONED static void unfilter_6(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes) {
  unfilter(filter, row, previous, row_bytes, 6);
}
MULTIVERSIONED static void unfilter_8(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes) {
  unfilter(filter, row, previous, row_bytes, 8);
}

bool photod_png_unfilter(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes, int bytes_per_pixel) {
  if (filter < FILTER_NONE || filter > FILTER_PAETH) return false;
  switch (bytes_per_pixel) {
    case 1: unfilter_1(filter, row, previous, row_bytes); return true;
    case 2: unfilter_2(filter, row, previous, row_bytes); return true;
    case 3: unfilter_3(filter, row, previous, row_bytes); return true;
    case 4: unfilter_4(filter, row, previous, row_bytes); return true;
    case 6: unfilter_6(filter, row, previous, row_bytes); return true;
    case 8: unfilter_8(filter, row, previous, row_bytes); return true;
    default: return false;
  }
}
