// Shared by the versions of the integer kernels. plain.c defines what each kernel computes; x86.c has faster versions
// that give the same bits; integer.c chooses one. Not for Swift.
#ifndef PHOTOD_INTEGER_H
#define PHOTOD_INTEGER_H

#include "kernels.h"

extern const photod_integer_kernels photod_plain_kernels;
#if defined(__x86_64__)
extern const photod_integer_kernels photod_sse2_kernels, photod_avx2_kernels;
#endif

// Q14 * 8 bit -> Q6 drops 8 bits; Q14 * Q6 -> 8 bit drops 20. Both round to nearest.
enum {
  VERTICAL_SHIFT = 8,
  VERTICAL_HALF = 1 << (VERTICAL_SHIFT - 1),
  HORIZONTAL_SHIFT = 20,
  HORIZONTAL_HALF = 1 << (HORIZONTAL_SHIFT - 1),
  ROWS = PHOTOD_BAND_ROWS
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first value of a pair lies in its first bytes");

static inline uint8_t clamp_u8(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v; }

// Two neighbouring values, the first in the low half.
static inline int32_t pair(const int16_t *values) {
  return (int32_t)((uint32_t)(uint16_t)values[0] | (uint32_t)(uint16_t)values[1] << 16);
}

// The plain vertical pass for samples from...count - 1.
void photod_plain_vertical_from(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                                size_t from, size_t count);

// Sums one output sample of each row of a band.
typedef void column(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out);

// Writes the 16 columns of 16 bytes in a tile as parts of row_count rows, from sample x.
typedef void transposition(const uint8_t *tile, uint8_t *const *out, int row_count, size_t x);

// photod_band_horizontal_u8, of functions that are inlined. Each lane of a vector belongs to a different row, so no sums
// across a vector are needed: one multiplication handles two taps of each row.
ALWAYS_INLINE void band_horizontal(column *sum, transposition *transpose, const int32_t *band, const int32_t *starts,
                                   const int32_t *coefficients, int pairs, uint8_t *const *out, int row_count,
                                   size_t width) {
  uint8_t tile[ROWS * ROWS];
  for (size_t x = 0; x < width; x += ROWS) {
    const size_t count = width - x < ROWS ? width - x : ROWS;
    for (size_t i = 0; i < count; i++)
      sum(band + (size_t)starts[x + i] * ROWS, coefficients + (x + i) * (size_t)pairs, pairs, tile + i * ROWS);
    if (count == ROWS) {
      transpose(tile, out, row_count, x);
    } else {
      for (int r = 0; r < row_count; r++)
        for (size_t i = 0; i < count; i++) out[r][x + i] = tile[i * ROWS + (size_t)r];
    }
  }
}

#endif
