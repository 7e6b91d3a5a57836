import Dispatch
import Primitives

/// The clocks of the server: the system's, or manual clocks in tests.
package struct ServerClock: Sendable {
  /// Nanoseconds of a monotonic clock, used for deadlines.
  let monotonic: @Sendable () -> UInt64
  /// Milliseconds since 1970, used for `Date` and the access log.
  let wall: @Sendable () -> Int64

  package init(monotonic: @escaping @Sendable () -> UInt64, wall: @escaping @Sendable () -> Int64) {
    self.monotonic = monotonic
    self.wall = wall
  }

  static let system = ServerClock(
    monotonic: { DispatchTime.now().uptimeNanoseconds }, wall: { SystemTime.milliseconds })
}
