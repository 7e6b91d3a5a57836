// The integer kernels for x86-64, with SSE2, which each of these processors has, and with AVX2. Both passes rest on
// pmaddwd, which multiplies 16-bit pairs and adds neighbours: two taps a lane.

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "integer.h"

#define AVX2 __attribute__((target("avx2")))

static void vertical_sse2(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                          size_t count) {
  const __m128i zero = _mm_setzero_si128(), half = _mm_set1_epi32(VERTICAL_HALF);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i s0 = half, s1 = half, s2 = half, s3 = half;
    for (int k = 0; k < taps; k += 2) {
      const __m128i c = _mm_set1_epi32(pair(coefficients + k));
      const __m128i a = _mm_loadu_si128((const __m128i *)(rows[k] + i));
      const __m128i b = _mm_loadu_si128((const __m128i *)(rows[k + 1] + i));
      const __m128i lo = _mm_unpacklo_epi8(a, b), hi = _mm_unpackhi_epi8(a, b);
      s0 = _mm_add_epi32(s0, _mm_madd_epi16(_mm_unpacklo_epi8(lo, zero), c));
      s1 = _mm_add_epi32(s1, _mm_madd_epi16(_mm_unpackhi_epi8(lo, zero), c));
      s2 = _mm_add_epi32(s2, _mm_madd_epi16(_mm_unpacklo_epi8(hi, zero), c));
      s3 = _mm_add_epi32(s3, _mm_madd_epi16(_mm_unpackhi_epi8(hi, zero), c));
    }
    _mm_storeu_si128((__m128i *)(out + i), _mm_packs_epi32(_mm_srai_epi32(s0, VERTICAL_SHIFT),
                                                           _mm_srai_epi32(s1, VERTICAL_SHIFT)));
    _mm_storeu_si128((__m128i *)(out + i + 8), _mm_packs_epi32(_mm_srai_epi32(s2, VERTICAL_SHIFT),
                                                               _mm_srai_epi32(s3, VERTICAL_SHIFT)));
  }
  photod_plain_vertical_from(rows, coefficients, taps, out, i, count);
}

AVX2 static void vertical_avx2(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                               size_t count) {
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(VERTICAL_HALF);
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i s0 = half, s1 = half, s2 = half, s3 = half;
    for (int k = 0; k < taps; k += 2) {
      const __m256i c = _mm256_set1_epi32(pair(coefficients + k));
      const __m256i a = _mm256_loadu_si256((const __m256i *)(rows[k] + i));
      const __m256i b = _mm256_loadu_si256((const __m256i *)(rows[k + 1] + i));
      const __m256i lo = _mm256_unpacklo_epi8(a, b), hi = _mm256_unpackhi_epi8(a, b);
      s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(lo, zero), c));
      s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(lo, zero), c));
      s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(hi, zero), c));
      s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(hi, zero), c));
    }
    // Unpacking and packing both work within 128-bit lanes: after packing, lane 0 holds 0..7 and lane 1 holds 16..23.
    const __m256i first =
        _mm256_packs_epi32(_mm256_srai_epi32(s0, VERTICAL_SHIFT), _mm256_srai_epi32(s1, VERTICAL_SHIFT));
    const __m256i second =
        _mm256_packs_epi32(_mm256_srai_epi32(s2, VERTICAL_SHIFT), _mm256_srai_epi32(s3, VERTICAL_SHIFT));
    _mm256_storeu_si256((__m256i *)(out + i), _mm256_permute2x128_si256(first, second, 0x20));
    _mm256_storeu_si256((__m256i *)(out + i + 16), _mm256_permute2x128_si256(first, second, 0x31));
  }
  photod_plain_vertical_from(rows, coefficients, taps, out, i, count);
}

// Four lanes that each sum up to one output sample.
static inline __m128i dot(const int16_t *row, const int16_t *c, int taps) {
  __m128i sum = _mm_madd_epi16(_mm_loadu_si128((const __m128i *)row), _mm_loadu_si128((const __m128i *)c));
  for (int k = PHOTOD_KERNEL_GRAY_TAPS; k < taps; k += PHOTOD_KERNEL_GRAY_TAPS)
    sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_loadu_si128((const __m128i *)(row + k)),
                                            _mm_loadu_si128((const __m128i *)(c + k))));
  return sum;
}

// Lanes 0 and 2 of a and of b added, and 1 and 3: a02 b02 a13 b13.
static inline __m128i fold(__m128i a, __m128i b) {
  return _mm_add_epi32(_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
}

static void horizontal_1(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                         uint8_t *out, size_t width) {
  const __m128i half = _mm_set1_epi32(HORIZONTAL_HALF);
  const size_t step = (size_t)taps;
  size_t x = 0;
  for (; x + 4 <= width; x += 4) {
    const int16_t *c = coefficients + x * step;
    const __m128i ab = fold(dot(row + starts[x], c, taps), dot(row + starts[x + 1], c + step, taps));
    const __m128i cd =
        fold(dot(row + starts[x + 2], c + 2 * step, taps), dot(row + starts[x + 3], c + 3 * step, taps));
    __m128i sum = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
    sum = _mm_srai_epi32(_mm_add_epi32(sum, half), HORIZONTAL_SHIFT);
    sum = _mm_packs_epi32(sum, sum);
    const int32_t four = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    memcpy(out + x, &four, 4);
  }
  for (; x < width; x++) {
    const __m128i ab = fold(dot(row + starts[x], coefficients + x * step, taps), _mm_setzero_si128());
    const __m128i sum = _mm_add_epi32(ab, _mm_unpackhi_epi64(ab, ab));
    out[x] = clamp_u8((_mm_cvtsi128_si32(sum) + HORIZONTAL_HALF) >> HORIZONTAL_SHIFT);
  }
}

// Two neighbouring pixels of three channels, interleaved. Each load reads a pixel and the first channel of the next
// one; the fourth lane is ignored.
static inline __m128i two_pixels(const int16_t *from) {
  return _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)from), _mm_loadl_epi64((const __m128i *)(from + 3)));
}

static void horizontal_3(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                         uint8_t *out, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const int16_t *from = row + (size_t)starts[x] * 3, *c = coefficients + x * (size_t)taps;
    __m128i sum = _mm_set1_epi32(HORIZONTAL_HALF), other = _mm_setzero_si128();
    int k = 0;
    for (; k + 4 <= taps; k += 4, from += 12) {
      sum = _mm_add_epi32(sum, _mm_madd_epi16(two_pixels(from), _mm_set1_epi32(pair(c + k))));
      other = _mm_add_epi32(other, _mm_madd_epi16(two_pixels(from + 6), _mm_set1_epi32(pair(c + k + 2))));
    }
    if (k < taps) sum = _mm_add_epi32(sum, _mm_madd_epi16(two_pixels(from), _mm_set1_epi32(pair(c + k))));
    sum = _mm_srai_epi32(_mm_add_epi32(sum, other), HORIZONTAL_SHIFT);
    sum = _mm_packs_epi32(sum, sum);
    const uint32_t pixel = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    out[x * 3] = (uint8_t)pixel;
    out[x * 3 + 1] = (uint8_t)(pixel >> 8);
    out[x * 3 + 2] = (uint8_t)(pixel >> 16);
  }
}

static void horizontal_4(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                         uint8_t *out, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const int16_t *from = row + (size_t)starts[x] * 4, *c = coefficients + x * (size_t)taps;
    __m128i sum = _mm_set1_epi32(HORIZONTAL_HALF);
    for (int k = 0; k < taps; k += 2, from += 8) {
      const __m128i two = _mm_loadu_si128((const __m128i *)from);
      const __m128i samples = _mm_unpacklo_epi16(two, _mm_srli_si128(two, 8));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(samples, _mm_set1_epi32(pair(c + k))));
    }
    sum = _mm_srai_epi32(sum, HORIZONTAL_SHIFT);
    sum = _mm_packs_epi32(sum, sum);
    const uint32_t pixel = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    memcpy(out + x * 4, &pixel, 4);
  }
}

static void horizontal(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps, int channels,
                       uint8_t *out, size_t width) {
  if (channels == 4) horizontal_4(row, starts, coefficients, taps, out, width);
  else if (channels == 1) horizontal_1(row, starts, coefficients, taps, out, width);
  else horizontal_3(row, starts, coefficients, taps, out, width);
}

// Samples stay in pairs: four rows of four pairs become four pairs of four rows.
static void band(const int16_t *rows, size_t stride, size_t pairs, int32_t *band) {
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
  __m128i s0 = _mm_set1_epi32(HORIZONTAL_HALF), s1 = s0, s2 = s0, s3 = s0;
  for (int p = 0; p < pairs; p++, band += ROWS) {
    const __m128i c = _mm_set1_epi32(coefficients[p]), *rows = (const __m128i *)band;
    s0 = _mm_add_epi32(s0, _mm_madd_epi16(_mm_loadu_si128(rows), c));
    s1 = _mm_add_epi32(s1, _mm_madd_epi16(_mm_loadu_si128(rows + 1), c));
    s2 = _mm_add_epi32(s2, _mm_madd_epi16(_mm_loadu_si128(rows + 2), c));
    s3 = _mm_add_epi32(s3, _mm_madd_epi16(_mm_loadu_si128(rows + 3), c));
  }
  const __m128i low = _mm_packs_epi32(_mm_srai_epi32(s0, HORIZONTAL_SHIFT), _mm_srai_epi32(s1, HORIZONTAL_SHIFT));
  const __m128i high = _mm_packs_epi32(_mm_srai_epi32(s2, HORIZONTAL_SHIFT), _mm_srai_epi32(s3, HORIZONTAL_SHIFT));
  _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(low, high));
}

AVX2 ALWAYS_INLINE void column_avx2(const int32_t *band, const int32_t *coefficients, int pairs, uint8_t *out) {
  __m256i s0 = _mm256_set1_epi32(HORIZONTAL_HALF), s1 = s0;
  for (int p = 0; p < pairs; p++, band += ROWS) {
    const __m256i c = _mm256_set1_epi32(coefficients[p]), *rows = (const __m256i *)band;
    s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_loadu_si256(rows), c));
    s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_loadu_si256(rows + 1), c));
  }
  // Packing works within 128-bit lanes; the permutation puts rows 0...7 and 8...15 together again.
  const __m256i packed =
      _mm256_packs_epi32(_mm256_srai_epi32(s0, HORIZONTAL_SHIFT), _mm256_srai_epi32(s1, HORIZONTAL_SHIFT));
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

static void horizontal_of_band_sse2(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                                    uint8_t *const *out, int row_count, size_t width) {
  band_horizontal(column_sse2, transpose, band, starts, coefficients, pairs, out, row_count, width);
}

AVX2 static void horizontal_of_band_avx2(const int32_t *band, const int32_t *starts, const int32_t *coefficients,
                                         int pairs, uint8_t *const *out, int row_count, size_t width) {
  band_horizontal(column_avx2, transpose, band, starts, coefficients, pairs, out, row_count, width);
}

const photod_integer_kernels photod_sse2_kernels = {"SSE2", vertical_sse2, horizontal, band, horizontal_of_band_sse2};
const photod_integer_kernels photod_avx2_kernels = {"AVX2", vertical_avx2, horizontal, band, horizontal_of_band_avx2};

#endif
