// Chooses a version of the integer kernels for the processor. All versions give the same bits.

#include "integer.h"

// From the definition to the fastest.
static const photod_integer_kernels *const versions[] = {
    &photod_plain_kernels,
#if defined(__x86_64__)
    &photod_sse2_kernels,
    &photod_avx2_kernels,
#endif
};

int photod_integer_version_count(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") ? 3 : 2;
#else
  return 1;
#endif
}

const photod_integer_kernels *photod_integer_version(int index) { return versions[index]; }

ALWAYS_INLINE const photod_integer_kernels *fastest(void) { return versions[photod_integer_version_count() - 1]; }

void photod_vertical_u8(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                        size_t count) {
  fastest()->vertical_u8(rows, coefficients, taps, out, count);
}

void photod_horizontal_u8(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                          int channels, uint8_t *out, size_t width) {
  fastest()->horizontal_u8(row, starts, coefficients, taps, channels, out, width);
}

void photod_band_u8(const int16_t *rows, size_t stride, size_t pairs, int32_t *band) {
  fastest()->band_u8(rows, stride, pairs, band);
}

void photod_band_horizontal_u8(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                               uint8_t *const *out, int row_count, size_t width) {
  fastest()->band_horizontal_u8(band, starts, coefficients, pairs, out, row_count, width);
}
