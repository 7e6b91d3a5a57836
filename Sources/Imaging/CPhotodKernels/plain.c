// The integer kernels in plain C: the definition of each, compiled for every processor. The other versions give the same
// bits, as KernelTests checks. Where there are none this one runs, so its loops have the shape that clang vectorises.

#include <string.h>

#include "integer.h"

static inline int16_t clamp_i16(int32_t v) { return v < -32768 ? -32768 : v > 32767 ? 32767 : (int16_t)v; }

void photod_plain_vertical_from(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                                size_t from, size_t count) {
  for (size_t i = from; i < count; i++) {
    int32_t sum = VERTICAL_HALF;
    for (int k = 0; k < taps; k++) sum += coefficients[k] * rows[k][i];
    out[i] = clamp_i16(sum >> VERTICAL_SHIFT);
  }
}

static void vertical(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out, size_t count) {
  photod_plain_vertical_from(rows, coefficients, taps, out, 0, count);
}

static void horizontal(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps, int channels,
                       uint8_t *out, size_t width) {
  for (size_t x = 0; x < width; x++)
    for (int channel = 0; channel < channels; channel++) {
      const int16_t *from = row + (size_t)starts[x] * (size_t)channels + channel;
      int32_t sum = HORIZONTAL_HALF;
      for (int k = 0; k < taps; k++) sum += coefficients[x * (size_t)taps + (size_t)k] * from[k * channels];
      *out++ = clamp_u8(sum >> HORIZONTAL_SHIFT);
    }
}

static void band(const int16_t *rows, size_t stride, size_t pairs, int32_t *band) {
  for (size_t p = 0; p < pairs; p++)
    for (size_t r = 0; r < ROWS; r++) band[p * ROWS + r] = pair(rows + r * stride + p * 2);
}

ALWAYS_INLINE void column_plain(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out) {
  int32_t sum[ROWS];
  for (int r = 0; r < ROWS; r++) sum[r] = HORIZONTAL_HALF;
  for (int p = 0; p < pairs; p++) {
    // Copied as they lie in memory: the low half of a pair is its first value.
    int16_t samples[2 * ROWS], c[2];
    memcpy(samples, band + (size_t)p * ROWS, sizeof samples);
    memcpy(c, coefficients + p, sizeof c);
    for (int r = 0; r < ROWS; r++) sum[r] += samples[2 * r] * c[0] + samples[2 * r + 1] * c[1];
  }
  for (int r = 0; r < ROWS; r++) out[r] = clamp_u8(sum[r] >> HORIZONTAL_SHIFT);
}

ALWAYS_INLINE void transpose(const uint8_t *tile, uint8_t *const *out, int row_count, size_t x) {
  for (int r = 0; r < row_count; r++)
    for (int i = 0; i < ROWS; i++) out[r][x + (size_t)i] = tile[i * ROWS + r];
}

static void horizontal_of_band(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                               uint8_t *const *out, int row_count, size_t width) {
  band_horizontal(column_plain, transpose, band, starts, coefficients, pairs, out, row_count, width);
}

const photod_integer_kernels photod_plain_kernels = {"plain", vertical, horizontal, band, horizontal_of_band};
