import LibraryCatalogue
import PhotoModel
import Primitives
import Synchronization

/// Remembers the outcomes of finished uploads for a while, in memory only. So a client that did not get the response
/// for a staged upload can repeat its request, and a limited caller can name the assets that it creates in a change
/// list, although it does not see them.
final class FinishedUploads: Sendable {
  struct Outcome: Sendable, Hashable {
    let owner: String
    let asset: LocalIdentifier
    let isNew: Bool
    let time: ContinuousClock.Instant
  }

  private struct Uploader: Sendable {
    let owner: String
    let time: ContinuousClock.Instant
  }

  private struct State: Sendable {
    var outcomes: LRUCache<UploadIdentifier, Outcome>
    var uploaders: LRUCache<LocalIdentifier, Uploader>
  }

  private let lifetime: Duration
  private let state: Mutex<State>

  /// - Parameter limit: maximum number of outcomes, and of uploaders; each takes about 200 bytes.
  init(limit: Int = 4096, lifetimeSeconds: Int) {
    lifetime = .seconds(lifetimeSeconds)
    state = Mutex(State(outcomes: LRUCache(capacity: limit), uploaders: LRUCache(capacity: limit)))
  }

  func add(_ outcome: Outcome, of identifier: UploadIdentifier) {
    _ = state.withLock { $0.outcomes.keep(outcome, for: identifier) }
  }

  /// - Returns: `nil`: unknown, forgotten, or of another owner.
  func outcome(of identifier: UploadIdentifier, owner: String, now: ContinuousClock.Instant) -> Outcome? {
    guard let outcome = state.withLock({ $0.outcomes.value(for: identifier) }), outcome.owner == owner,
      isRemembered(outcome.time, now)
    else { return nil }
    return outcome
  }

  func addUploader(_ owner: String, of asset: LocalIdentifier, now: ContinuousClock.Instant) {
    _ = state.withLock { $0.uploaders.keep(Uploader(owner: owner, time: now), for: asset) }
  }

  func isUploader(_ owner: String, of asset: LocalIdentifier, now: ContinuousClock.Instant) -> Bool {
    guard let uploader = state.withLock({ $0.uploaders.value(for: asset) }) else { return false }
    return uploader.owner == owner && isRemembered(uploader.time, now)
  }

  private func isRemembered(_ time: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
    time.duration(to: now) <= lifetime
  }
}
