import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel

/// A library whose tables a test changes directly, each time in one commit with a row in the history.
final class ChangingLibrary {
  let synthetic: SyntheticLibrary
  var catalogue: Catalogue { synthetic.catalogue }
  private(set) var albums: [(row: Int64, identifier: LocalIdentifier)] = []
  private var nextAlbum = 0
  private var lastRow: Int64

  init(_ count: Int, _ dice: inout Dice) throws {
    synthetic = try SyntheticLibrary((1...Int64(count)).map { SyntheticAsset($0, &dice) })
    lastRow = Int64(count)
    // Their revisions are older than the history.
    try synthetic.queue.write {
      try $0.execute(sql: "UPDATE library SET revision = 1, nonLocationRevision = 1, createdRevision = 1 WHERE id = 0")
    }
    for _ in 0..<3 { try makeAlbum(&dice) }
  }

  private func makeAlbum(_ dice: inout Dice) throws {
    nextAlbum += 1
    let rows = try rows().shuffled(using: &dice).prefix(60)
    albums.append(
      (try synthetic.makeAlbum("\(nextAlbum)", Array(rows)), LocalIdentifier("album-\(nextAlbum)")))
  }

  private func rows() throws -> [Int64] {
    try synthetic.queue.read { try Int64.fetchAll($0, sql: "SELECT id FROM asset ORDER BY id") }
  }

  func token() throws -> ChangeToken {
    let number = try synthetic.queue.read {
      try Int64.fetchOne($0, sql: "SELECT revision FROM library WHERE id = 0")
    }
    return ChangeToken(number ?? 0)
  }

  func everything() throws -> FetchResult {
    var fetch = AssetFetch()
    (fetch.includesHidden, fetch.includesAllBurstAssets) = (true, true)
    let found = try catalogue.rows(fetch, atMost: 1000, deadline: nil, for: .local)
    return FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch)
  }

  func changes(of result: FetchResult) throws -> FetchResultDelta? {
    try catalogue.changes(of: result, mayReadAll: true, atMost: 1000, deadline: nil, for: .local)
  }

  /// The current result of the fetch; a deleted album is empty.
  func fetch(of result: FetchResult) throws -> AssetFetch {
    var fetch = result.fetch
    if let collection = result.collection, !albums.contains(where: { $0.identifier == collection }) {
      fetch.scope = .rows([])
    }
    return fetch
  }

  /// Assets with the tokens of their last visible changes.
  func listed(_ rows: [UInt32], for principal: Principal) throws -> [Listed] {
    let revision = principal.may(.location) ? "revision" : "coalesce(nonLocationRevision, revision)"
    return try synthetic.queue.read { db in
      let statement = try db.makeStatement(sql: "SELECT \(revision) FROM asset WHERE id = ?")
      return try rows.map { Listed(row: Int64($0), revision: try Int64.fetchOne(statement, arguments: [$0]) ?? -1) }
    }
  }

  func commit(_ body: (Database) throws -> Void) throws {
    try synthetic.queue.write { db in
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      try body(db)
      try db.execute(
        sql: """
          INSERT INTO change (library, token, time, objects, isLocationOnly)
          SELECT 0, revision, 0, 1,
            NOT EXISTS (SELECT 1 FROM changedObject WHERE token = revision AND isLocationOnly = 0)
          FROM library WHERE id = 0
          """)
    }
  }

  /// A number of random changes, in one commit or in several.
  func change(_ count: Int, _ dice: inout Dice) throws {
    var left = count
    while left > 0 {
      let now = dice.oneIn(2) ? left : 1 + dice.below(left)
      left -= now
      // Albums and assets are created in additional commits, which are not counted.
      let mayMakeAlbum = count < 100 && dice.oneIn(12)
      var dice2 = dice
      try commit { db in for _ in 0..<now { try changeOne(db, &dice2) } }
      dice = dice2
      if mayMakeAlbum { try makeAlbum(&dice) }
    }
  }

  private func changeOne(_ db: Database, _ dice: inout Dice) throws {
    // One of the first assets if there are many, because they are looked up by number.
    let last = try Int64.fetchOne(db, sql: "SELECT max(id) FROM asset") ?? 0
    let asset = try Int64.fetchOne(
      db, sql: "SELECT id FROM asset WHERE id >= ? ORDER BY id LIMIT 1", arguments: [Int64(dice.below(Int(last) + 1))])
    guard let asset, !dice.oneIn(8) else { return try insert(db, &dice) }
    switch dice.below(20) {
    case 0, 1: try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [asset])
    case 2, 3, 4: try set(db, "isFavorite = 1 - isFavorite", asset)
    case 5: try set(db, "isHidden = 1 - isHidden", asset)
    case 6, 7: try set(db, "creationDate = \(dice.below(12) * 43_200_000 - 86_400_000)", asset)
    case 8: try set(db, "originalFilename = '\(dice.one(of: ["IMG_1.jpg", "B.png", "\u{E9}.jpg", ""]))'", asset)
    case 9: try set(db, "mediaSubtypes = \(dice.below(32)), mediaType = \(dice.below(4))", asset)
    case 10, 11:
      try set(
        db, dice.oneIn(3) ? "latitude = NULL, longitude = NULL" : "latitude = \(dice.below(3)), longitude = 18.5", asset
      )
    case 12:
      let burst = dice.oneIn(3) ? "NULL" : "'burst\(dice.below(3))'"
      try set(db, "burstIdentifier = \(burst), representsBurst = \(dice.below(2))", asset)
    case 13: try set(db, "duration = \(dice.one(of: ["0", "1.5", "1e300"])), pixelWidth = \(dice.below(3) + 1)", asset)
    case 14:
      try set(db, "contentVersion = contentVersion || 'x', adjustments = \(dice.oneIn(2) ? "NULL" : "'[]'")", asset)
    default: try changeAlbum(db, asset, &dice)
    }
  }

  private func set(_ db: Database, _ assignment: String, _ asset: Int64) throws {
    try db.execute(sql: "UPDATE asset SET \(assignment) WHERE id = ?", arguments: [asset])
  }

  private func insert(_ db: Database, _ dice: inout Dice) throws {
    let token = try Int64.fetchOne(db, sql: "SELECT revision FROM library WHERE id = 0") ?? 0
    // A deleted asset may come back with its old row number.
    let back = try Row.fetchOne(
      db,
      sql: """
        SELECT object, localIdentifier FROM removedObject
        WHERE library = 0 AND kind = 0 AND object NOT IN (SELECT id FROM asset) ORDER BY object % 7 LIMIT 1
        """
    )
    if let back, dice.oneIn(2) {
      var one = SyntheticAsset(back[0], &dice)
      one.identifier = back[1]
      return try SyntheticLibrary.write([one], revision: token, db)
    }
    lastRow += 1
    try SyntheticLibrary.write([SyntheticAsset(lastRow, &dice)], revision: token, db)
  }

  private func changeAlbum(_ db: Database, _ asset: Int64, _ dice: inout Dice) throws {
    guard let album = albums.randomElement(using: &dice) else { return }
    switch dice.below(12) {
    case 0 where albums.count > 2:
      try db.execute(sql: "DELETE FROM collection WHERE id = ?", arguments: [album.row])
      albums.removeAll { $0.row == album.row }
    case 1, 2, 3:
      try db.execute(
        sql: """
          DELETE FROM member
          WHERE collection = ?1 AND position = (SELECT max(position) FROM member WHERE collection = ?1 AND asset <= ?2)
          """,
        arguments: [album.row, asset])
    case 4, 5, 6:
      try db.execute(
        sql: """
          INSERT OR IGNORE INTO member
          SELECT ?, (SELECT coalesce(max(position), 0) + 8 FROM member WHERE collection = ?), id, creationDate, listing
          FROM asset WHERE id = ?
          """, arguments: [album.row, album.row, asset])
    case 7:
      // Positions are renumbered, and the order does not change.
      try db.execute(
        sql: "UPDATE member SET position = position + 1000000 WHERE collection = ?", arguments: [album.row])
    default:
      // A member moves to the front.
      try db.execute(
        sql: """
          UPDATE member SET position = (SELECT min(position) - 8 FROM member WHERE collection = ?1)
          WHERE collection = ?1 AND position = (SELECT max(position) FROM member WHERE collection = ?1 AND asset >= ?2)
          """, arguments: [album.row, asset])
    }
  }
}
