import Primitives

/// The progress of a transfer that waits for the client: a response while the send buffer is full, or a streamed
/// request body. Its deadline has two parts: at least one byte within a timeout, and a minimum average rate after that
/// time. Without the second, a client that transfers a byte now and then could hold the connection for days.
///
/// Times are nanoseconds of the loop's monotonic clock.
struct TransferProgress {
  /// Transferred bytes extend the deadline by at most this time, about thirty years: the sum with a time and a timeout,
  /// in nanoseconds, then stays below 2^64.
  private static let maximumEarnedSeconds = 1e9

  private let began: UInt64
  private var bytes = 0

  init(began: UInt64) { self.began = began }

  mutating func add(_ count: Int) { bytes += count }

  /// When the client must have transferred the next byte.
  ///
  /// - Parameters:
  ///   - now: the time of the latest transferred byte, or of the beginning.
  ///   - minimumBytesPerSecond: 0 disables the minimum rate.
  func deadline(now: UInt64, timeout: Duration, minimumBytesPerSecond: Int) -> UInt64 {
    let nextByte = now + timeout.unsignedNanoseconds
    guard minimumBytesPerSecond > 0 else { return nextByte }
    let earnedSeconds = min(Double(bytes) / Double(minimumBytesPerSecond), Self.maximumEarnedSeconds)
    return min(nextByte, began + timeout.unsignedNanoseconds + UInt64(earnedSeconds * 1e9))
  }
}
