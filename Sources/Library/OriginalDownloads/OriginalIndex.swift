// Which originals are local, in which order they were used, and which of them may be evicted. A value without I/O.

import DequeModule

struct OriginalIndex: Sendable {
  private struct Entry {
    let size: Int64
    /// The stamp of the last use: the newest of this entry's stamps in `order`.
    var stamp: UInt64
  }

  let capacityBytes: Int64
  private(set) var usedBytes: Int64 = 0
  /// For downloads under way.
  private(set) var reservedBytes: Int64 = 0

  private var entries: [OriginalName: Entry] = [:]
  private var pins: [OriginalName: Int] = [:]
  private var holds: [OriginalName: Int] = [:]
  private var lastStamp: UInt64 = 0
  /// Uses from old to new. An element whose stamp is not its entry's is stale.
  private var order: Deque<(name: OriginalName, stamp: UInt64)> = []

  init(capacityBytes: Int64) { self.capacityBytes = capacityBytes }

  var count: Int { entries.count }
  func contains(_ name: OriginalName) -> Bool { entries[name] != nil }

  /// Reserves room for a download. Returns the originals to delete, which are no longer in the index; `nil` if there is
  /// no room, and then nothing has changed.
  mutating func reserve(_ bytes: Int64) -> [OriginalName]? {
    let excess = usedBytes + reservedBytes + bytes - capacityBytes
    guard excess <= 0 || removableBytes(upTo: excess) >= excess else { return nil }
    reservedBytes += bytes
    let sparesHeld = excess > 0 && removableBytes(upTo: excess, sparingHeld: true) >= excess
    var removed: [OriginalName] = []
    while usedBytes + reservedBytes > capacityBytes, let (name, stamp) = order.popFirst() {
      guard let entry = entries[name], entry.stamp == stamp else { continue }
      if pins[name] != nil || (sparesHeld && holds[name] != nil) {
        touch(name)
        continue
      }
      remove(name)
      removed.append(name)
    }
    return removed
  }

  /// Whether originals would make enough room once all downloads under way have ended, as far as is known now.
  func mayHaveRoom(for bytes: Int64) -> Bool {
    usedBytes - removableBytes(upTo: .max) + bytes <= capacityBytes
  }

  mutating func release(_ bytes: Int64) { reservedBytes -= bytes }

  /// Adds an original as the most recently used one. The caller releases its reservation, if it has one.
  mutating func insert(_ name: OriginalName, size: Int64) {
    remove(name)
    entries[name] = Entry(size: size, stamp: 0)
    usedBytes += size
    touch(name)
  }

  mutating func touch(_ name: OriginalName) {
    guard entries[name] != nil else { return }
    lastStamp += 1
    entries[name]?.stamp = lastStamp
    order.append((name, lastStamp))
    // Removes the stale elements once they outnumber the others.
    if order.count > 2 * entries.count + 64 {
      order = Deque(order.filter { entries[$0.name]?.stamp == $0.stamp })
    }
  }

  mutating func remove(_ name: OriginalName) {
    if let entry = entries.removeValue(forKey: name) { usedBytes -= entry.size }
  }

  /// Originals with a pin are not evicted. An original may be pinned before it is local, and more than once.
  mutating func pin(_ name: OriginalName) { pins[name, default: 0] += 1 }

  mutating func unpin(_ name: OriginalName) {
    guard let count = pins[name] else { return }
    pins[name] = count > 1 ? count - 1 : nil
  }

  /// An original that is held is evicted only if evicting all others does not make enough room. It may be held more
  /// than once.
  mutating func hold(_ name: OriginalName) { holds[name, default: 0] += 1 }

  mutating func endHold(_ name: OriginalName) {
    guard let count = holds[name] else { return }
    holds[name] = count > 1 ? count - 1 : nil
  }

  /// The number of bytes that may be evicted; stops counting at `wanted`.
  private func removableBytes(upTo wanted: Int64, sparingHeld: Bool = false) -> Int64 {
    var bytes: Int64 = 0
    for (name, entry) in entries where pins[name] == nil && !(sparingHeld && holds[name] != nil) {
      bytes += entry.size
      if bytes >= wanted { break }
    }
    return bytes
  }
}
