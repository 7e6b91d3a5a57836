#if canImport(Glibc)
  import Glibc
#endif

/// The system's clocks.
package enum SystemTime {
  private static let start = ContinuousClock.now

  /// Seconds since 1970.
  package static var now: Int64 { Int64(time(nil)) }

  /// Milliseconds since 1970.
  package static var milliseconds: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  /// Seconds since an arbitrary moment in this process. Setting the system clock does not change it.
  package static var elapsed: Int64 { start.duration(to: .now).components.seconds }
}
