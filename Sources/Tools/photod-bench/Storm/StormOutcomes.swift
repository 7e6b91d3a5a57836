import Synchronization

/// Counts the outcomes of requests by kind.
final class StormOutcomes: Sendable {
  private let counts = Mutex<[String: [String: Int]]>([:])

  func note(_ kind: String, _ outcome: String) {
    counts.withLock { $0[kind, default: [:]][outcome, default: 0] += 1 }
  }

  /// Sorted by kind; the outcomes of each by frequency.
  var list: [(kind: String, outcomes: [(String, Int)])] {
    counts.withLock { counts in
      counts.sorted { $0.key < $1.key }.map { kind, outcomes in
        (kind, outcomes.sorted { $0.value > $1.value }.map { ($0.key, $0.value) })
      }
    }
  }
}
