// The inner loops of adjustments: planes of floats, one row of one channel at a time, and the warp. Plain loops in the
// shape that clang vectorises, as in float.c.

#include <math.h>
#include <string.h>

#include "kernels.h"

ALWAYS_INLINE float clamped(float value) { return fminf(fmaxf(value, 0), 1); }

MULTIVERSIONED void photod_adjust_load_u8(const uint8_t *samples, int channels, const float *table, float *out,
                                          size_t width) {
  for (size_t x = 0; x < width; x++) out[x] = table[samples[x * channels]];
}

MULTIVERSIONED void photod_adjust_store_u8(const float *values, int channels, uint8_t *out, size_t width) {
  for (size_t x = 0; x < width; x++) out[x * channels] = (uint8_t)(clamped(values[x]) * 255 + 0.5f);
}

MULTIVERSIONED void photod_adjust_table(float *values, const float *table, int steps, int by_root, size_t width) {
  const float scale = (float)steps;
  for (size_t x = 0; x < width; x++) {
    float value = clamped(values[x]);
    if (by_root) value = sqrtf(value);
    value *= scale;
    const int i = (int)value;
    const float from = table[i];
    values[x] = from + (table[i + 1] - from) * (value - (float)i);
  }
}

MULTIVERSIONED void photod_adjust_matrix(float *red, float *green, float *blue, const float *m, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const float r = red[x], g = green[x], b = blue[x];
    red[x] = clamped(m[0] * r + m[1] * g + m[2] * b);
    green[x] = clamped(m[3] * r + m[4] * g + m[5] * b);
    blue[x] = clamped(m[6] * r + m[7] * g + m[8] * b);
  }
}

MULTIVERSIONED void photod_adjust_vibrance(float *red, float *green, float *blue, float amount, const float *luminance,
                                           size_t width) {
  for (size_t x = 0; x < width; x++) {
    const float r = red[x], g = green[x], b = blue[x];
    const float high = fmaxf(fmaxf(r, g), b), low = fminf(fminf(r, g), b);
    // 1 for gray, 0 for a pure colour.
    const float paleness = low / fmaxf(high, 1e-6f);
    const float factor = 1 + amount * paleness;
    const float y = luminance[0] * r + luminance[1] * g + luminance[2] * b;
    red[x] = clamped(y + factor * (r - y));
    green[x] = clamped(y + factor * (g - y));
    blue[x] = clamped(y + factor * (b - y));
  }
}

MULTIVERSIONED void photod_adjust_vignette(float *const *planes, int count, const float *row, const float *table,
                                           int steps, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const float at = (float)x;
    const float divisor = row[4] * at + row[5];
    const float u = (row[0] * at + row[1]) / divisor, v = (row[2] * at + row[3]) / divisor;
    // The square of the distance from the centre: 1 in a corner.
    const float distance = fminf(2 * ((u - 0.5f) * (u - 0.5f) + (v - 0.5f) * (v - 0.5f)), 1);
    const float gain = table[(int)(distance * (float)steps + 0.5f)];
    for (int plane = 0; plane < count; plane++) planes[plane][x] = clamped(planes[plane][x] * gain);
  }
}

MULTIVERSIONED void photod_adjust_luma(const float *red, const float *green, const float *blue, const float *weights,
                                       float *out, size_t width) {
  for (size_t x = 0; x < width; x++) out[x] = weights[0] * red[x] + weights[1] * green[x] + weights[2] * blue[x];
}

MULTIVERSIONED void photod_adjust_sharpen(float *values, const float *luma, const float *blurred, float amount,
                                          size_t width) {
  for (size_t x = 0; x < width; x++) values[x] = clamped(values[x] + amount * (luma[x] - blurred[x]));
}

MULTIVERSIONED void photod_adjust_bilateral(const float *const *taps, const float *weights, int tap_count, int planes,
                                            float inverse_square, float *const *out, size_t width) {
  enum { BLOCK = 16 };
  const int middle = tap_count / 2;
  for (size_t start = 0; start < width; start += BLOCK) {
    const size_t count = width - start < BLOCK ? width - start : BLOCK;
    float sum[BLOCK] = {0}, total[3][BLOCK] = {{0}};
    for (int tap = 0; tap < tap_count; tap++) {
      float weight[BLOCK];
      for (size_t i = 0; i < count; i++) {
        float square = 0;
        for (int plane = 0; plane < planes; plane++) {
          const float difference =
              taps[plane * tap_count + tap][start + i] - taps[plane * tap_count + middle][start + i];
          square += difference * difference;
        }
        const float inside = fmaxf(1 - square * inverse_square, 0);
        weight[i] = weights[tap] * inside * inside;
        sum[i] += weight[i];
      }
      for (int plane = 0; plane < planes; plane++) {
        const float *values = taps[plane * tap_count + tap] + start;
        for (size_t i = 0; i < count; i++) total[plane][i] += weight[i] * values[i];
      }
    }
    // The middle tap has weight 1, so no sum is zero.
    for (int plane = 0; plane < planes; plane++) {
      for (size_t i = 0; i < count; i++) out[plane][start + i] = total[plane][i] / sum[i];
    }
  }
}

ALWAYS_INLINE int limited(int value, int high) { return value < 0 ? 0 : value > high ? high : value; }

ALWAYS_INLINE pixel load(const uint8_t *at) {
  four_u8 bytes;
  memcpy(&bytes, at, 4);
  return __builtin_convertvector(bytes, pixel);
}

MULTIVERSIONED void photod_warp_u8(const uint8_t *const *rows, int first, int count, int width, int height, int channels,
                                   const double *row, const float *weights, uint8_t *out, size_t out_width) {
  for (size_t x = 0; x < out_width; x++) {
    const double divisor = row[4] * (double)x + row[5];
    const double from_x = (row[0] * (double)x + row[1]) / divisor - 0.5;
    const double from_y = (row[2] * (double)x + row[3]) / divisor - 0.5;
    const int left = (int)floor(from_x), top = (int)floor(from_y);
    const float *across = weights + 4 * (int)((from_x - left) * PHOTOD_WARP_PHASES);
    const float *down = weights + 4 * (int)((from_y - top) * PHOTOD_WARP_PHASES);
    const int columns[4] = {
        limited(left - 1, width - 1) * channels, limited(left, width - 1) * channels,
        limited(left + 1, width - 1) * channels, limited(left + 2, width - 1) * channels};
    pixel sum = {0.5f, 0.5f, 0.5f, 0.5f};
    for (int j = 0; j < 4; j++) {
      const uint8_t *from = rows[limited(limited(top - 1 + j, height - 1) - first, count - 1)];
      sum += down[j] * (across[0] * load(from + columns[0]) + across[1] * load(from + columns[1]) +
                        across[2] * load(from + columns[2]) + across[3] * load(from + columns[3]));
    }
    for (int c = 0; c < channels; c++) out[x * channels + c] = (uint8_t)fminf(fmaxf(sum[c], 0), 255);
  }
}
