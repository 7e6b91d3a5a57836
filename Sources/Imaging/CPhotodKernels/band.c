// The horizontal pass for planes, sixteen rows at a time. Each lane of a vector belongs to a different row, so no sums
// across a vector are needed: one multiplication handles two taps of sixteen rows.

#include <string.h>

#include "kernels.h"

enum { ROWS = PHOTOD_BAND_ROWS, SHIFT = 20, HALF = 1 << (SHIFT - 1) };

// Sums one output sample of every row: coefficients[p] holds two taps, the first in its low half.
typedef void column(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out);

#if defined(__x86_64__)
#include <immintrin.h>

// Samples stay in pairs: four rows of four pairs become four pairs of four rows.
void photod_band_u8(const int16_t *rows, size_t stride, size_t pairs, int32_t *band) {
  for (size_t p = 0; p < pairs; p += 4)
    for (size_t r = 0; r < ROWS; r += 4) {
      const int16_t *from = rows + r * stride + p * 2;
      const __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + stride));
      const __m128i c = _mm_loadu_si128((const __m128i *)(from + 2 * stride));
      const __m128i d = _mm_loadu_si128((const __m128i *)(from + 3 * stride));
      const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
      const __m128i AB = _mm_unpackhi_epi32(a, b), CD = _mm_unpackhi_epi32(c, d);
      int32_t *to = band + p * ROWS + r;
      _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi64(ab, cd));
      _mm_storeu_si128((__m128i *)(to + ROWS), _mm_unpackhi_epi64(ab, cd));
      _mm_storeu_si128((__m128i *)(to + 2 * ROWS), _mm_unpacklo_epi64(AB, CD));
      _mm_storeu_si128((__m128i *)(to + 3 * ROWS), _mm_unpackhi_epi64(AB, CD));
    }
}

ALWAYS_INLINE void column_sse2(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out) {
  __m128i s0 = _mm_set1_epi32(HALF), s1 = s0, s2 = s0, s3 = s0;
  for (int p = 0; p < pairs; p++, band += ROWS) {
    const __m128i c = _mm_set1_epi32(coefficients[p]), *rows = (const __m128i *)band;
    s0 = _mm_add_epi32(s0, _mm_madd_epi16(_mm_loadu_si128(rows), c));
    s1 = _mm_add_epi32(s1, _mm_madd_epi16(_mm_loadu_si128(rows + 1), c));
    s2 = _mm_add_epi32(s2, _mm_madd_epi16(_mm_loadu_si128(rows + 2), c));
    s3 = _mm_add_epi32(s3, _mm_madd_epi16(_mm_loadu_si128(rows + 3), c));
  }
  const __m128i low = _mm_packs_epi32(_mm_srai_epi32(s0, SHIFT), _mm_srai_epi32(s1, SHIFT));
  const __m128i high = _mm_packs_epi32(_mm_srai_epi32(s2, SHIFT), _mm_srai_epi32(s3, SHIFT));
  _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(low, high));
}

#define AVX2 __attribute__((target("avx2")))

AVX2 ALWAYS_INLINE void column_avx2(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out) {
  __m256i s0 = _mm256_set1_epi32(HALF), s1 = s0;
  for (int p = 0; p < pairs; p++, band += ROWS) {
    const __m256i c = _mm256_set1_epi32(coefficients[p]), *rows = (const __m256i *)band;
    s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_loadu_si256(rows), c));
    s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_loadu_si256(rows + 1), c));
  }
  // Packing works within 128-bit lanes; the permutation puts rows 0...7 and 8...15 together again.
  const __m256i packed = _mm256_packs_epi32(_mm256_srai_epi32(s0, SHIFT), _mm256_srai_epi32(s1, SHIFT));
  const __m256i sorted = _mm256_permute4x64_epi64(packed, 0xD8);
  _mm_storeu_si128((__m128i *)out,
                   _mm_packus_epi16(_mm256_castsi256_si128(sorted), _mm256_extracti128_si256(sorted, 1)));
}

// 16 columns of 16 bytes to 16 rows: each round interleaves the first half with the second, and four rounds transpose.
ALWAYS_INLINE void transpose(const uint8_t *tile, uint8_t *const *out, int row_count, size_t x) {
  __m128i now[ROWS], next[ROWS];
  for (int i = 0; i < ROWS; i++) now[i] = _mm_loadu_si128((const __m128i *)(tile + i * ROWS));
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < ROWS / 2; i++) {
      next[2 * i] = _mm_unpacklo_epi8(now[i], now[i + ROWS / 2]);
      next[2 * i + 1] = _mm_unpackhi_epi8(now[i], now[i + ROWS / 2]);
    }
    memcpy(now, next, sizeof now);
  }
  for (int r = 0; r < row_count; r++) _mm_storeu_si128((__m128i *)(out[r] + x), now[r]);
}

#else

void photod_band_u8(const int16_t *rows, size_t stride, size_t pairs, int32_t *band) {
  for (size_t p = 0; p < pairs; p++)
    for (size_t r = 0; r < ROWS; r++) memcpy(band + p * ROWS + r, rows + r * stride + p * 2, 4);
}

ALWAYS_INLINE void column_plain(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out) {
  const int16_t *samples = (const int16_t *)band, *c = (const int16_t *)coefficients;
  int32_t sum[ROWS];
  for (int r = 0; r < ROWS; r++) sum[r] = HALF;
  for (int p = 0; p < pairs; p++, samples += 2 * ROWS)
    for (int r = 0; r < ROWS; r++) sum[r] += samples[2 * r] * c[2 * p] + samples[2 * r + 1] * c[2 * p + 1];
  for (int r = 0; r < ROWS; r++) {
    const int32_t value = sum[r] >> SHIFT;
    out[r] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
  }
}

ALWAYS_INLINE void transpose(const uint8_t *tile, uint8_t *const *out, int row_count, size_t x) {
  for (int r = 0; r < row_count; r++)
    for (int i = 0; i < ROWS; i++) out[r][x + (size_t)i] = tile[i * ROWS + r];
}

#endif

ALWAYS_INLINE void columns(column *sum, const int32_t *band, const int32_t *starts, const int32_t *coefficients,
                           int pairs, uint8_t *const *out, int row_count, size_t width) {
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

#if defined(__x86_64__)

AVX2 static void columns_avx2(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                              uint8_t *const *out, int row_count, size_t width) {
  columns(column_avx2, band, starts, coefficients, pairs, out, row_count, width);
}

void photod_band_horizontal_u8(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                               uint8_t *const *out, int row_count, size_t width) {
  if (__builtin_cpu_supports("avx2"))
    columns_avx2(band, starts, coefficients, pairs, out, row_count, width);
  else
    columns(column_sse2, band, starts, coefficients, pairs, out, row_count, width);
}

#else

void photod_band_horizontal_u8(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                               uint8_t *const *out, int row_count, size_t width) {
  columns(column_plain, band, starts, coefficients, pairs, out, row_count, width);
}

#endif
