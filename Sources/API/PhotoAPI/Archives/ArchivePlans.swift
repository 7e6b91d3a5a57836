import Synchronization

/// The plans of recent archives, so that a resumed download does not check all files again.
final class ArchivePlans: Sendable {
  /// Maximum number of plans.
  static let capacity = 8
  /// A plan expires after this time.
  static let lifetime = Duration.seconds(300)

  private struct State {
    /// The oldest first.
    var plans: [(plan: ArchivePlan, end: ContinuousClock.Instant)] = []

    var bytes: Int { plans.reduce(0) { $0 + $1.plan.bytes } }
  }

  /// Maximum bytes of all plans together.
  private let maximumBytes: Int
  private let state = Mutex(State())

  /// Plans reserve twice their bytes, so half of the memory stays free for archives that are not kept.
  init(_ limits: ArchiveLimits) { maximumBytes = limits.memoryBytes / 4 }

  /// The plan of a listing, if it is kept.
  func plan(_ key: String) -> ArchivePlan? {
    state.withLock { state in
      state.plans.first { $0.plan.key == key && ContinuousClock.now < $0.end }?.plan
    }
  }

  /// Keeps a plan, and drops the oldest plans beyond the limits.
  func keep(_ plan: ArchivePlan) {
    guard plan.bytes <= maximumBytes / 2 else { return }
    let end = ContinuousClock.now + Self.lifetime
    state.withLock { state in
      state.plans.removeAll { $0.plan.key == plan.key }
      state.plans.append((plan, end))
      while state.plans.count > Self.capacity || state.bytes > maximumBytes { state.plans.removeFirst() }
    }
  }

  /// Drops the plans that have expired, so that other archives can have their memory. Call it about once a second.
  func expire(now: ContinuousClock.Instant) {
    let expired = state.withLock { state in
      // All have the same lifetime, so the oldest expires first.
      let expired = state.plans.prefix { $0.end <= now }
      state.plans.removeFirst(expired.count)
      return Array(expired)
    }
    // A large plan takes a while to free: not with the lock held.
    withExtendedLifetime(expired) {}
  }

  /// Drops a plan whose files have changed.
  func drop(_ plan: ArchivePlan) {
    state.withLock { state in state.plans.removeAll { $0.plan === plan } }
  }
}
