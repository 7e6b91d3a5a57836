import Synchronization

/// How requests ended, by what they were.
final class StormOutcomes: Sendable {
  private let counts = Mutex<[String: [String: Int]]>([:])

  func note(_ kind: String, _ outcome: String) {
    counts.withLock { $0[kind, default: [:]][outcome, default: 0] += 1 }
  }

  /// In the order of their names; of each its outcomes, the most frequent first.
  var list: [(kind: String, outcomes: [(String, Int)])] {
    counts.withLock { counts in
      counts.sorted { $0.key < $1.key }.map { kind, outcomes in
        (kind, outcomes.sorted { $0.value > $1.value }.map { ($0.key, $0.value) })
      }
    }
  }
}
