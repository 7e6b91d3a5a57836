import PhotoModel
import Synchronization

/// What clients made and have to name again: each with an owner, whom alone it exists for, and a lease that every use
/// renews. Bounded in number and in bytes; nothing that is leased is given up for something new.
package final class LeaseTable<Value: Sendable>: Sendable {
  package enum Refusal: Error, Sendable, Equatable {
    /// There are so many already.
    case tooMany(limit: Int)
    /// Together they would take more bytes than these.
    case tooLarge(limitBytes: Int)
  }

  private struct Entry {
    let value: Value
    let owner: String
    let bytes: Int
    var end: ContinuousClock.Instant
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var bytes = 0
  }

  package let lease: Duration
  private let limit: Int
  private let limitBytes: Int
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  /// - Parameters:
  ///   - limit: how many there may be at a time.
  ///   - limitBytes: what they may take in all.
  package init(
    limit: Int, limitBytes: Int, lease: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.limit = limit
    self.limitBytes = limitBytes
    self.lease = lease
    self.now = now
  }

  /// Keeps something.
  ///
  /// - Parameter bytes: what it takes.
  /// - Returns: its name: 128 random bits.
  package func keep(_ value: Value, bytes: Int, owner: Principal) throws(Refusal) -> String {
    let instant = now()
    let refusalOrName: Result<String, Refusal> = state.withLock { state in
      Self.expire(&state, instant)
      if state.entries.count >= limit { return .failure(.tooMany(limit: limit)) }
      if state.bytes + bytes > limitBytes { return .failure(.tooLarge(limitBytes: limitBytes)) }
      let name = Base64URL.randomIdentifier()
      state.entries[name] = Entry(value: value, owner: owner.name, bytes: bytes, end: instant + lease)
      state.bytes += bytes
      return .success(name)
    }
    return try refusalOrName.get()
  }

  /// What has that name, its lease renewed; `nil`: nothing that this owner made has.
  package func value(_ name: String, owner: Principal) -> Value? {
    let instant = now()
    return state.withLock { state in
      guard var entry = state.entries[name], entry.owner == owner.name, entry.end > instant else { return nil }
      entry.end = instant + lease
      state.entries[name] = entry
      return entry.value
    }
  }

  /// `false`: there is nothing of that name that this owner made.
  package func end(_ name: String, owner: Principal) -> Bool {
    state.withLock { state in
      guard let entry = state.entries[name], entry.owner == owner.name else { return false }
      state.entries[name] = nil
      state.bytes -= entry.bytes
      return true
    }
  }

  /// Gives up what was not renewed: to be called now and then.
  package func expire() {
    let instant = now()
    state.withLock { Self.expire(&$0, instant) }
  }

  package var count: Int { state.withLock { $0.entries.count } }
  package var bytes: Int { state.withLock { $0.bytes } }

  private static func expire(_ state: inout State, _ instant: ContinuousClock.Instant) {
    for (name, entry) in state.entries where entry.end <= instant {
      state.entries[name] = nil
      state.bytes -= entry.bytes
    }
  }
}
