// The order of an album: each member has a number, and there is room between two for others. Where it runs out, the numbers
// around are spread anew, over as few members as it takes; never those of the whole album but at last. Those that are in the
// trash have numbers as well, and are spread along with the members around them: they come back to where they were.

import GRDB

struct AlbumOrder {
  /// Between two that are added behind one another.
  static let gap: Int64 = 1 << 20
  /// After numbers were spread anew there is room for so many more between any two.
  private static let leastRoom: Int64 = 1 << 8
  /// Members to each side that are spread anew, to begin with.
  private static let firstWindow = 16

  let db: Database
  /// The album, by its row.
  let album: Int64

  func count() throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(sql: "SELECT sum(value) FROM memberCount WHERE collection = ?"), arguments: [album]) ?? 0
  }

  func contains(_ asset: Int64) throws -> Bool { try position(of: asset) != nil }

  func position(of asset: Int64) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT position FROM member WHERE asset = ? AND collection = ?"),
      arguments: [asset, album])
  }

  /// The member at an index. Takes a step for each one before it.
  func member(at index: Int) throws -> (asset: Int64, position: Int64)? {
    try Row.fetchOne(
      db.cachedStatement(
        sql: "SELECT asset, position FROM member WHERE collection = ? ORDER BY position LIMIT 1 OFFSET ?"),
      arguments: [album, index]
    ).map { ($0[0], $0[1]) }
  }

  func remove(_ asset: Int64) throws {
    try db.cachedStatement(sql: "DELETE FROM member WHERE asset = ? AND collection = ?")
      .execute(arguments: [asset, album])
  }

  /// Behind the last.
  func append(_ assets: [Int64]) throws {
    let last = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT max(position) FROM member WHERE collection = ?"), arguments: [album])
    try write(assets, first: (last ?? 0) + Self.gap, step: Self.gap)
  }

  /// Before the member at an index, which is at most their count.
  func insert(_ assets: [Int64], at index: Int) throws {
    guard let next = try member(at: index)?.position else { return try append(assets) }
    guard index > 0 else {
      return try write(assets, first: next - Int64(assets.count) * Self.gap, step: Self.gap)
    }
    let count = Int64(assets.count)
    var room = try room(before: next)
    if room.step(count) < 1 {
      try spread(around: index, for: count)
      guard let next = try member(at: index)?.position else { return try append(assets) }
      room = try self.room(before: next)
    }
    try write(assets, first: room.after + room.step(count), step: room.step(count))
  }

  /// The numbers that are free before a member.
  private struct Room {
    let after: Int64
    let before: Int64

    /// Between two of so many that are put there; 0: they don't fit.
    func step(_ count: Int64) -> Int64 { (before - after) / (count + 1) }
  }

  private func room(before position: Int64) throws -> Room {
    let previous = try Int64.fetchOne(
      db.cachedStatement(
        sql: "SELECT position FROM member WHERE collection = ? AND position < ? ORDER BY position DESC LIMIT 1"),
      arguments: [album, position])
    return Room(after: previous ?? position - Self.gap, before: position)
  }

  private func write(_ assets: [Int64], first: Int64, step: Int64) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO member (collection, position, asset, creationDate, listing)
        SELECT ?, ?, id, creationDate, listing FROM asset WHERE id = ?
        """)
    for (offset, asset) in assets.enumerated() {
      try statement.execute(arguments: [album, first + Int64(offset) * step, asset])
    }
  }

  /// Makes room before the member at an index: members around it, more and more of them, get new numbers until there is
  /// enough between any two.
  private func spread(around index: Int, for newcomers: Int64) throws {
    var window = Self.firstWindow
    let name = try String.fetchOne(db, sql: "SELECT localIdentifier FROM collection WHERE id = ?", arguments: [album])
    while true {
      let first = max(0, index - window)
      let positions = try Int64.fetchAll(
        db.cachedStatement(
          sql: "SELECT position FROM member WHERE collection = ? ORDER BY position LIMIT ? OFFSET ?"),
        arguments: [album, index - first + window, first])
      let before = first > 0 ? try member(at: first - 1)?.position : nil
      let after = try member(at: first + positions.count)?.position
      let trashed = try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT position, trash FROM trashPlace
            WHERE collection = ?1 AND position IS NOT NULL AND (?2 IS NULL OR position > ?2)
              AND (?3 IS NULL OR position < ?3)
            """), arguments: [name, before, after]
      ).map { Place(position: $0[0], trash: $0[1]) }
      let places = (positions.map { Place(position: $0) } + trashed).sorted { $0 < $1 }
      let count = Int64(places.count)
      let needed = (count + newcomers + 1) * Self.leastRoom
      // At an end there is as much room as is asked for.
      let lower = before ?? (after ?? positions.last ?? 0) - (count + newcomers + 1) * Self.gap
      let upper = after ?? lower + (count + newcomers + 1) * Self.gap
      if upper - lower >= needed {
        let step = (upper - lower) / (count + newcomers + 1)
        // What is to be between two of them has its room there.
        let next = Place(position: positions[index - first])
        let targets = places.enumerated().map { offset, place in
          lower + step * (Int64(offset) + 1 + (place < next ? 0 : newcomers))
        }
        return try move(places, to: targets, name)
      }
      window *= 4
    }
  }

  /// A member, or one that is in the trash.
  private struct Place: Comparable {
    let position: Int64
    /// The row of the trash, of one that is there.
    var trash: Int64?

    /// Whose number was given to a member meanwhile comes back right behind that.
    static func < (lhs: Place, rhs: Place) -> Bool { (lhs.position, lhs.trash ?? 0) < (rhs.position, rhs.trash ?? 0) }
  }

  /// Gives members other numbers in the same order, without two having one on the way: those that go up from the last to the
  /// first, then those that go down from the first to the last.
  private func move(_ places: [Place], to targets: [Int64], _ name: String?) throws {
    let member = try db.cachedStatement(sql: "UPDATE member SET position = ? WHERE collection = ? AND position = ?")
    let trashed = try db.cachedStatement(sql: "UPDATE trashPlace SET position = ? WHERE collection = ? AND trash = ?")
    func move(_ place: Place, to target: Int64) throws {
      if let trash = place.trash {
        try trashed.execute(arguments: [target, name, trash])
      } else {
        try member.execute(arguments: [target, album, place.position])
      }
    }
    for (place, target) in zip(places, targets).reversed() where target > place.position {
      try move(place, to: target)
    }
    for (place, target) in zip(places, targets) where target < place.position { try move(place, to: target) }
  }
}
