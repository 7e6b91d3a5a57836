import Dispatch
import Primitives

/// The clock and the timer of the downloads. Tests replace them.
package struct DownloadClock: Sendable {
  /// Since some moment in the past; never goes back.
  let now: @Sendable () -> Duration
  /// Calls a function once, after a delay, on any queue.
  let after: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  package init(
    now: @escaping @Sendable () -> Duration,
    after: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
  ) { (self.now, self.after) = (now, after) }

  package static let system = DownloadClock(
    now: { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) },
    after: { delay, body in
      DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay.seconds, execute: body)
    })
}
