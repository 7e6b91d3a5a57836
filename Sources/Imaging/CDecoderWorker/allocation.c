// Remembers that an allocation failed, so that a child that then crashes, as C++ programs do, is reported as one that
// exceeded its memory limit. Replaces the allocation functions of glibc and calls them (malloc(3), "replacing malloc").

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "decoder_worker.h"

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

bool decoder_allocation_failed;

static void *checked(void *memory) {
  if (!memory) decoder_allocation_failed = true;
  return memory;
}

void *malloc(size_t bytes) { return checked(__libc_malloc(bytes)); }

void *calloc(size_t count, size_t bytes) { return checked(__libc_calloc(count, bytes)); }

void *realloc(void *old, size_t bytes) {
  void *memory = __libc_realloc(old, bytes);
  // A size of 0 frees.
  return bytes ? checked(memory) : memory;
}

void *memalign(size_t alignment, size_t bytes) { return checked(__libc_memalign(alignment, bytes)); }

void *aligned_alloc(size_t alignment, size_t bytes) { return checked(__libc_memalign(alignment, bytes)); }

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment) return EINVAL;
  void *found = checked(__libc_memalign(alignment, bytes));
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}
