import Dispatch

#if canImport(Glibc)
  import Glibc
#endif

/// What time it is: the system's clocks, or in tests one that is moved by hand.
package struct ServerClock: Sendable {
  /// Nanoseconds of a clock that only goes forward; deadlines are told by it.
  let monotonic: @Sendable () -> UInt64
  /// Milliseconds since 1970; `Date` and the access log are told by it.
  let wall: @Sendable () -> Int64

  package init(monotonic: @escaping @Sendable () -> UInt64, wall: @escaping @Sendable () -> Int64) {
    self.monotonic = monotonic
    self.wall = wall
  }

  package static let system = ServerClock(
    monotonic: { DispatchTime.now().uptimeNanoseconds },
    wall: {
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    })
}
