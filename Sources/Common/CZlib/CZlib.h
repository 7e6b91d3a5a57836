// zlib, for the gzip content coding. deflateInit2 is a macro, which Swift can't call.
#pragma once
#include <stddef.h>
#include <zlib.h>

static inline int photod_deflate_init_gzip(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}
