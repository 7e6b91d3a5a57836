// Counts the memory that malloc and related functions provide in a process that links this, for tests of render memory.
// glibc only, and never in the daemon.
//
// Counts the bytes that the allocator reserves (malloc_usable_size), not the requested ones. Directly mapped memory is
// not counted.
#pragma once

#include <stddef.h>

typedef struct {
  // Allocated and not yet freed.
  long live;
  // The maximum since the count was reset.
  long peak;
} photod_allocations;

// All threads, from the call of photod_allocations_count_process on; `live` may then be negative.
void photod_allocations_count_process(void);
photod_allocations photod_allocations_of_process(void);
void photod_allocations_reset_process_peak(void);

// Only the calling thread: what it allocated minus what it freed, whichever thread allocated that. May be negative.
photod_allocations photod_allocations_of_thread(void);
void photod_allocations_reset_thread_peak(void);
