#if canImport(Glibc)
  import Glibc
#endif

/// The CPU time of the calling thread, which does not see what others do to the machine.
enum CPUClock {
  static func microseconds(_ work: () throws -> Void) rethrows -> Double {
    let before = now
    try work()
    return (now - before) * 1e6
  }

  private static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
