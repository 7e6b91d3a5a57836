// Counts what malloc and its relatives hand out, in a process that links this: tests of what renders take. glibc only, and
// never in the daemon.
//
// Bytes are those that the allocator set aside (malloc_usable_size), so that a program's own idea of what it asked for is not
// believed. Memory that is mapped directly is not seen.
#pragma once

#include <stddef.h>

typedef struct {
  // Allocated and not freed yet.
  long live;
  // The most that was live since the count was reset.
  long peak;
} photod_allocations;

// Of all threads.
photod_allocations photod_allocations_of_process(void);
void photod_allocations_reset_process_peak(void);

// Of the calling thread alone: what it allocated less what it freed, whoever allocated that. May be negative.
photod_allocations photod_allocations_of_thread(void);
void photod_allocations_reset_thread_peak(void);
