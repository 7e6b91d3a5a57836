/// Slows down clients that guess credentials: after a few failures, each further failure doubles the wait of its peer.
/// A pure value; the time is a parameter. Its size is bounded: at the limit the peer with the oldest failure is
/// removed.
package struct FailureBackoff<Peer: Hashable & Sendable>: Sendable {
  /// Failures without a wait.
  package static var unthrottledFailures: Int { 10 }
  static var maximumWaitSeconds: Int64 { 60 }
  /// Seconds without a failure after which a peer's count starts again.
  package static var resetAfterSeconds: Int64 { 900 }

  private struct Record {
    var count: Int
    var last: Int64
    var blockedUntil: Int64
  }

  private let capacity: Int
  private var records: [Peer: Record] = [:]

  package init(capacity: Int) { self.capacity = max(capacity, 1) }

  package var count: Int { records.count }

  /// Seconds that a peer has to wait before its next attempt; 0: no wait.
  ///
  /// - Parameter now: seconds of a monotonic clock.
  package func waitSeconds(_ peer: Peer, at now: Int64) -> Int64 {
    guard let record = records[peer] else { return 0 }
    return max(record.blockedUntil - now, 0)
  }

  /// Records a failure, unless the peer has to wait: attempts during a wait are not counted.
  ///
  /// - Parameter now: seconds of a monotonic clock.
  /// - Returns: the seconds that the peer still had to wait; 0: the failure was recorded.
  @discardableResult
  package mutating func failed(_ peer: Peer, at now: Int64) -> Int64 {
    let wait = waitSeconds(peer, at: now)
    guard wait == 0 else { return wait }
    var record = records[peer] ?? Record(count: 0, last: now, blockedUntil: now)
    if now - record.last > Self.resetAfterSeconds { record.count = 0 }
    record.count += 1
    record.last = now
    let beyond = record.count - Self.unthrottledFailures
    if beyond > 0 { record.blockedUntil = now + min(1 << Int64(min(beyond - 1, 10)), Self.maximumWaitSeconds) }
    if records[peer] == nil, records.count >= capacity {
      records = records.filter { now - $0.value.last <= Self.resetAfterSeconds }
      if records.count >= capacity, let oldest = records.min(by: { $0.value.last < $1.value.last })?.key {
        records[oldest] = nil
      }
    }
    records[peer] = record
    return 0
  }
}
