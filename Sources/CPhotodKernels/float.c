// The float family. Plain loops in the shape that clang vectorises; on x86-64 it also makes an AVX2 + FMA version and
// picks one when the program is loaded.

#include "CPhotodKernels.h"

#if defined(__x86_64__)
#define MULTIVERSIONED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MULTIVERSIONED
#endif

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

MULTIVERSIONED void photod_horizontal_f32x4(const float *row, const int32_t *starts, const float *coefficients,
                                            int taps, float *out, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const float *from = row + (size_t)starts[x] * 4, *c = coefficients + x * (size_t)taps;
    float even[4] = {0}, odd[4] = {0};
    int k = 0;
    for (; k + 2 <= taps; k += 2, from += 8)
      for (int j = 0; j < 4; j++) {
        even[j] += c[k] * from[j];
        odd[j] += c[k + 1] * from[4 + j];
      }
    if (k < taps)
      for (int j = 0; j < 4; j++) even[j] += c[k] * from[j];
    for (int j = 0; j < 4; j++) out[x * 4 + j] = even[j] + odd[j];
  }
}
