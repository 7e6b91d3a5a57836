// The order of an album. Each member has a position number, with gaps for later insertions. When a gap is full, the
// members around it are renumbered: as few as possible, and the whole album only as a last resort. Assets in the trash
// keep a position and are renumbered with their neighbours, so that a restored asset returns to its old place.

import GRDB

struct AlbumOrder {
  let db: Database
  /// The album's row.
  let row: Int64

  func count() throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT sum(value) FROM memberCount WHERE collection = ?"), arguments: [row]) ?? 0
  }

  func contains(_ asset: Int64) throws -> Bool { try position(of: asset) != nil }

  func position(of asset: Int64) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT position FROM member WHERE asset = ? AND collection = ?"),
      arguments: [asset, row])
  }

  /// The member at an index. O(index).
  func member(at index: Int) throws -> (asset: Int64, position: Int64)? {
    try Row.fetchOne(
      db.cachedStatement(
        sql: "SELECT asset, position FROM member WHERE collection = ? ORDER BY position LIMIT 1 OFFSET ?"),
      arguments: [row, index]
    ).map { ($0[0], $0[1]) }
  }

  /// The members at indexes of the album, in the order of the indexes. O(the largest index).
  ///
  /// - Parameter indexes: all less than `count()`.
  func members(at indexes: [Int]) throws -> [(asset: Int64, position: Int64)] {
    guard let first = indexes.min(), let last = indexes.max() else { return [] }
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: "SELECT asset, position FROM member WHERE collection = ? ORDER BY position LIMIT ? OFFSET ?"),
      arguments: [row, last - first + 1, first])
    let wanted = Set(indexes)
    var found: [Int: (asset: Int64, position: Int64)] = [:]
    var index = first
    while let row = try rows.next() {
      if wanted.contains(index) { found[index] = (row[0], row[1]) }
      index += 1
    }
    return try indexes.map { index in
      guard let member = found[index] else { throw DatabaseError(message: "an album has fewer members than its count") }
      return member
    }
  }

  /// The members from an index on; fewer at the end. O(index + count).
  func members(from index: Int, count: Int) throws -> [Int64] {
    try Int64.fetchAll(
      db.cachedStatement(sql: "SELECT asset FROM member WHERE collection = ? ORDER BY position LIMIT ? OFFSET ?"),
      arguments: [row, count, index])
  }

  func remove(_ asset: Int64) throws {
    try db.cachedStatement(sql: "DELETE FROM member WHERE asset = ? AND collection = ?")
      .execute(arguments: [asset, row])
  }

  /// Adds a member at a free position, with copies of the asset's columns.
  func put(_ asset: Int64, at position: Int64) throws {
    try db.cachedStatement(
      sql: """
        INSERT INTO member (collection, position, asset, creationDate, listing)
        SELECT ?, ?, id, creationDate, listing FROM asset WHERE id = ?
        """
    ).execute(arguments: [row, position, asset])
  }

  /// Adds members at the end: also after members in the trash, which keep their positions.
  func append(_ assets: [Int64]) throws {
    let last = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT max(position) FROM (
            SELECT max(position) AS position FROM member WHERE collection = ?1
            UNION ALL SELECT max(position) FROM trashPlace
              WHERE collection = (SELECT localIdentifier FROM collection WHERE id = ?1))
          """), arguments: [row])
    try write(assets, first: (last ?? 0) + GapPlan.gap, step: GapPlan.gap)
  }

  /// Inserts members before the one at `index`, which is at most the member count.
  func insert(_ assets: [Int64], at index: Int) throws {
    guard let next = try member(at: index)?.position else { return try append(assets) }
    guard index > 0 else {
      return try write(assets, first: next - Int64(assets.count) * GapPlan.gap, step: GapPlan.gap)
    }
    var ends = (before: try position(before: next), after: next)
    if GapPlan.step(between: ends.before, and: ends.after, for: assets.count) < 1 {
      try renumber(around: index, for: assets.count)
      guard let next = try member(at: index)?.position else { return try append(assets) }
      ends = (before: try position(before: next), after: next)
    }
    let step = GapPlan.step(between: ends.before, and: ends.after, for: assets.count)
    try write(assets, first: ends.before + step, step: step)
  }

  private func position(before position: Int64) throws -> Int64 {
    try Int64.fetchOne(
      db.cachedStatement(
        sql: "SELECT position FROM member WHERE collection = ? AND position < ? ORDER BY position DESC LIMIT 1"),
      arguments: [row, position]) ?? position - GapPlan.gap
  }

  private func write(_ assets: [Int64], first: Int64, step: Int64) throws {
    for (offset, asset) in assets.enumerated() { try put(asset, at: first + Int64(offset) * step) }
  }

  /// Makes room before the member at `index`: renumbers a growing window of members around it until the gaps are large
  /// enough.
  private func renumber(around index: Int, for added: Int) throws {
    var window = GapPlan.initialWindow
    let name = try String.fetchOne(db, sql: "SELECT localIdentifier FROM collection WHERE id = ?", arguments: [row])
    while true {
      let first = max(0, index - window)
      let positions = try Int64.fetchAll(
        db.cachedStatement(
          sql: "SELECT position FROM member WHERE collection = ? ORDER BY position LIMIT ? OFFSET ?"),
        arguments: [row, index - first + window, first])
      let before = first > 0 ? try member(at: first - 1)?.position : nil
      let after = try member(at: first + positions.count)?.position
      let trashed = try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT position, trash FROM trashPlace
            WHERE collection = ?1 AND position IS NOT NULL AND (?2 IS NULL OR position > ?2)
              AND (?3 IS NULL OR position < ?3)
            """), arguments: [name, before, after]
      ).map { Slot(position: $0[0], trash: $0[1]) }
      let slots = (positions.map { Slot(position: $0) } + trashed).sorted { $0 < $1 }
      let plan = GapPlan(before: before, after: after, last: positions.last, count: slots.count, added: added)
      if let plan {
        // The gap for the new members is directly before the member at `index`.
        let next = Slot(position: positions[index - first])
        let targets = slots.enumerated().map { offset, slot in plan.target(offset, isAfterInsertion: slot >= next) }
        return try move(slots, to: targets, name)
      }
      window *= 4
    }
  }

  /// A position in use, by a member or by an asset in the trash.
  private struct Slot: Comparable {
    let position: Int64
    /// The row in the trash, if the asset is in the trash.
    var trash: Int64?

    /// If a member has taken the position of a trashed asset, the asset returns directly after that member.
    static func < (lhs: Slot, rhs: Slot) -> Bool { (lhs.position, lhs.trash ?? 0) < (rhs.position, rhs.trash ?? 0) }
  }

  /// Assigns new positions in the same order: first to slots that move up, from last to first, then to those that move
  /// down, from first to last. So no two slots ever have the same position.
  private func move(_ slots: [Slot], to targets: [Int64], _ name: String?) throws {
    let member = try db.cachedStatement(sql: "UPDATE member SET position = ? WHERE collection = ? AND position = ?")
    let trashed = try db.cachedStatement(sql: "UPDATE trashPlace SET position = ? WHERE collection = ? AND trash = ?")
    func move(_ slot: Slot, to target: Int64) throws {
      if let trash = slot.trash {
        try trashed.execute(arguments: [target, name, trash])
      } else {
        try member.execute(arguments: [target, row, slot.position])
      }
    }
    for (slot, target) in zip(slots, targets).reversed() where target > slot.position { try move(slot, to: target) }
    for (slot, target) in zip(slots, targets) where target < slot.position { try move(slot, to: target) }
  }
}
