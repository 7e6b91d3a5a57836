// The order of a level of collections: those of a folder, or the user's albums and folders at the top level. Each has a
// position number, with gaps for later insertions, like the members of an album (AlbumOrder). When a gap is full, the
// collections around it are renumbered: as few as possible. Renumbering is not a change of these collections, because
// they keep their order.

import GRDB

struct CollectionOrder {
  /// The minimum gap between two collections after a renumbering.
  private static let minimumGap: Int64 = 1 << 8
  /// The initial number of collections to renumber on each side.
  private static let initialWindow = 16

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
    let count = Int64(moved.count)
    guard let next = try slots(from: index, count: 1, without: moved).first?.position else {
      let last = index > 0 ? try slots(from: index - 1, count: 1, without: moved).first?.position : nil
      return try write(moved, first: (last ?? 0) + AlbumOrder.gap, step: AlbumOrder.gap, token)
    }
    guard index > 0 else {
      return try write(moved, first: next - count * AlbumOrder.gap, step: AlbumOrder.gap, token)
    }
    var ends = try self.ends(of: index, without: moved)
    if (ends.after - ends.before) / (count + 1) < 1 {
      try renumber(around: index, without: moved)
      ends = try self.ends(of: index, without: moved)
    }
    let step = (ends.after - ends.before) / (count + 1)
    try write(moved, first: ends.before + step, step: step, token)
  }

  private struct Slot {
    let row: Int64
    let position: Int64
  }

  /// Smart albums have no place among the user's collections.
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
    var window = Self.initialWindow
    while true {
      let first = max(0, index - window)
      let inside = try slots(from: first, count: index - first + window, without: moved)
      let before = first > 0 ? try slots(from: first - 1, count: 1, without: moved).first?.position : nil
      let after = try slots(from: first + inside.count, count: 1, without: moved).first?.position
      let steps = Int64(inside.count + moved.count + 1)
      // Beyond the first and the last collection there is unlimited room.
      let lower = before ?? (after ?? inside.last?.position ?? 0) - steps * AlbumOrder.gap
      let upper = after ?? lower + steps * AlbumOrder.gap
      if upper - lower >= steps * Self.minimumGap {
        let step = (upper - lower) / steps
        for (offset, slot) in inside.enumerated() {
          // The new collections get their room directly before the one at `index`.
          let place = offset + 1 + (first + offset < index ? 0 : moved.count)
          try statement.execute(arguments: [lower + step * Int64(place), slot.row])
        }
        return
      }
      window *= 4
    }
  }
}
