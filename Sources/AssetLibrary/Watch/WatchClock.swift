#if canImport(Glibc)
  import Glibc
#endif

/// What a watcher's delays are measured by. One that is moved by hand wakes nobody.
package struct WatchClock: Sendable {
  /// Nanoseconds since some moment; never backwards.
  let now: @Sendable () -> Int64
  let wakes: Bool

  /// The system's, which time in standby is no part of.
  package static let system = WatchClock(
    now: {
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }, wakes: true)

  package static func manual(_ now: @escaping @Sendable () -> Int64) -> WatchClock {
    WatchClock(now: now, wakes: false)
  }
}
