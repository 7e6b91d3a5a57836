import Foundation
import GRDB
import LibraryCatalogue
import PhotoModel
import Testing

/// The derived data that triggers maintain: counters, days, copies in albums, limited libraries.
@Suite("Counters")
struct CounterTests {
  /// Each column that a counter or a copy depends on, with an assignment that changes only that column.
  private static let columns = [
    ("mediaType", "3 - mediaType"), ("mediaSubtypes", "mediaSubtypes + 31"), ("isRAW", "1 - isRAW"),
    ("isFavorite", "1 - isFavorite"), ("isHidden", "1 - isHidden"),
    ("burstIdentifier", "iif(burstIdentifier IS NULL, 'b', NULL)"), ("representsBurst", "1 - representsBurst"),
    ("burstSelectionTypes", "2 - burstSelectionTypes"), ("creationDate", "creationDate + 86400000"),
    ("addedDate", "addedDate + 1"), ("pixelWidth", "pixelWidth + 1"), ("pixelHeight", "pixelHeight + 1"),
    ("placeholder", "x'01'"), ("utcOffset", "-60"), ("zoneOffset", "-3600"),
    ("placeholderVersion", "contentVersion"), ("contentVersion", "contentVersion || 'x'"),
    ("isSelfPortrait", "1 - isSelfPortrait"), ("isAnimated", "1 - isAnimated"),
    ("isLongExposure", "1 - isLongExposure"), ("hasDecoder", "1 - hasDecoder"),
  ]

  /// Two assets of each combination of hidden, picked and burst, over some days. All are in an album in a folder, and a
  /// caller is limited to that album.
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
    _ = try library.makeAlbum("all", assets.map(\.row), parent: try library.makeFolder("folder"))
    let limited = LimitedAccessTests.principal(granted: [LocalIdentifier("album-all")], 0)
    #expect(try library.catalogue.count(AssetFetch(), deadline: nil, for: limited) > 0)
    return library
  }

  @Test("each counter and copy follows the column that it depends on", arguments: columns)
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

  @Test(
    "moving an asset to another place recomputes the moments of its day",
    arguments: ["latitude", "longitude", "placeCity", "placeRegion", "placeCountry"])
  func places(_ column: String) throws {
    let library = try library()
    try library.catalogue.refreshMoments(zone: .gmt)
    try library.queue.write { try $0.execute(sql: "UPDATE asset SET \(column) = 48 WHERE id = 3") }
    #expect(try library.queue.read { try Int.fetchAll($0, sql: "SELECT day FROM staleDay WHERE library = 0") } == [2])
  }

  @Test("an asset that is deleted and inserted in one change is recorded as an update of its content")
  func comesBack() throws {
    let library = try library()
    try library.queue.write { db in
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      try db.execute(sql: "DELETE FROM asset WHERE id = 7")
      try SyntheticLibrary.write([library.assets[6]], db)
      try SyntheticLibrary.write([SyntheticAsset(row: 99, date: 5)], db)
    }
    let noted = try library.queue.read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT object, event, isContentChanged FROM changedObject
          WHERE token = (SELECT revision FROM library WHERE id = 0) AND kind = 0 ORDER BY object
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
