// The order of a level of collections: those of a folder, or the user's albums and folders at the top level. Each has a
// position number, with gaps for later insertions, like the members of an album (AlbumOrder). When a gap is full, the
// collections around it are renumbered: as few as possible. Renumbering is not a change of these collections, because
// they keep their order.

import GRDB

struct CollectionOrder {
  let db: Database
  /// The folder's row; `nil` for the top level.
  let folder: Int64?

  /// The number of collections, without those given by their rows.
  func count(without moved: [Int64] = []) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT count(*) \(Self.others)"), arguments: [folder, RowNumbers.json(moved)]) ?? 0
  }

  /// The rows of `count` collections from an index on; fewer at the end.
  func rows(from index: Int, count: Int) throws -> [Int64] {
    try slots(from: index, count: count, without: []).map(\.row)
  }

  /// Moves collections, also from other levels, before the one at `index`, which counts without them and is at most
  /// their count.
  ///
  /// - Parameter token: of the change; the new revision of the moved collections.
  func place(_ moved: [Int64], at index: Int, token: Int64) throws {
    guard let next = try slots(from: index, count: 1, without: moved).first?.position else {
      let last = index > 0 ? try slots(from: index - 1, count: 1, without: moved).first?.position : nil
      return try write(moved, first: (last ?? 0) + GapPlan.gap, step: GapPlan.gap, token)
    }
    guard index > 0 else {
      return try write(moved, first: next - Int64(moved.count) * GapPlan.gap, step: GapPlan.gap, token)
    }
    var ends = try self.ends(of: index, without: moved)
    if GapPlan.step(between: ends.before, and: ends.after, for: moved.count) < 1 {
      try renumber(around: index, without: moved)
      ends = try self.ends(of: index, without: moved)
    }
    let step = GapPlan.step(between: ends.before, and: ends.after, for: moved.count)
    try write(moved, first: ends.before + step, step: step, token)
  }

  private struct Slot {
    let row: Int64
    let position: Int64
  }

  /// Without smart albums, which have no position among the user's collections.
  private static let others = """
    FROM collection INDEXED BY collectionByParent
    WHERE parent IS ?1 AND type <> 'smartAlbum' AND id NOT IN (SELECT value FROM json_each(?2))
    """

  private func slots(from index: Int, count: Int, without moved: [Int64]) throws -> [Slot] {
    try Row.fetchAll(
      db.cachedStatement(sql: "SELECT id, position \(Self.others) ORDER BY position, id LIMIT ?3 OFFSET ?4"),
      arguments: [folder, RowNumbers.json(moved), count, index]
    ).map { Slot(row: $0[0], position: $0[1]) }
  }

  /// The positions before and after a gap, which has a collection on both sides.
  private func ends(of index: Int, without moved: [Int64]) throws -> (before: Int64, after: Int64) {
    let slots = try slots(from: index - 1, count: 2, without: moved)
    guard slots.count == 2 else { preconditionFailure("a gap has two ends") }
    return (slots[0].position, slots[1].position)
  }

  private func write(_ moved: [Int64], first: Int64, step: Int64, _ token: Int64) throws {
    let statement = try db.cachedStatement(
      sql: "UPDATE collection SET parent = ?, position = ?, revision = ? WHERE id = ?")
    for (offset, row) in moved.enumerated() {
      try statement.execute(arguments: [folder, first + Int64(offset) * step, token, row])
    }
  }

  /// Makes room for the moved collections before the one at `index`: renumbers a growing window of collections around
  /// it until the gaps are large enough.
  private func renumber(around index: Int, without moved: [Int64]) throws {
    let statement = try db.cachedStatement(sql: "UPDATE collection SET position = ?1 WHERE id = ?2 AND position <> ?1")
    var window = GapPlan.initialWindow
    while true {
      let first = max(0, index - window)
      let inside = try slots(from: first, count: index - first + window, without: moved)
      let before = first > 0 ? try slots(from: first - 1, count: 1, without: moved).first?.position : nil
      let after = try slots(from: first + inside.count, count: 1, without: moved).first?.position
      let plan = GapPlan(
        before: before, after: after, last: inside.last?.position, count: inside.count, added: moved.count)
      if let plan {
        for (offset, slot) in inside.enumerated() {
          // The gap for the moved collections is directly before the one at `index`.
          let target = plan.target(offset, isAfterInsertion: first + offset >= index)
          try statement.execute(arguments: [target, slot.row])
        }
        return
      }
      window *= 4
    }
  }
}
