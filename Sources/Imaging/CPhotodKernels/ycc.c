// Rows of luma and chroma from decoders that don't scale: reduced by a box, then converted to RGB. Plain loops in the
// shape that clang vectorises; on x86-64 it also makes an AVX2 + FMA version and picks one when the program is loaded.

#include "kernels.h"

// `step` is a constant where this is inlined.
#define BOX(name, type, expression)                                                                        \
  ALWAYS_INLINE void name(const type *samples, size_t groups, int step, int shift, uint16_t *sums) {       \
    (void)shift;                                                                                           \
    for (size_t i = 0; i < groups; i++) {                                                                  \
      unsigned sum = 0;                                                                                    \
      for (int k = 0; k < step; k++) {                                                                     \
        const unsigned sample = samples[i * (size_t)step + (size_t)k];                                     \
        sum += expression;                                                                                 \
      }                                                                                                    \
      sums[i] = (uint16_t)(sums[i] + sum);                                                                 \
    }                                                                                                      \
  }                                                                                                        \
  ALWAYS_INLINE void name##_all(const type *samples, size_t count, int phase, int step, int shift,         \
                                uint16_t *sums) {                                                          \
    /* What is left of a group that began before these samples. */                                         \
    for (; phase > 0 && count > 0; count--, samples++) {                                                   \
      const unsigned sample = *samples;                                                                    \
      *sums = (uint16_t)(*sums + (expression));                                                            \
      if (++phase == step) {                                                                               \
        phase = 0;                                                                                         \
        sums++;                                                                                            \
      }                                                                                                    \
    }                                                                                                      \
    const size_t groups = count / (size_t)step;                                                            \
    switch (step) {                                                                                        \
    case 1: name(samples, groups, 1, shift, sums); break;                                                  \
    case 2: name(samples, groups, 2, shift, sums); break;                                                  \
    case 4: name(samples, groups, 4, shift, sums); break;                                                  \
    default: name(samples, groups, 8, shift, sums); break;                                                 \
    }                                                                                                      \
    for (size_t i = groups * (size_t)step; i < count; i++) {                                               \
      const unsigned sample = samples[i];                                                                  \
      sums[groups] = (uint16_t)(sums[groups] + (expression));                                              \
    }                                                                                                      \
  }

BOX(box_u8, uint8_t, sample)
BOX(box_u16, uint16_t, sample >> shift)

MULTIVERSIONED void photod_box_add_u8(const uint8_t *samples, size_t count, int phase, int step, uint16_t *sums) {
  box_u8_all(samples, count, phase, step, 0, sums);
}

MULTIVERSIONED void photod_box_add_u16(const uint16_t *samples, size_t count, int phase, int step, int shift,
                                       uint16_t *sums) {
  box_u16_all(samples, count, phase, step, shift, sums);
}

MULTIVERSIONED void photod_interpolate_chroma(const uint16_t *near, const uint16_t *far, size_t count,
                                              uint16_t *restrict between, uint16_t *restrict out) {
  for (size_t i = 0; i < count; i++) between[i + 1] = (uint16_t)(3 * near[i] + far[i]);
  between[0] = between[1];
  between[count + 1] = between[count];
  for (size_t i = 0; i < count; i++) {
    out[2 * i] = (uint16_t)(3 * between[i + 1] + between[i]);
    out[2 * i + 1] = (uint16_t)(3 * between[i + 1] + between[i + 2]);
  }
}

// The value clamped to 0...high, plus 0.5: truncating it to an integer rounds it.
ALWAYS_INLINE float clamped_for_rounding(float value, float high) {
  value = value < 0 ? 0 : value;
  return (value > high ? high : value) + 0.5f;
}

#define CONVERT(name, type)                                                                                     \
  MULTIVERSIONED void name(const uint16_t *y, const uint16_t *cb, const uint16_t *cr, const photod_ycc *m,      \
                           type *out, int channels, size_t width) {                                            \
    for (size_t x = 0; x < width; x++, out += channels) {                                                      \
      const float luma = y[x] * m->y_scale + m->y_offset;                                                      \
      const float blue = cb[x] * m->c_scale + m->c_offset, red = cr[x] * m->c_scale + m->c_offset;             \
      out[0] = (type)clamped_for_rounding(luma * m->y_red + blue * m->cb_red + red * m->cr_red, m->high);      \
      out[1] = (type)clamped_for_rounding(luma + blue * m->cb_green + red * m->cr_green, m->high);             \
      out[2] = (type)clamped_for_rounding(luma * m->y_blue + blue * m->cb_blue + red * m->cr_blue, m->high);   \
    }                                                                                                          \
  }

CONVERT(photod_ycc_u8, uint8_t)
CONVERT(photod_ycc_u16, uint16_t)

#define GRAY(name, type)                                                                                        \
  MULTIVERSIONED void name(const uint16_t *y, const photod_ycc *m, type *out, int channels, size_t width) {    \
    for (size_t x = 0; x < width; x++, out += channels)                                                        \
      out[0] = (type)clamped_for_rounding(y[x] * m->y_scale + m->y_offset, m->high);                           \
  }

GRAY(photod_gray_u8, uint8_t)
GRAY(photod_gray_u16, uint16_t)
