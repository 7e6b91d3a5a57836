/// Values by key, within limits of their number and bytes. The values that were not used for longest are dropped first.
///
/// Not synchronised: its owner guards it. Operations take constant time, and looking up a value hashes its key once.
package struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    let key: Key
    let value: Value
    let bytes: Int
  }

  private let capacity: Int
  private let capacityBytes: Int
  private var positions: [Key: Int] = [:]
  /// `nil` at position 0 and at free positions.
  private var entries: [Entry?] = [nil]
  private var free: [Int] = []
  private var order = UseOrder()
  /// Bytes of all values.
  package private(set) var bytes = 0

  /// - Parameters:
  ///   - capacity: maximum number of values, at least 1.
  ///   - capacityBytes: maximum bytes of all values; 0 keeps none.
  package init(capacity: Int = .max, capacityBytes: Int = .max) {
    self.capacity = capacity
    self.capacityBytes = capacityBytes
  }

  /// The least recently used value. Does not count as a use.
  package var oldest: Value? { entries[order.oldest]?.value }

  package mutating func value(for key: Key) -> Value? {
    guard let position = positions[key] else { return nil }
    order.remove(position)
    order.append(position)
    return entries[position]?.value
  }

  /// Keeps a value in place of an earlier one of its key, unless it exceeds the limit by itself.
  ///
  /// - Returns: the values that were dropped for it, for a caller that releases them after its lock.
  @discardableResult
  package mutating func keep(_ value: Value, for key: Key, bytes added: Int = 0) -> [Value] {
    guard added <= capacityBytes else { return [] }
    var dropped: [Value] = []
    if let previous = removeValue(for: key) { dropped.append(previous) }
    while positions.count >= capacity || bytes + added > capacityBytes, let oldest = removeOldest() {
      dropped.append(oldest)
    }
    if free.isEmpty {
      free.append(entries.count)
      entries.append(nil)
      order.grow()
    }
    let position = free.removeLast()
    entries[position] = Entry(key: key, value: value, bytes: added)
    positions[key] = position
    bytes += added
    order.append(position)
    return dropped
  }

  @discardableResult
  package mutating func removeOldest() -> Value? { remove(at: order.oldest) }

  package mutating func removeValue(for key: Key) -> Value? {
    guard let position = positions[key] else { return nil }
    return remove(at: position)
  }

  private mutating func remove(at position: Int) -> Value? {
    guard let entry = entries[position] else { return nil }
    order.remove(position)
    entries[position] = nil
    positions[entry.key] = nil
    free.append(position)
    bytes -= entry.bytes
    return entry.value
  }
}

/// Positions in the order of their use: a ring, in which the oldest one comes after 0 and the newest one before it.
private struct UseOrder: Sendable {
  private struct Links {
    var older = 0
    var newer = 0
  }

  private var links = [Links()]

  /// 0 if there is none.
  var oldest: Int { links[0].newer }

  /// Makes room for one more position.
  mutating func grow() { links.append(Links()) }

  mutating func remove(_ position: Int) {
    let (older, newer) = (links[position].older, links[position].newer)
    links[older].newer = newer
    links[newer].older = older
  }

  /// Makes a position the newest one.
  mutating func append(_ position: Int) {
    let newest = links[0].older
    links[position] = Links(older: newest, newer: 0)
    links[newest].newer = position
    links[0].older = position
  }
}
