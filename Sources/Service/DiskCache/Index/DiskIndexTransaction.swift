import GRDB

/// Changes rows, and updates the totals with them.
struct DiskIndexTransaction {
  struct OldestEntry {
    let name: EntryName
    let bytes: Int64
    let lastUse: Int64
  }

  let db: Database
  private(set) var totals: [EntryGroup: DiskIndex.Total]

  init(db: Database, totals: [EntryGroup: DiskIndex.Total]) {
    self.db = db
    self.totals = totals
  }

  var bytes: Int64 { totals.values.reduce(0) { $0 + $1.bytes } }

  /// Inserts a row. There must be no row with this name.
  mutating func insert(_ name: EntryName, bytes: Int64, lastUse: Int64) throws {
    _ = try db.integers(
      "INSERT INTO entry (kind, epoch, high, low, bytes, lastUse) VALUES (?, ?, ?, ?, ?, ?)",
      columns(of: name) + [bytes, lastUse])
    totals[name.group, default: DiskIndex.Total()].entries += 1
    totals[name.group, default: DiskIndex.Total()].bytes += bytes
  }

  /// Records a later use. Does nothing if there is no such row.
  func touch(_ name: EntryName, lastUse: Int64) throws {
    _ = try db.integers(
      "UPDATE entry SET lastUse = ? WHERE kind = ? AND epoch = ? AND high = ? AND low = ?",
      [lastUse] + columns(of: name))
  }

  func contains(_ name: EntryName) throws -> Bool {
    let rows = try db.integers(
      "SELECT 1 FROM entry WHERE kind = ? AND epoch = ? AND high = ? AND low = ?", columns(of: name))
    return !rows.isEmpty
  }

  /// Removes a row. Returns whether it existed.
  @discardableResult
  mutating func remove(_ name: EntryName) throws -> Bool {
    let removed = try db.integers(
      "DELETE FROM entry WHERE kind = ? AND epoch = ? AND high = ? AND low = ? RETURNING bytes", columns(of: name))
    guard let bytes = removed.first?.first else { return false }
    guard let total = totals[name.group], total.entries >= 1, total.bytes >= bytes else {
      throw DiskFault.indexDamaged("totals are less than their rows")
    }
    totals[name.group] = DiskIndex.Total(entries: total.entries - 1, bytes: total.bytes - bytes)
    return true
  }

  /// The least recently used entry.
  func oldest(in group: EntryGroup) throws -> OldestEntry? {
    let rows = try db.integers(
      "SELECT high, low, bytes, lastUse FROM entry WHERE kind = ? AND epoch = ? ORDER BY lastUse LIMIT 1",
      columns(of: group))
    return rows.first.map {
      OldestEntry(name: EntryName(group: group, key: DiskStore.Key(row: $0)), bytes: $0[2], lastUse: $0[3])
    }
  }

  /// All entries of a subject, of any kind and epoch.
  func entries(of subject: DiskStore.Subject) throws -> [EntryName] {
    try totals.keys.flatMap { group in
      try db.integers(
        "SELECT high, low FROM entry WHERE kind = ? AND epoch = ? AND high = ?",
        columns(of: group) + [Int64(bitPattern: subject.number)]
      ).map { EntryName(group: group, key: DiskStore.Key(row: $0)) }
    }
  }

  /// Up to `limit` entries of a group, ordered by folder.
  func entries(of group: EntryGroup, limit: Int) throws -> [EntryName] {
    let rows = try db.integers(
      "SELECT high, low FROM entry WHERE kind = ? AND epoch = ? ORDER BY high, low LIMIT ?",
      columns(of: group) + [Int64(limit)])
    return rows.map { EntryName(group: group, key: DiskStore.Key(row: $0)) }
  }

  /// Removes the total of a group that has no rows.
  mutating func forget(_ group: EntryGroup) { totals[group] = nil }

  func writeTotals(changedFrom old: [EntryGroup: DiskIndex.Total]) throws {
    for (group, total) in totals where old[group] != total {
      _ = try db.integers(
        "INSERT OR REPLACE INTO total (kind, epoch, entries, bytes) VALUES (?, ?, ?, ?)",
        columns(of: group) + [Int64(total.entries), total.bytes])
    }
    for group in old.keys where totals[group] == nil {
      _ = try db.integers("DELETE FROM total WHERE kind = ? AND epoch = ?", columns(of: group))
    }
  }

  private func columns(of group: EntryGroup) -> [Int64] { [Int64(group.kind.rawValue), Int64(group.epoch)] }

  private func columns(of name: EntryName) -> [Int64] {
    columns(of: name.group) + [Int64(bitPattern: name.key.high), Int64(bitPattern: name.key.low)]
  }
}
