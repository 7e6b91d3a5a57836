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

MULTIVERSIONED void photod_adjust_store_table_u8(const float *values, int channels, const uint8_t *table, int steps,
                                                 int by_root, uint8_t *out, size_t width) {
  enum { BLOCK = 64 };
  const float scale = (float)steps;
  for (size_t start = 0; start < width; start += BLOCK) {
    const size_t count = width - start < BLOCK ? width - start : BLOCK;
    int32_t entry[BLOCK];
    for (size_t i = 0; i < count; i++) {
      float value = clamped(values[start + i]);
      if (by_root) value = sqrtf(value);
      entry[i] = (int32_t)(value * scale + 0.5f);
    }
    for (size_t i = 0; i < count; i++) out[(start + i) * channels] = table[entry[i]];
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

typedef uint8_t eight_u8 __attribute__((vector_size(8)));
typedef float eight __attribute__((vector_size(32)));
typedef int32_t four_i32 __attribute__((vector_size(16)));

// Adds eight samples. By a pointer, because a returned vector of this size needs AVX.
ALWAYS_INLINE void add_eight(eight *sum, const uint8_t *at, float weight) {
  eight_u8 bytes;
  memcpy(&bytes, at, 8);
  *sum += weight * __builtin_convertvector(bytes, eight);
}

// The pixel between 4 x 4 others, from the first sample of each row: the rows first, then the columns. Reads 16 bytes a
// row.
ALWAYS_INLINE pixel spline(const uint8_t *const *rows, ptrdiff_t start, int channels, const float *across,
                           const float *down) {
  eight low = {0}, high = {0};
  for (int j = 0; j < 4; j++) {
    add_eight(&low, rows[j] + start, down[j]);
    add_eight(&high, rows[j] + start + 8, down[j]);
  }
  pixel w;
  memcpy(&w, across, sizeof w);
  if (channels == 4) {
    low *= __builtin_shufflevector(w, w, 0, 0, 0, 0, 1, 1, 1, 1);
    high *= __builtin_shufflevector(w, w, 2, 2, 2, 2, 3, 3, 3, 3);
    low += high;
    return __builtin_shufflevector(low, low, 0, 1, 2, 3) + __builtin_shufflevector(low, low, 4, 5, 6, 7);
  }
  low *= __builtin_shufflevector(w, w, 0, 0, 0, 1, 1, 1, 2, 2);
  high *= __builtin_shufflevector(w, w, 2, 3, 3, 3, 3, 3, 3, 3);
  // The fourth value of each is of another pixel, and ignored.
  return __builtin_shufflevector(low, high, 0, 1, 2, 3) + __builtin_shufflevector(low, high, 3, 4, 5, 6) +
         __builtin_shufflevector(low, high, 6, 7, 8, 9) + __builtin_shufflevector(low, high, 9, 10, 11, 12);
}

// The rows and the size of the picture that a warp reads; see photod_warp_u8.
typedef struct {
  const uint8_t *const *rows;
  int first, count, width, height;
} warped;

// Interpolates a pixel like spline, from samples that need not be in the picture.
ALWAYS_INLINE pixel spline_at_edge(const warped *picture, int left, int top, int channels, const float *across,
                                   const float *down) {
  int columns[4];
  for (int k = 0; k < 4; k++) columns[k] = limited(left - 1 + k, picture->width - 1) * channels;
  pixel sum = {0};
  for (int j = 0; j < 4; j++) {
    const int y = limited(top - 1 + j, picture->height - 1) - picture->first;
    const uint8_t *from = picture->rows[limited(y, picture->count - 1)];
    sum += down[j] * (across[0] * load(from + columns[0]) + across[1] * load(from + columns[1]) +
                      across[2] * load(from + columns[2]) + across[3] * load(from + columns[3]));
  }
  return sum;
}

// Interpolates a pixel of a picture with alpha: colours count as much as they are opaque, so transparent ones have no
// part in it.
ALWAYS_INLINE pixel spline_with_alpha(const warped *picture, int left, int top, int channels, const float *across,
                                      const float *down) {
  const int alpha = channels - 1;
  pixel sum = {0};
  float opacity = 0;
  for (int j = 0; j < 4; j++) {
    const int y = limited(top - 1 + j, picture->height - 1) - picture->first;
    const uint8_t *from = picture->rows[limited(y, picture->count - 1)];
    for (int k = 0; k < 4; k++) {
      const pixel at = load(from + limited(left - 1 + k, picture->width - 1) * channels);
      const float weight = down[j] * across[k] * at[alpha];
      sum += weight * at;
      opacity += weight;
    }
  }
  // Nothing that is opaque: colours are black there, as everywhere.
  if (opacity < 0.5f) return (pixel){0};
  sum /= opacity;
  sum[alpha] = opacity;
  return sum;
}

enum { WARP_BLOCK = 64 };

// Where pixels are read: the sample to the left and above, and the phases between it and the next one.
typedef struct {
  int left[WARP_BLOCK], top[WARP_BLOCK], across[WARP_BLOCK], down[WARP_BLOCK];
} warp_points;

// A loop of its own, so that it is vectorised, and the loads of the pixels do not wait for its long chain of operations.
ALWAYS_INLINE void find_points(const double *row, size_t x, size_t count, warp_points *points) {
  const double constant = 1 / row[5];
  const int is_affine = row[4] == 0;
  for (size_t i = 0; i < count; i++) {
    const double at = (double)(int)(x + i);
    const double scale = is_affine ? constant : 1 / (row[4] * at + row[5]);
    const double from_x = (row[0] * at + row[1]) * scale - 0.5, from_y = (row[2] * at + row[3]) * scale - 0.5;
    const double left = floor(from_x), top = floor(from_y);
    points->left[i] = (int)left;
    points->top[i] = (int)top;
    points->across[i] = (int)((from_x - left) * PHOTOD_WARP_PHASES);
    points->down[i] = (int)((from_y - top) * PHOTOD_WARP_PHASES);
  }
}

// `channels` is a constant where this is called, so that each number of channels has a loop of its own.
ALWAYS_INLINE void warp(const warped *picture, int channels, const double *row, const float *weights, uint8_t *out,
                        size_t out_width) {
  // Points whose 16 neighbours are in the picture and among the rows, with the two pixels more that are read.
  const int last_left = channels < 3 ? 0 : picture->width - 5;
  const int first_top = (picture->first > 0 ? picture->first : 0) + 1;
  const int end = picture->first + picture->count;
  const int last_top = (end < picture->height ? end : picture->height) - 3;
  warp_points points;
  for (size_t x = 0; x < out_width; x += WARP_BLOCK) {
    const size_t count = out_width - x < WARP_BLOCK ? out_width - x : WARP_BLOCK;
    find_points(row, x, count, &points);
    for (size_t i = 0; i < count; i++) {
      const int left = points.left[i], top = points.top[i];
      const float *across = weights + 4 * points.across[i], *down = weights + 4 * points.down[i];
      pixel sum;
      if (channels == 2 || channels == 4) {
        sum = spline_with_alpha(picture, left, top, channels, across, down);
      } else if (left > 0 && left <= last_left && top >= first_top && top <= last_top) {
        const ptrdiff_t start = (ptrdiff_t)(left - 1) * channels;
        sum = spline(picture->rows + (top - 1 - picture->first), start, channels, across, down);
      } else {
        sum = spline_at_edge(picture, left, top, channels, across, down);
      }
      sum = __builtin_elementwise_min(__builtin_elementwise_max(sum + 0.5f, (pixel){0}), (pixel){255, 255, 255, 255});
      const four_u8 bytes = __builtin_convertvector(__builtin_convertvector(sum, four_i32), four_u8);
      memcpy(out + (x + i) * (size_t)channels, &bytes, (size_t)channels);
    }
  }
}

MULTIVERSIONED void photod_warp_u8(const uint8_t *const *rows, int first, int count, int width, int height, int channels,
                                   const double *row, const float *weights, uint8_t *out, size_t out_width) {
  const warped picture = {rows, first, count, width, height};
  switch (channels) {
    case 1: warp(&picture, 1, row, weights, out, out_width); break;
    case 2: warp(&picture, 2, row, weights, out, out_width); break;
    case 3: warp(&picture, 3, row, weights, out, out_width); break;
    default: warp(&picture, 4, row, weights, out, out_width);
  }
}
