import AssetLibrary
import Foundation
import GRDB
import PhotoModel
import Testing

/// A catalogue that an older photod wrote, opened by this one.
@Suite("Migrations")
struct MigrationTests {
  /// A library of ten files and a catalogue of them as an older version left it.
  private func older(_ version: String) throws -> TemporaryLibrary {
    let library = try TemporaryLibrary()
    try FileManager.default.createDirectory(atPath: library.data, withIntermediateDirectories: true)
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    try CatalogueSchema.migrator.migrate(queue, upTo: version)
    try queue.write { db in
      for i in 1...10 {
        try library.put(smallJPEG, "\(i).jpg")
        try db.execute(
          sql: """
            INSERT INTO asset (localIdentifier, contentVersion, revision, mediaType, uniformTypeIdentifier, pixelWidth,
              pixelHeight, orientation, hasAlpha, creationDate, creationDateSource, modificationDate, isFavorite, isHidden)
            VALUES (?, 'v', 3, 'image', 'public.jpeg', 32, 24, 1, 0, 5, 'file', 5, ?, ?)
            """, arguments: ["asset\(i)", i <= 3, i == 4])
        try db.execute(
          sql: "INSERT INTO file (asset, path, inode, size, modified) VALUES (?, ?, 1, 2, 3)",
          arguments: [i, Data("\(i).jpg".utf8)])
      }
      try db.execute(sql: "UPDATE library SET value = 3 WHERE key = 'token'")
    }
    return library
  }

  private func value(_ sql: String, in path: String) throws -> String? {
    try DatabaseQueue(path: path).read { try String.fetchOne($0, sql: sql) }
  }

  @Test(
    "identifiers, favourites and what is hidden survive, and the next scan reads every file",
    arguments: ["1: files and assets", "2: placeholders"])
  func keeps(_ version: String) throws {
    let library = try older(version)
    let catalogue = try library.catalogue()
    func check(_ assets: [String: Asset]) throws {
      #expect(assets.count == 9, "one is hidden")
      for i in 1...10 where i != 4 {
        let asset = try #require(assets["\(i).jpg"])
        #expect(asset.localIdentifier.rawValue == "asset\(i)" && asset.isFavorite == (i <= 3))
        #expect(asset.mediaType == .image && asset.pixelSize == PixelSize(width: 32, height: 24))
      }
    }
    try check(try catalogue.everything())
    let token = try catalogue.assets(AssetQuery(), for: .local).changeToken
    #expect(catalogue.tokens.token(of: token) == ChangeToken(3))
    #expect(try catalogue.assetCount(AssetQuery(), for: .local) == 9)
    #expect(try catalogue.assetCount(AssetQuery(includesHidden: true), for: .local) == 10)
    #expect(try library.scan(catalogue).probed == 10)
    try check(try catalogue.everything())
    #expect(try catalogue.asset(LocalIdentifier("asset4"), for: .local)?.isHidden == true)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("the catalogue as it was is kept beside the new one")
  func copies() throws {
    let library = try older("2: placeholders")
    func copy() -> String { "\(library.data)/catalogue.before-\(CatalogueSchema.migrator.migrations.count).sqlite" }
    _ = try library.catalogue()
    #expect(try value("SELECT count(*) FROM grdb_migrations", in: copy()) == "2")
    #expect(try value("SELECT count(*) FROM asset WHERE isFavorite", in: copy()) == "3")
    #expect(try value("PRAGMA integrity_check", in: copy()) == "ok")
    try FileManager.default.removeItem(atPath: copy())
    _ = try library.catalogue()
    #expect(!FileManager.default.fileExists(atPath: copy()), "only where something is to be changed")
  }

  @Test("a new catalogue needs no copy, and has the smart albums")
  func new() throws {
    let library = try TemporaryLibrary()
    _ = try library.catalogue()
    let names = try FileManager.default.contentsOfDirectory(atPath: library.data)
    #expect(names.allSatisfy { !$0.contains("before") })
    let path = library.data + "/catalogue.sqlite"
    #expect(try value("SELECT count(*) FROM collection WHERE type = 'smartAlbum'", in: path) == "12")
  }

  @Test("a catalogue of a newer photod is refused by name and left as it is")
  func newer() throws {
    let library = try TemporaryLibrary()
    _ = try library.catalogue()
    let path = library.data + "/catalogue.sqlite"
    try DatabaseQueue(path: path).write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: to come')") }
    #expect(throws: AssetLibraryError.catalogueTooNew(path: path)) { try library.catalogue() }
  }
}
