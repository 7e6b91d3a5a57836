import Dispatch

#if canImport(Glibc)
  import Glibc
#endif

/// The clocks, the timer and the random numbers of remote operations. Tests replace them.
package struct RemoteClock: Sendable {
  /// Since some moment in the past; never goes back.
  var now: @Sendable () -> Duration
  /// Seconds since 1970.
  var wall: @Sendable () -> Int64
  /// Calls a function once, after a delay, on any queue.
  var after: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
  /// Evenly distributed, at least 0, less than 1.
  var random: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Duration, wall: @escaping @Sendable () -> Int64,
    after: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
    random: @escaping @Sendable () -> Double
  ) {
    (self.now, self.wall, self.after, self.random) = (now, wall, after, random)
  }

  package static let system = RemoteClock(
    now: { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) },
    wall: { Int64(time(nil)) },
    after: { delay, body in
      DispatchQueue.global(qos: .userInitiated).asyncAfter(
        deadline: .now() + .milliseconds(delay.wholeMilliseconds), execute: body)
    },
    random: { Double.random(in: 0..<1) })
}
