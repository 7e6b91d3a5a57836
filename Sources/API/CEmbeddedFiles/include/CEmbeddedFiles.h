// The files that are part of the program: those of the gallery page, and the components of the OpenAPI document. They
// are in C because a compiler of C copies them with #embed (C23 §6.10.4), where Swift compiles a literal of 190,000
// numbers for half a minute.
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
