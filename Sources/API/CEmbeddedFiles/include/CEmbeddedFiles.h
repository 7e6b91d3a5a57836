// The files that are part of the program: those of the gallery page, and the components of the OpenAPI document. They
// are in C for #embed (C23 §6.10.4), which takes no time. In Swift they would be literals of 190,000 numbers, which take
// half a minute to compile.
#pragma once

#include <stddef.h>

struct photod_embedded_file {
  /// Relative to this module's folder: "gallery/app.js".
  const char *path;
  /// Not terminated. Constant for the life of the process.
  const unsigned char *bytes;
  size_t count;
};

/// All files; `count` receives their number.
const struct photod_embedded_file *photod_embedded_files(size_t *count);
