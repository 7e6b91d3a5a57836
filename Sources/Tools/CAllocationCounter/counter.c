// Replaces malloc and related functions of glibc and calls them: a program's definitions come before a library's
// (ld.so(8)), and glibc calls its own through the same names (malloc(3), "replacing malloc").

#define _GNU_SOURCE
#include "CAllocationCounter.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *__libc_valloc(size_t);
void *__libc_pvalloc(size_t);
void __libc_free(void *);

static atomic_long process_live, process_peak;
// Two cores that update the same counters at each allocation slow each other down, so a process asks for them.
static atomic_bool counts_process;
// Statically allocated thread-local storage, so that using it allocates nothing.
static __thread __attribute__((tls_model("initial-exec"))) photod_allocations thread;

static void count(long bytes) {
  thread.live += bytes;
  if (thread.live > thread.peak) thread.peak = thread.live;
  if (!atomic_load_explicit(&counts_process, memory_order_relaxed)) return;
  const long live = atomic_fetch_add_explicit(&process_live, bytes, memory_order_relaxed) + bytes;
  long peak = atomic_load_explicit(&process_peak, memory_order_relaxed);
  while (live > peak &&
         !atomic_compare_exchange_weak_explicit(&process_peak, &peak, live, memory_order_relaxed, memory_order_relaxed)) {
  }
}

static void *counted(void *memory) {
  if (memory) count((long)malloc_usable_size(memory));
  return memory;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t number, size_t size) { return counted(__libc_calloc(number, size)); }
void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void *valloc(size_t size) { return counted(__libc_valloc(size)); }
void *pvalloc(size_t size) { return counted(__libc_pvalloc(size)); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void *made = counted(__libc_memalign(alignment, size));
  if (!made) return ENOMEM;
  *memory = made;
  return 0;
}

void *realloc(void *memory, size_t size) {
  const long before = memory ? (long)malloc_usable_size(memory) : 0;
  void *moved = __libc_realloc(memory, size);
  // If there is no memory, the old block stays; a size of 0 frees it.
  if (!moved) {
    if (size == 0) count(-before);
    return NULL;
  }
  // Both blocks may exist while one is copied to the other: the peak counts both, then the old one is subtracted.
  count((long)malloc_usable_size(moved));
  count(-before);
  return moved;
}

void free(void *memory) {
  if (!memory) return;
  count(-(long)malloc_usable_size(memory));
  __libc_free(memory);
}

photod_allocations photod_allocations_of_process(void) {
  return (photod_allocations){atomic_load_explicit(&process_live, memory_order_relaxed),
                              atomic_load_explicit(&process_peak, memory_order_relaxed)};
}

void photod_allocations_count_process(void) {
  atomic_store_explicit(&counts_process, true, memory_order_relaxed);
}

void photod_allocations_reset_process_peak(void) {
  atomic_store_explicit(&process_peak, atomic_load_explicit(&process_live, memory_order_relaxed), memory_order_relaxed);
}

photod_allocations photod_allocations_of_thread(void) { return thread; }

void photod_allocations_reset_thread_peak(void) { thread.peak = thread.live; }
