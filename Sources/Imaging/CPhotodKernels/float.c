// The float family. Plain loops in the shape that clang vectorises; on x86-64 it also makes an AVX2 + FMA version and
// picks one when the program is loaded.

#include <string.h>

#include "kernels.h"

// A pixel by its value and its alpha, both 0...255.
ALWAYS_INLINE pixel premultiplied(pixel value, float alpha) {
  value *= alpha * (1.0f / 255);
  value[3] = alpha;
  return value;
}

ALWAYS_INLINE pixel spread(const float *samples, int channels) {
  return channels < 3 ? (pixel){samples[0], samples[0], samples[0], 0} : (pixel){samples[0], samples[1], samples[2], 0};
}

MULTIVERSIONED void photod_premultiply_u8(const uint8_t *samples, int channels, float *out, size_t width) {
  for (size_t x = 0; x < width; x++, samples += channels) {
    pixel value;
    if (channels >= 3) {
      four_u8 bytes;
      memcpy(&bytes, samples, 4);
      value = __builtin_convertvector(bytes, pixel);
    } else {
      const float gray = samples[0];
      value = (pixel){gray, gray, gray, 0};
    }
    value = premultiplied(value, channels == 4 ? value[3] : channels == 2 ? samples[1] : 255);
    memcpy(out + x * 4, &value, sizeof value);
  }
}

MULTIVERSIONED void photod_premultiply_u16(const uint16_t *samples, int channels, float *out, size_t width) {
  for (size_t x = 0; x < width; x++, samples += channels) {
    float scaled[4];
    for (int c = 0; c < channels; c++) scaled[c] = samples[c] * (1.0f / 257);
    const pixel value = premultiplied(spread(scaled, channels), channels % 2 == 0 ? scaled[channels - 1] : 255);
    memcpy(out + x * 4, &value, sizeof value);
  }
}

MULTIVERSIONED void photod_vertical_f32(const float *const *rows, const float *coefficients, int taps, float *out,
                                        size_t count) {
  enum { BLOCK = 32 };
  size_t i = 0;
  for (; i + BLOCK <= count; i += BLOCK) {
    float sum[BLOCK] = {0};
    for (int k = 0; k < taps; k++) {
      const float c = coefficients[k], *row = rows[k] + i;
      for (int j = 0; j < BLOCK; j++) sum[j] += c * row[j];
    }
    for (int j = 0; j < BLOCK; j++) out[i + j] = sum[j];
  }
  for (; i < count; i++) {
    float sum = 0;
    for (int k = 0; k < taps; k++) sum += coefficients[k] * rows[k][i];
    out[i] = sum;
  }
}

// Two neighbouring pixels in each step; their sums are added at the end.
typedef float two_pixels __attribute__((vector_size(32)));

MULTIVERSIONED void photod_horizontal_f32x4(const float *row, const int32_t *starts, const float *coefficients,
                                            int taps, float *out, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const float *from = row + (size_t)starts[x] * 4, *c = coefficients + x * (size_t)taps;
    two_pixels first = {0}, second = {0}, pixels;
    int k = 0;
    for (; k + 4 <= taps; k += 4, from += 16) {
      memcpy(&pixels, from, sizeof pixels);
      first += pixels * (two_pixels){c[k], c[k], c[k], c[k], c[k + 1], c[k + 1], c[k + 1], c[k + 1]};
      memcpy(&pixels, from + 8, sizeof pixels);
      second += pixels * (two_pixels){c[k + 2], c[k + 2], c[k + 2], c[k + 2], c[k + 3], c[k + 3], c[k + 3], c[k + 3]};
    }
    first += second;
    pixel sum = __builtin_shufflevector(first, first, 0, 1, 2, 3) + __builtin_shufflevector(first, first, 4, 5, 6, 7);
    for (; k < taps; k++, from += 4) {
      pixel one;
      memcpy(&one, from, sizeof one);
      sum += one * c[k];
    }
    memcpy(out + x * 4, &sum, sizeof sum);
  }
}
