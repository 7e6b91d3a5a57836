import LibraryCatalogue
import PhotoModel
import Synchronization

/// What staged uploads became, for a while: a client that did not get the response can repeat its request. Only in
/// memory.
final class FinishedUploads: Sendable {
  struct Outcome: Sendable, Hashable {
    let owner: String
    let asset: LocalIdentifier
    let isNew: Bool
    let date: Timestamp
  }

  private struct State {
    var outcomes: [UploadIdentifier: Outcome] = [:]
    /// Oldest first.
    var order: [UploadIdentifier] = []
  }

  /// Maximum number of outcomes; each takes about 200 bytes.
  private let limit: Int
  private let lifetimeMilliseconds: Int64
  private let state = Mutex(State())

  init(limit: Int = 4096, lifetimeSeconds: Int) {
    self.limit = limit
    lifetimeMilliseconds = Int64(lifetimeSeconds) * 1000
  }

  /// Forgets the oldest outcome if there is no room.
  func add(_ outcome: Outcome, of identifier: UploadIdentifier) {
    state.withLock { state in
      if state.order.count >= limit {
        let oldest = state.order.removeFirst()
        state.outcomes[oldest] = nil
      }
      state.outcomes[identifier] = outcome
      state.order.append(identifier)
    }
  }

  /// - Returns: `nil`: unknown, forgotten, or of another owner.
  func outcome(of identifier: UploadIdentifier, owner: String, now: Timestamp) -> Outcome? {
    guard let outcome = state.withLock({ $0.outcomes[identifier] }), outcome.owner == owner,
      now.milliseconds - outcome.date.milliseconds <= lifetimeMilliseconds
    else { return nil }
    return outcome
  }
}
