import LibraryCatalogue
import PhotoModel
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

  /// A dictionary that keeps only its newest entries.
  private struct BoundedDictionary<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var values: [Key: Value] = [:]
    /// Oldest first.
    private var order: [Key] = []

    subscript(key: Key) -> Value? { values[key] }

    /// Forgets the oldest entry if there is no room.
    mutating func insert(_ value: Value, for key: Key, limit: Int) {
      guard values.updateValue(value, forKey: key) == nil else { return }
      order.append(key)
      if order.count > limit { values[order.removeFirst()] = nil }
    }
  }

  private struct State: Sendable {
    var outcomes = BoundedDictionary<UploadIdentifier, Outcome>()
    var uploaders = BoundedDictionary<LocalIdentifier, Uploader>()
  }

  /// Maximum number of outcomes, and of uploaders; each takes about 200 bytes.
  private let limit: Int
  private let lifetime: Duration
  private let state = Mutex(State())

  init(limit: Int = 4096, lifetimeSeconds: Int) {
    self.limit = limit
    lifetime = .seconds(lifetimeSeconds)
  }

  func add(_ outcome: Outcome, of identifier: UploadIdentifier) {
    state.withLock { $0.outcomes.insert(outcome, for: identifier, limit: limit) }
  }

  /// - Returns: `nil`: unknown, forgotten, or of another owner.
  func outcome(of identifier: UploadIdentifier, owner: String, now: ContinuousClock.Instant) -> Outcome? {
    guard let outcome = state.withLock({ $0.outcomes[identifier] }), outcome.owner == owner,
      isRemembered(outcome.time, now)
    else { return nil }
    return outcome
  }

  func addUploader(_ owner: String, of asset: LocalIdentifier, now: ContinuousClock.Instant) {
    state.withLock { $0.uploaders.insert(Uploader(owner: owner, time: now), for: asset, limit: limit) }
  }

  func isUploader(_ owner: String, of asset: LocalIdentifier, now: ContinuousClock.Instant) -> Bool {
    guard let uploader = state.withLock({ $0.uploaders[asset] }) else { return false }
    return uploader.owner == owner && isRemembered(uploader.time, now)
  }

  private func isRemembered(_ time: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
    time.duration(to: now) <= lifetime
  }
}
