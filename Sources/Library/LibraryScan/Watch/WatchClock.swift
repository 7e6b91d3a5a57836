#if canImport(Glibc)
  import Glibc
#endif

/// The clock for the delays of a watcher. A manual clock in a test starts no timers.
package struct WatchClock: Sendable {
  /// Nanoseconds since an arbitrary point in time; monotonic.
  let now: @Sendable () -> Int64
  let startsTimers: Bool

  /// The monotonic clock of the system, which does not count time in standby.
  package static let system = WatchClock(
    now: {
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }, startsTimers: true)

  package static func manual(_ now: @escaping @Sendable () -> Int64) -> WatchClock {
    WatchClock(now: now, startsTimers: false)
  }
}
