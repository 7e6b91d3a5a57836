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
    /// What it takes, given back when it goes.
    let room: MemoryBudget.Reservation
    var end: ContinuousClock.Instant
  }

  package let lease: Duration
  private let limit: Int
  private let room: MemoryBudget
  private let now: @Sendable () -> ContinuousClock.Instant
  private let entries = Mutex<[String: Entry]>([:])

  /// - Parameters:
  ///   - limit: how many there may be at a time.
  ///   - room: what they may take in all, perhaps together with other tables.
  package init(
    limit: Int, room: MemoryBudget, lease: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.limit = limit
    self.room = room
    self.lease = lease
    self.now = now
  }

  /// Keeps something.
  ///
  /// - Parameter bytes: what it takes.
  /// - Returns: its name: 128 random bits.
  package func keep(_ value: Value, bytes: Int, owner: Principal) throws(Refusal) -> String {
    let instant = now()
    let refusalOrName: Result<String, Refusal> = entries.withLock { entries in
      Self.expire(&entries, instant)
      if entries.count >= limit { return .failure(.tooMany(limit: limit)) }
      guard let room = room.tryReserve(bytes) else { return .failure(.tooLarge(limitBytes: room.capacityBytes)) }
      let name = Base64URL.randomIdentifier()
      entries[name] = Entry(value: value, owner: owner.name, room: room, end: instant + lease)
      return .success(name)
    }
    return try refusalOrName.get()
  }

  /// What has that name, its lease renewed; `nil`: nothing that this owner made has.
  package func value(_ name: String, owner: Principal) -> Value? {
    let instant = now()
    return entries.withLock { entries in
      guard var entry = entries[name], entry.owner == owner.name, entry.end > instant else { return nil }
      entry.end = instant + lease
      entries[name] = entry
      return entry.value
    }
  }

  /// Whether this owner has something of that name. Its lease is not renewed by that.
  package func holds(_ name: String, owner: Principal) -> Bool {
    let instant = now()
    return entries.withLock { entries in
      entries[name].map { $0.owner == owner.name && $0.end > instant } ?? false
    }
  }

  /// `false`: there is nothing of that name that this owner made.
  package func end(_ name: String, owner: Principal) -> Bool {
    let instant = now()
    return entries.withLock { entries in
      guard let entry = entries[name], entry.owner == owner.name else { return false }
      entries[name] = nil
      return entry.end > instant
    }
  }

  /// Gives up what was not renewed: to be called now and then.
  package func expire() {
    let instant = now()
    entries.withLock { Self.expire(&$0, instant) }
  }

  /// Everything that is leased, whoever's it is.
  package var values: [Value] { entries.withLock { $0.values.map(\.value) } }

  package var count: Int { entries.withLock { $0.count } }

  private static func expire(_ entries: inout [String: Entry], _ instant: ContinuousClock.Instant) {
    for (name, entry) in entries where entry.end <= instant { entries[name] = nil }
  }
}
