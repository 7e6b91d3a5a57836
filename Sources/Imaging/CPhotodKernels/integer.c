// The integer family: 8 bits in, 8 bits out.
//
// On x86-64 both passes rest on pmaddwd, which multiplies 16-bit pairs and adds neighbours: two taps a lane. The plain
// C below each is the definition, and what other processors run (clang vectorises it there).

#include "CPhotodKernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline int16_t clamp_i16(int32_t v) { return v < -32768 ? -32768 : v > 32767 ? 32767 : (int16_t)v; }
static inline uint8_t clamp_u8(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v; }

// Q14 * 8 bit -> Q6 drops 8 bits; Q14 * Q6 -> 8 bit drops 20. Both round to nearest.
enum { VERTICAL_SHIFT = 8, HORIZONTAL_SHIFT = 20 };

static void vertical_plain(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                           size_t from, size_t count) {
  for (size_t i = from; i < count; i++) {
    int32_t sum = 1 << (VERTICAL_SHIFT - 1);
    for (int k = 0; k < taps; k++) sum += coefficients[k] * rows[k][i];
    out[i] = clamp_i16(sum >> VERTICAL_SHIFT);
  }
}

#if defined(__x86_64__)

// Two neighbouring coefficients as the 32-bit lane that pmaddwd wants.
static inline int32_t pair(const int16_t *coefficients, int k) {
  return (int32_t)((uint32_t)(uint16_t)coefficients[k] | (uint32_t)(uint16_t)coefficients[k + 1] << 16);
}

static size_t vertical_sse2(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                            size_t count) {
  const __m128i zero = _mm_setzero_si128(), half = _mm_set1_epi32(1 << (VERTICAL_SHIFT - 1));
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i s0 = half, s1 = half, s2 = half, s3 = half;
    for (int k = 0; k < taps; k += 2) {
      const __m128i c = _mm_set1_epi32(pair(coefficients, k));
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
  return i;
}

__attribute__((target("avx2"))) static size_t vertical_avx2(const uint8_t *const *rows, const int16_t *coefficients,
                                                            int taps, int16_t *out, size_t count) {
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << (VERTICAL_SHIFT - 1));
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i s0 = half, s1 = half, s2 = half, s3 = half;
    for (int k = 0; k < taps; k += 2) {
      const __m256i c = _mm256_set1_epi32(pair(coefficients, k));
      const __m256i a = _mm256_loadu_si256((const __m256i *)(rows[k] + i));
      const __m256i b = _mm256_loadu_si256((const __m256i *)(rows[k + 1] + i));
      const __m256i lo = _mm256_unpacklo_epi8(a, b), hi = _mm256_unpackhi_epi8(a, b);
      s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(lo, zero), c));
      s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(lo, zero), c));
      s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(hi, zero), c));
      s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(hi, zero), c));
    }
    // Unpacking and packing both work within 128-bit lanes: after packing, lane 0 holds 0..7 and lane 1 holds 16..23.
    const __m256i first = _mm256_packs_epi32(_mm256_srai_epi32(s0, VERTICAL_SHIFT), _mm256_srai_epi32(s1, VERTICAL_SHIFT));
    const __m256i second = _mm256_packs_epi32(_mm256_srai_epi32(s2, VERTICAL_SHIFT), _mm256_srai_epi32(s3, VERTICAL_SHIFT));
    _mm256_storeu_si256((__m256i *)(out + i), _mm256_permute2x128_si256(first, second, 0x20));
    _mm256_storeu_si256((__m256i *)(out + i + 16), _mm256_permute2x128_si256(first, second, 0x31));
  }
  return i;
}

void photod_vertical_u8(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                        size_t count) {
  size_t done;
  if (__builtin_cpu_supports("avx2"))
    done = vertical_avx2(rows, coefficients, taps, out, count);
  else
    done = vertical_sse2(rows, coefficients, taps, out, count);
  vertical_plain(rows, coefficients, taps, out, done, count);
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
  const __m128i half = _mm_set1_epi32(1 << (HORIZONTAL_SHIFT - 1));
  const size_t step = (size_t)taps;
  size_t x = 0;
  for (; x + 4 <= width; x += 4) {
    const int16_t *c = coefficients + x * step;
    const __m128i ab = fold(dot(row + starts[x], c, taps), dot(row + starts[x + 1], c + step, taps));
    const __m128i cd = fold(dot(row + starts[x + 2], c + 2 * step, taps), dot(row + starts[x + 3], c + 3 * step, taps));
    __m128i sum = _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
    sum = _mm_srai_epi32(_mm_add_epi32(sum, half), HORIZONTAL_SHIFT);
    sum = _mm_packs_epi32(sum, sum);
    const int32_t four = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    __builtin_memcpy(out + x, &four, 4);
  }
  for (; x < width; x++) {
    const __m128i ab = fold(dot(row + starts[x], coefficients + x * step, taps), _mm_setzero_si128());
    const __m128i sum = _mm_add_epi32(ab, _mm_unpackhi_epi64(ab, ab));
    out[x] = clamp_u8((_mm_cvtsi128_si32(sum) + (1 << (HORIZONTAL_SHIFT - 1))) >> HORIZONTAL_SHIFT);
  }
}

static void horizontal_3(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                         uint8_t *out, size_t width) {
  for (size_t x = 0; x < width; x++) {
    const int16_t *from = row + (size_t)starts[x] * 3, *c = coefficients + x * (size_t)taps;
    __m128i sum = _mm_set1_epi32(1 << (HORIZONTAL_SHIFT - 1)), other = _mm_setzero_si128();
    int k = 0;
    // Each load reads a pixel and the first channel of the next one; the fourth lane is ignored.
    for (; k + 4 <= taps; k += 4, from += 12) {
      const __m128i a = _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)from), _mm_loadl_epi64((const __m128i *)(from + 3)));
      const __m128i b = _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)(from + 6)), _mm_loadl_epi64((const __m128i *)(from + 9)));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(a, _mm_set1_epi32(pair(c, k))));
      other = _mm_add_epi32(other, _mm_madd_epi16(b, _mm_set1_epi32(pair(c, k + 2))));
    }
    if (k < taps) {
      const __m128i a = _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)from), _mm_loadl_epi64((const __m128i *)(from + 3)));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(a, _mm_set1_epi32(pair(c, k))));
    }
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
    __m128i sum = _mm_set1_epi32(1 << (HORIZONTAL_SHIFT - 1));
    for (int k = 0; k < taps; k += 2, from += 8) {
      const __m128i two = _mm_loadu_si128((const __m128i *)from);
      sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_unpacklo_epi16(two, _mm_srli_si128(two, 8)), _mm_set1_epi32(pair(c, k))));
    }
    sum = _mm_srai_epi32(sum, HORIZONTAL_SHIFT);
    sum = _mm_packs_epi32(sum, sum);
    const uint32_t pixel = (uint32_t)_mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    memcpy(out + x * 4, &pixel, 4);
  }
}

void photod_horizontal_u8(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                          int channels, uint8_t *out, size_t width) {
  if (channels == 4) horizontal_4(row, starts, coefficients, taps, out, width);
  else if (channels == 1) horizontal_1(row, starts, coefficients, taps, out, width);
  else horizontal_3(row, starts, coefficients, taps, out, width);
}

#else

void photod_vertical_u8(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out,
                        size_t count) {
  vertical_plain(rows, coefficients, taps, out, 0, count);
}

void photod_horizontal_u8(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                          int channels, uint8_t *out, size_t width) {
  for (size_t x = 0; x < width; x++)
    for (int channel = 0; channel < channels; channel++) {
      const int16_t *from = row + (size_t)starts[x] * (size_t)channels + channel;
      int32_t sum = 1 << (HORIZONTAL_SHIFT - 1);
      for (int k = 0; k < taps; k++) sum += coefficients[x * (size_t)taps + k] * from[k * channels];
      *out++ = clamp_u8(sum >> HORIZONTAL_SHIFT);
    }
}

#endif
