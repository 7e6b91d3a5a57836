// Shared by the files of the kernels. Not for Swift.
#ifndef PHOTOD_KERNELS_H
#define PHOTOD_KERNELS_H

#include <stdint.h>

#include "CPhotodKernels.h"

// Compiled a second time with AVX2 and FMA; the program picks one when it is loaded.
#if defined(__x86_64__)
#define MULTIVERSIONED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MULTIVERSIONED
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

// The channels of a pixel as floats, and as bytes.
typedef float pixel __attribute__((vector_size(16)));
typedef uint8_t four_u8 __attribute__((vector_size(4)));

#endif
