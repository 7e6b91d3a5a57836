// The inner loops of resampling, written for the vector unit. They know nothing of pictures: rows in, rows out.
//
// Two families. Integer, for opaque 8-bit pictures: coefficients are Q14 (16384 = 1.0) and sum to 16384; the row
// between the two passes is Q6 in 16 bits, so that overshoot survives until the final clamp. Float, for pictures with
// alpha (premultiplied) or 16 bits a channel: four interleaved channels.
// Callers own every buffer. `taps` is even and at least 2 in the integer family (pad with a zero coefficient).
#pragma once

#include <stddef.h>
#include <stdint.h>

// Bytes that the integer kernels may read beyond the last sample of a row; rows are allocated with this much slack.
#define PHOTOD_KERNEL_SLACK 64

// The horizontal kernel processes this many coefficients of one channel at a time: pad them with zeros to a multiple.
enum { PHOTOD_KERNEL_GRAY_TAPS = 8 };

// out[i] = sum over k of coefficients[k] * rows[k][i], 0 <= i < count, Q14 * 8 bit -> Q6.
void photod_vertical_u8(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out, size_t count);

// Pixel x of the output: sum over k of coefficients[x * taps + k] * row[(starts[x] + k) * channels + c], clamped to
// 0...255. channels is 1, 3 or 4; for 1, taps is a multiple of PHOTOD_KERNEL_GRAY_TAPS.
void photod_horizontal_u8(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps,
                          int channels, uint8_t *out, size_t width);

// A band: this many rows of Q6 samples side by side, in pairs of neighbouring samples, so that the horizontal pass
// processes all of its rows at once. Samples 2p and 2p + 1 of row r are the low and the high half of band[p *
// PHOTOD_BAND_ROWS + r].
enum { PHOTOD_BAND_ROWS = 16, PHOTOD_BAND_PAIRS = 4 };

// Makes a band of rows, row r at rows + r * stride. `pairs` is a multiple of PHOTOD_BAND_PAIRS.
void photod_band_u8(const int16_t *rows, size_t stride, size_t pairs, int32_t *band);

// Sample x of row r < row_count to out[r][x]: the sum over k in 0..<2 * pairs of tap k times sample 2 * starts[x] + k,
// clamped to 0...255. Taps are Q14 and lie in pairs, as samples do, those of x from coefficients[x * pairs].
void photod_band_horizontal_u8(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                               uint8_t *const *out, int row_count, size_t width);

// A version of the four integer kernels above, which call the fastest version that the processor can run.
typedef struct {
  const char *name;
  void (*vertical_u8)(const uint8_t *const *rows, const int16_t *coefficients, int taps, int16_t *out, size_t count);
  void (*horizontal_u8)(const int16_t *row, const int32_t *starts, const int16_t *coefficients, int taps, int channels,
                        uint8_t *out, size_t width);
  void (*band_u8)(const int16_t *rows, size_t stride, size_t pairs, int32_t *band);
  void (*band_horizontal_u8)(const int32_t *band, const int32_t *starts, const int32_t *coefficients, int pairs,
                             uint8_t *const *out, int row_count, size_t width);
} photod_integer_kernels;

// For tests: the versions that the processor can run. Version 0 is in plain C and defines what the others compute, bit
// for bit; the last one is the fastest.
int photod_integer_version_count(void);
const photod_integer_kernels *photod_integer_version(int index);

// Interleaved samples as four floats a pixel: (r a, g a, b a, a), gray in all three, of 0...255; a = 255 where channels is
// 1 or 3. 16-bit samples are divided by 257. `samples` may be read 4 bytes beyond its end.
void photod_premultiply_u8(const uint8_t *samples, int channels, float *out, size_t width);
void photod_premultiply_u16(const uint16_t *samples, int channels, float *out, size_t width);

// out[i] = sum over k of coefficients[k] * rows[k][i].
void photod_vertical_f32(const float *const *rows, const float *coefficients, int taps, float *out, size_t count);

// As photod_horizontal_u8 with four channels and no clamp.
void photod_horizontal_f32x4(const float *row, const int32_t *starts, const float *coefficients, int taps, float *out,
                             size_t width);

// Adds samples to the sums of boxes: sums[(x + phase) / step] += samples[x] >> shift, 0 <= x < count. step is 1, 2, 4 or
// 8, and 0 <= phase < step. 64 samples of 10 bits fit into a sum.
void photod_box_add_u8(const uint8_t *samples, size_t count, int phase, int step, uint16_t *sums);
void photod_box_add_u16(const uint16_t *samples, size_t count, int phase, int step, int shift, uint16_t *sums);

// Luma is y * y_scale + y_offset, and both chroma values likewise; 0...high is black to white.
typedef struct {
  float y_scale, y_offset, c_scale, c_offset;
  // red = luma * y_red + cb * cb_red + cr * cr_red, green = luma + cb * cb_green + cr * cr_green,
  // blue = luma * y_blue + cb * cb_blue + cr * cr_blue.
  float y_red, cb_red, cr_red, cb_green, cr_green, y_blue, cb_blue, cr_blue;
  float high;
} photod_ycc;

// RGB of sums, clamped and rounded, to out[x * channels] and the two after it.
void photod_ycc_u8(const uint16_t *y, const uint16_t *cb, const uint16_t *cr, const photod_ycc *m, uint8_t *out,
                   int channels, size_t width);
void photod_ycc_u16(const uint16_t *y, const uint16_t *cb, const uint16_t *cr, const photod_ycc *m, uint16_t *out,
                    int channels, size_t width);

// A row of chroma for pixels of which two share a sample, by linear interpolation: out[2 * i] and out[2 * i + 1] are 16
// times the values a quarter of a sample to the left and right of sample i, and a quarter of the way from row `near` to
// row `far`. Beyond the ends, the first and last samples repeat. Samples have at most 12 bits, and count is not 0.
// between: space for count + 2 values.
void photod_interpolate_chroma(const uint16_t *near, const uint16_t *far, size_t count, uint16_t *between,
                               uint16_t *out);

// Luma only, to out[x * channels].
void photod_gray_u8(const uint16_t *y, const photod_ycc *m, uint8_t *out, int channels, size_t width);
void photod_gray_u16(const uint16_t *y, const photod_ycc *m, uint16_t *out, int channels, size_t width);

// Adjustments: one plane of a row at a time, values 0...1.

// out[x] = table[samples[x * channels]]; 256 entries.
void photod_adjust_load_u8(const uint8_t *samples, int channels, const float *table, float *out, size_t width);
// out[x * channels] = values[x], clamped and rounded to 0...255.
void photod_adjust_store_u8(const float *values, int channels, uint8_t *out, size_t width);
// Replaces values by those of a table with linear interpolation: entry i is for i / steps, or for its square if by_root
// is not 0. The table has steps + 2 entries; the last one is only read.
void photod_adjust_table(float *values, const float *table, int steps, int by_root, size_t width);
// out[x * channels] = the entry of a table that is nearest to values[x]: entry i is for i / steps, or for its square if
// by_root is not 0. The table has steps + 1 entries.
void photod_adjust_store_table_u8(const float *values, int channels, const uint8_t *table, int steps, int by_root,
                                  uint8_t *out, size_t width);
// Multiplies each pixel by a 3x3 matrix, row after row.
void photod_adjust_matrix(float *red, float *green, float *blue, const float *m, size_t width);
// Moves each pixel away from its luminance by amount, the more the paler it is.
void photod_adjust_vibrance(float *red, float *green, float *blue, float amount, const float *luminance, size_t width);
// Multiplies pixel x by table[steps * d], where d is 0 in the centre of the unit square and 1 in its corners, at the point
// (row[0] x + row[1], row[2] x + row[3]) / (row[4] x + row[5]). The table has steps + 1 entries.
void photod_adjust_vignette(float *const *planes, int count, const float *row, const float *table, int steps,
                            size_t width);
void photod_adjust_luma(const float *red, const float *green, const float *blue, const float *weights, float *out,
                        size_t width);
// values += amount * (luma - blurred).
void photod_adjust_sharpen(float *values, const float *luma, const float *blurred, float amount, size_t width);
// A bilateral filter in one direction. Tap k of plane p reads taps[p * tap_count + k][x]; the middle tap is the pixel
// itself. A tap counts weights[k] * max(0, 1 - d * inverse_square)^2, d its squared distance from the pixel over all
// planes, at most 3.
void photod_adjust_bilateral(const float *const *taps, const float *weights, int tap_count, int planes,
                             float inverse_square, float *const *out, size_t width);

// Steps between two samples for which a warp has weights; the table has one entry more, of 4 weights each.
enum { PHOTOD_WARP_PHASES = 256 };

// Pixel x of the output is read at the point (row[0] x + row[1], row[2] x + row[3]) / (row[4] x + row[5]), in pixels of a
// picture of width x height whose row y is at rows[y - first]; of rows that are not among the count rows the nearest one
// is taken. The last of 2 or 4 channels is alpha, by which colours count. Samples may be read 4 bytes beyond a row's end.
void photod_warp_u8(const uint8_t *const *rows, int first, int count, int width, int height, int channels, const double *row,
                    const float *weights, uint8_t *out, size_t out_width);
