// Decodes the pixels of a plain PNG faster than libpng: ISA-L inflates them, and this file undoes the filters of the
// rows. A plain PNG is not interlaced, and its samples are delivered as they are stored: 8 or 16 bits a sample, no
// palette, no transparent colour.
#pragma once

#include "CPhotodPNG.h"

enum { PHOTOD_PNG_ROW_SLACK = 16 };

typedef struct photod_png_pixels photod_png_pixels;

// `bytes_per_pixel`: 1, 2, 3, 4, 6 or 8, of which 16-bit samples take two each, most significant first.
// `chunk_bytes`: the length of the first IDAT chunk, whose header was read already.
photod_png_pixels *photod_png_pixels_create(uint32_t height, size_t row_bytes, int bytes_per_pixel, bool is_16_bit,
                                            uint32_t chunk_bytes);
void photod_png_pixels_destroy(photod_png_pixels *pixels);

// Takes the bytes that follow, and hands finished rows to `source.row`. NEEDS_INPUT: all of them were used. OK: the
// pixel data has ended, complete or not, or no further row is wanted. On FAILED `*message` says why.
photod_png_status photod_png_pixels_take(photod_png_pixels *pixels, const uint8_t *bytes, size_t length,
                                         const photod_png_source *source, const char **message);

// Whether every row was handed over.
bool photod_png_pixels_are_complete(const photod_png_pixels *pixels);

// Undoes a row's filter (PNG third edition §9.2) in place. `previous` is the row above, unfiltered, or zeros. After
// each row, PHOTOD_PNG_ROW_SLACK more bytes must be readable. Returns false for an unknown filter.
bool photod_png_unfilter(int filter, uint8_t *row, const uint8_t *previous, size_t row_bytes, int bytes_per_pixel);
