import CAllocationCounter

/// What is allocated in this process, in bytes as the allocator sets them aside. For tests that hold renders to their price;
/// whoever links it has all of its allocations counted.
package enum AllocationCounter {
  /// Allocated and not freed yet, by all threads.
  package static var liveBytes: Int { photod_allocations_of_process().live }

  /// The most that was live at a time, since the process began or since ``resetPeak()``.
  package static var peakBytes: Int { photod_allocations_of_process().peak }

  /// Makes the peak what is live now. What other threads allocate meanwhile may or may not count.
  package static func resetPeak() { photod_allocations_reset_process_peak() }

  /// How much more than before was live at a time while `work` ran: of what this thread allocated alone, so that other
  /// tests may run meanwhile. `work` does all that it does on this thread.
  package static func peakBytesOnThisThread<Value>(during work: () throws -> Value) rethrows -> (Value, peakBytes: Int)
  {
    let before = photod_allocations_of_thread().live
    photod_allocations_reset_thread_peak()
    let value = try work()
    return (value, photod_allocations_of_thread().peak - before)
  }
}
