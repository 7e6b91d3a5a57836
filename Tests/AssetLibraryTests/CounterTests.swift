import AssetLibrary
import Foundation
import GRDB
import PhotoModel
import Testing

/// What triggers keep beside the assets: counters, the days' numbers, albums' copies, limited libraries.
@Suite("Counters")
struct CounterTests {
  /// Each column that something is counted by, and what changes nothing but it.
  private static let columns = [
    ("mediaType", "3 - mediaType"), ("mediaSubtypes", "mediaSubtypes + 31"), ("isRAW", "1 - isRAW"),
    ("isFavorite", "1 - isFavorite"), ("isHidden", "1 - isHidden"),
    ("burstIdentifier", "iif(burstIdentifier IS NULL, 'b', NULL)"), ("representsBurst", "1 - representsBurst"),
    ("burstSelectionTypes", "2 - burstSelectionTypes"), ("creationDate", "creationDate + 86400000"),
  ]

  /// Two of each way to be hidden, picked and of a burst, over some days; all in an album that somebody is limited to.
  private func library() throws -> SyntheticLibrary {
    let assets = (0..<32).map { number in
      var asset = SyntheticAsset(row: Int64(number + 1), date: Int64(number % 5) * 86_400_000)
      asset.isHidden = number & 1 == 1
      asset.burst = number & 2 == 2 ? "b" : nil
      asset.representsBurst = number & 4 == 4
      asset.burstSelection = number & 8 == 8 ? 2 : 0
      asset.isFavorite = number % 3 == 0
      return asset
    }
    let library = try SyntheticLibrary(assets)
    _ = try library.makeAlbum("all", assets.map(\.row))
    let limited = LimitedAccessTests.principal(granted: [LocalIdentifier("album-all")], 0)
    #expect(try library.catalogue.count(AssetFetch(), deadline: nil, for: limited) > 0)
    return library
  }

  @Test("what is counted by one column follows it, whichever it is", arguments: columns)
  func follows(_ column: String, _ value: String) throws {
    let library = try library()
    try library.queue.write { db in
      try db.execute(sql: "UPDATE asset SET \(column) = \(value) WHERE id % 3 > 0")
    }
    var differences: [CheckDifference] = []
    try library.catalogue.checkConsistency { differences.append($0) }
    #expect(differences.isEmpty)
    let strays = try library.queue.read { db in
      try Int.fetchOne(
        db,
        sql: """
          SELECT count(*) FROM member JOIN asset ON asset.id = member.asset
          WHERE (member.creationDate, member.listing) IS NOT (asset.creationDate, asset.listing)
          """)
    }
    #expect(strays == 0)
  }

  @Test("a day's moments are made anew where one of its assets is elsewhere now", arguments: ["latitude", "longitude"])
  func places(_ column: String) throws {
    let library = try library()
    try library.catalogue.refreshMoments(zone: .gmt)
    try library.queue.write { try $0.execute(sql: "UPDATE asset SET \(column) = 48 WHERE id = 3") }
    #expect(try library.queue.read { try Int.fetchAll($0, sql: "SELECT day FROM staleDay") } == [2])
  }

  @Test("one that goes and comes back with the same change is updated, and may be another")
  func comesBack() throws {
    let library = try library()
    try library.queue.write { db in
      try db.execute(sql: "UPDATE library SET value = value + 1 WHERE key = 'token'")
      try db.execute(sql: "DELETE FROM asset WHERE id = 7")
      try SyntheticLibrary.write([library.assets[6]], db)
      try SyntheticLibrary.write([SyntheticAsset(row: 99, date: 5)], db)
    }
    let noted = try library.queue.read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT object, event, isContentChanged FROM changedObject
          WHERE token = (SELECT value FROM library WHERE key = 'token') AND kind = 0 ORDER BY object
          """
      ).map { [$0[0] as Int, $0[1], $0[2]] }
    }
    #expect(noted == [[7, 1, 1], [99, 0, 0]])
  }

  @Test("a placeholder is no longer than 64 bytes")
  func placeholders() throws {
    let library = try library()
    func put(_ bytes: Int) throws {
      try library.queue.write {
        try $0.execute(sql: "UPDATE asset SET placeholder = zeroblob(?) WHERE id = 1", arguments: [bytes])
      }
    }
    try put(64)
    #expect(throws: DatabaseError.self) { try put(65) }
  }
}
