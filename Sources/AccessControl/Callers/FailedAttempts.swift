/// Slows down who guesses: after a few failures each further one makes its peer wait twice as long. A value with time passed
/// in; bounded, the peer that failed longest ago makes room for another.
package struct FailedAttempts<Peer: Hashable & Sendable>: Sendable {
  /// Failures that cost nothing.
  package static var freeCount: Int { 10 }
  package static var longestWaitSeconds: Int64 { 60 }
  /// After so long without one, all is forgotten.
  package static var forgottenSeconds: Int64 { 900 }

  private struct Record {
    var count: Int
    var last: Int64
    var waitsUntil: Int64
  }

  private let capacity: Int
  private var records: [Peer: Record] = [:]

  package init(capacity: Int) { self.capacity = max(capacity, 1) }

  package var count: Int { records.count }

  /// Seconds that a peer has to wait before it is heard again; 0: none.
  ///
  /// - Parameter now: in seconds, of a clock that is never set back.
  package func waitSeconds(_ peer: Peer, at now: Int64) -> Int64 {
    guard let record = records[peer] else { return 0 }
    return max(record.waitsUntil - now, 0)
  }

  /// Notes a failure.
  package mutating func failed(_ peer: Peer, at now: Int64) {
    var record = records[peer] ?? Record(count: 0, last: now, waitsUntil: now)
    if now - record.last > Self.forgottenSeconds { record.count = 0 }
    record.count += 1
    record.last = now
    let beyond = record.count - Self.freeCount
    if beyond > 0 { record.waitsUntil = now + min(1 << Int64(min(beyond - 1, 10)), Self.longestWaitSeconds) }
    if records[peer] == nil, records.count >= capacity {
      records = records.filter { now - $0.value.last <= Self.forgottenSeconds }
      if records.count >= capacity, let oldest = records.min(by: { $0.value.last < $1.value.last })?.key {
        records[oldest] = nil
      }
    }
    records[peer] = record
  }
}
