/// Values by key, within a limit of bytes. The values that were not used for longest are dropped first.
///
/// Not synchronised: its owner guards it. Dropping looks at all entries, so it is meant for hundreds of values.
struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry {
    let value: Value
    let bytes: Int
    var lastUse: UInt64
  }

  private let capacityBytes: Int
  private var entries: [Key: Entry] = [:]
  private var clock: UInt64 = 0
  /// Bytes of all values.
  private(set) var bytes = 0

  /// - Parameter capacityBytes: maximum bytes of all values; 0 keeps none.
  init(capacityBytes: Int) { self.capacityBytes = capacityBytes }

  mutating func value(for key: Key) -> Value? {
    clock += 1
    entries[key]?.lastUse = clock
    return entries[key]?.value
  }

  /// Keeps a value in place of an earlier one of its key, unless it exceeds the limit by itself.
  mutating func keep(_ value: Value, for key: Key, bytes added: Int) {
    guard added <= capacityBytes else { return }
    if let previous = entries.removeValue(forKey: key) { bytes -= previous.bytes }
    while bytes + added > capacityBytes, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
      bytes -= oldest.value.bytes
      entries[oldest.key] = nil
    }
    bytes += added
    entries[key] = Entry(value: value, bytes: added, lastUse: clock)
  }
}
