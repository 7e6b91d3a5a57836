import CAllocationCounter

/// Counts the bytes that the allocator reserves in this process, for tests of render prices. It counts all allocations
/// of a process that links it.
package enum AllocationCounter {
  /// Begins to count for ``liveBytes`` and ``peakBytes``.
  package static func countProcess() { photod_allocations_count_process() }

  /// Allocated and not yet freed, by all threads, since ``countProcess()``. Negative if older memory was freed.
  package static var liveBytes: Int { photod_allocations_of_process().live }

  /// The maximum of ``liveBytes`` since ``countProcess()`` or ``resetPeak()``.
  package static var peakBytes: Int { photod_allocations_of_process().peak }

  /// Sets the peak to the current value. Allocations of other threads at the same moment may or may not count.
  package static func resetPeak() { photod_allocations_reset_process_peak() }

  /// The peak of the additional bytes while `work` runs, counting only this thread, so that other tests may run at the
  /// same time. `work` must stay on this thread.
  package static func peakBytesOnThisThread<Value>(during work: () throws -> Value) rethrows -> (Value, peakBytes: Int)
  {
    let before = photod_allocations_of_thread().live
    photod_allocations_reset_thread_peak()
    let value = try work()
    return (value, photod_allocations_of_thread().peak - before)
  }
}
