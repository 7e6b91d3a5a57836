import Primitives

/// A token bucket that limits the rate of all downloads for windows together. A pure struct: the time is passed in.
///
/// Unused time counts for at most a second, so a pause is not followed by a long burst.
struct WindowThrottle: Sendable, Hashable {
  /// 0: no limit.
  let bytesPerSecond: Int
  /// The bytes that may be taken now. Below zero after a large piece: a piece of any size is taken while this is above
  /// zero.
  private var available: Double
  private var last: Duration?

  init(bytesPerSecond: Int) {
    self.bytesPerSecond = bytesPerSecond
    available = Double(bytesPerSecond)
  }

  /// Takes the next bytes of a connection into account.
  ///
  /// - Returns: `nil` if they may be taken now, otherwise the time after which to ask again.
  mutating func admit(_ count: Int, now: Duration) -> Duration? {
    guard bytesPerSecond > 0 else { return nil }
    let rate = Double(bytesPerSecond)
    available = min(rate, available + (now - (last ?? now)).seconds * rate)
    last = now
    guard available > 0 else {
      // At least a millisecond: with less, rounding could keep the caller from ever waiting.
      return .milliseconds(1) + .seconds(-available / rate)
    }
    available -= Double(count)
    return nil
  }
}
