import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import Logging
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

@Suite("The trash")
struct TrashTests {
  static func rows(_ catalogue: Catalogue, _ table: String) throws -> [[String: DatabaseValue]] {
    try catalogue.pool.read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { row in
        Dictionary(uniqueKeysWithValues: zip(row.columnNames, row.databaseValues))
      }
    }
  }

  /// The rows without the values that a restoration changes: revisions, modification dates, and numbers of file rows.
  static func lasting(_ catalogue: Catalogue, _ table: String) throws -> Set<[String: DatabaseValue]> {
    Set(
      try rows(catalogue, table).map { row in
        row.filter { name, _ in
          !["revision", "modificationDate", "nonLocationModificationDate"].contains(name)
            && !(table == "file" && name == "id")
        }
      })
  }

  static func album(_ catalogue: Catalogue, _ members: [(LocalIdentifier, Int64)], key: LocalIdentifier) throws {
    try catalogue.pool.write { db in
      try db.execute(
        sql: """
          INSERT INTO collection (localIdentifier, type, subtype, title, revision, keyAsset)
          VALUES ('album', 'album', 'albumRegular', 'A', 1, (SELECT id FROM asset WHERE localIdentifier = ?))
          """, arguments: [key.rawValue])
      let album = db.lastInsertedRowID
      for (member, position) in members {
        try db.execute(
          sql: """
            INSERT INTO member SELECT ?, ?, id, creationDate, listing FROM asset WHERE localIdentifier = ?
            """, arguments: [album, position, member.rawValue])
      }
    }
  }

  @Test("a deleted asset leaves the library with its files, and is restored with its properties and albums")
  func roundTrip() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try library.put(smallJPEG, "2024/\(name)") }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let before = try catalogue.everything()
    let b = try #require(before["2024/b.jpg"]).localIdentifier
    let members = ["a", "b", "c"].enumerated().map { (before["2024/\($1).jpg"]!.localIdentifier, Int64($0) * 1024) }
    try Self.album(catalogue, members, key: b)
    try catalogue.pool.write { db in
      try db.execute(
        sql: """
          UPDATE asset SET isFavorite = 1, isHidden = 1, creationDate = 5, latitude = 0.1 + 0.2, longitude = 18.5,
            adjustments = '[]' WHERE localIdentifier = ?
          """, arguments: [b.rawValue])
    }
    let tables = ["asset", "file", "collection", "member", "counter", "memberCount"]
    let kept = try tables.map { try Self.lasting(catalogue, $0) }
    let files = try library.files(catalogue)

    try files.perform([.delete(b)])
    #expect(try catalogue.asset(b, for: .local) == nil)
    #expect(Set(library.allFiles.filter { !$0.hasPrefix(".photod-trash/") }) == ["2024/a.jpg", "2024/c.jpg"])
    #expect(library.allFiles.contains { $0.hasPrefix(".photod-trash/") && $0.hasSuffix("/b.jpg") })
    #expect(try Self.rows(catalogue, "member").count == 2)
    // A scan skips the trash, and finds no file missing.
    let progress = try library.scan(catalogue)
    #expect(progress.files == 2 && progress.removed == 0 && progress.probed == 0)

    #expect(try files.perform([.restore(b)]) == [b])
    #expect(try tables.map { try Self.lasting(catalogue, $0) } == kept)
    #expect(library.allFiles == ["2024/a.jpg", "2024/b.jpg", "2024/c.jpg"])
    #expect(try library.scan(catalogue).probed == 0)
    #expect(try Self.rows(catalogue, "trash").isEmpty && Self.rows(catalogue, "trashValue").isEmpty)
    #expect(try Self.rows(catalogue, "removedObject").isEmpty)
  }

  /// An asset of `a.jpg` and a RAW file at this path, as a scan stores it.
  private static func pair(
    _ raw: String
  ) throws -> (library: TemporaryLibrary, catalogue: Catalogue, asset: LocalIdentifier) {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let asset = try #require(try catalogue.everything()["a.jpg"]).localIdentifier
    try library.put([1, 2, 3], raw)
    try catalogue.pool.write { db in
      try db.execute(
        sql: """
          INSERT INTO file (asset, role, path, inode, size, modified)
          SELECT id, 'alternatePhoto', CAST(? AS BLOB), 1, 3, 1 FROM asset
          """, arguments: [raw])
    }
    return (library, catalogue, asset)
  }

  @Test("the trash saves every stored column, and no computed one", arguments: ["asset", "file"])
  func savedColumns(_ table: String) throws {
    let library = try TemporaryLibrary()
    try library.catalogue().pool.read { db in
      let stored = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo('\(table)') WHERE hidden = 0")
      #expect(try TrashRecord.columns(of: table, db) == stored)
    }
  }

  @Test("all files of an asset are deleted and restored together")
  func pair() throws {
    let (library, catalogue, asset) = try Self.pair("raw/a.dng")
    let files = try library.files(catalogue)
    try files.perform([.delete(asset)])
    #expect(library.allFiles.allSatisfy { $0.hasPrefix(".photod-trash/") } && library.allFiles.count == 2)
    try files.perform([.restore(asset)])
    #expect(library.allFiles == ["a.jpg", "raw/a.dng"])
    #expect(try Self.rows(catalogue, "file").count == 2)
  }

  @Test("the files of a restored asset get one number if one of their names is taken", arguments: ["a.jpg", "a.dng"])
  func takenNameOfPart(_ taken: String) throws {
    let (library, catalogue, asset) = try Self.pair("a.dng")
    let files = try library.files(catalogue)
    try files.perform([.delete(asset)])
    try library.put(smallPNG, taken)
    try files.perform([.restore(asset)])
    #expect(library.allFiles == ["a-2.jpg", "a-2.dng", taken])
    #expect(try catalogue.everything()["a-2.jpg"]?.localIdentifier == asset)
  }

  @Test("a restored file gets a free name if its own is taken, and its folder is made again")
  func takenName() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "x/a.jpg")
    try library.put(smallJPEG, "y/b.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let a = everything["x/a.jpg"]!.localIdentifier
    let b = everything["y/b.jpg"]!.localIdentifier
    let files = try library.files(catalogue)
    try files.perform([.delete(a), .delete(b)])
    try library.put(smallPNG, "x/a.jpg")
    #expect(rmdir(library.root + "/y") == 0)
    try library.scan(catalogue)
    try files.perform([.restore(a), .restore(b)])
    let after = try catalogue.everything()
    #expect(Set(after.keys) == ["x/a.jpg", "x/a-2.jpg", "y/b.jpg"])
    #expect(after["x/a-2.jpg"]?.localIdentifier == a && after["x/a.jpg"]?.localIdentifier != a)
    #expect(try library.scan(catalogue).probed == 0)
  }

  @Test("a change list that fails at one entry moves no file")
  func failure() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let a = try catalogue.everything()["a.jpg"]!.localIdentifier
    let files = try library.files(catalogue)
    let nobody = LocalIdentifier("nobody")
    #expect(throws: FileChangeFailure(index: 1, reason: .noSuchAsset(nobody))) {
      try files.prepare([.delete(a), .delete(nobody)], for: .local)
    }
    #expect(throws: FileChangeFailure(index: 1, reason: .notInTrash(a))) {
      try files.prepare([.delete(a), .restore(a)], for: .local)
    }
    #expect(throws: FileChangeFailure(index: 1, reason: .noSuchAsset(a))) {
      try files.prepare([.delete(a), .delete(a)], for: .local)
    }
    // Without a transaction the moved files go back.
    let prepared = try files.prepare([.delete(a)], for: .local)
    #expect(!library.allFiles.contains("a.jpg"))
    files.revert(prepared, commitFailure: nil)
    #expect(library.allFiles == ["a.jpg", "b.jpg"])
    #expect(try Self.rows(catalogue, "trash").isEmpty)
    #expect(try catalogue.asset(a, for: .local) != nil)
  }

  @Test("nothing is written to a read-only library")
  func readOnly() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let a = try catalogue.everything()["a.jpg"]!.localIdentifier
    let files = try library.files(catalogue) { $0.isReadOnly = true }
    #expect(throws: FileChangeFailure(index: 0, reason: .readOnly)) { try files.prepare([.delete(a)], for: .local) }
  }

  @Test("a purge deletes only assets that were in the trash for longer than the limit")
  func purge() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let files = try library.files(catalogue)
    try files.perform([.delete(everything["a.jpg"]!.localIdentifier)])
    let day: Int64 = 86_400_000
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    #expect(try files.purge(now: Timestamp(milliseconds: now + 29 * day)) == 0)
    #expect(try files.purge(now: Timestamp(milliseconds: now + 31 * day)) == 1)
    #expect(library.allFiles == ["b.jpg"])
    #expect(try Self.rows(catalogue, "trash").isEmpty && Self.rows(catalogue, "trashFile").isEmpty)
    #expect(throws: FileChangeFailure.self) {
      try files.prepare([.restore(everything["a.jpg"]!.localIdentifier)], for: .local)
    }
  }

  @Test("a limited caller can restore only assets that were in its albums, and sees no others in the trash")
  func visibility() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let (a, b) = (everything["a.jpg"]!.localIdentifier, everything["b.jpg"]!.localIdentifier)
    try Self.album(catalogue, [(a, 1)], key: a)
    let files = try library.files(catalogue)
    try files.perform([.delete(a), .delete(b)])
    let first = try files.trashed(after: nil, limit: 1, for: .local)
    let second = try files.trashed(after: first.next, limit: 1, for: .local)
    #expect((first.assets + second.assets).map(\.identifier) == [b, a] && second.next == nil)
    #expect(first.assets.map(\.originalFilename) == ["b.jpg"] && first.assets[0].fileSize == Int64(smallJPEG.count))
    let tokens = catalogue.tokens
    #expect(first.next.flatMap { tokens.trashCursor(of: tokens.text(of: $0)) } == first.next)
    for text in ["", "x", "1", "1.x", "1.2.3"] { #expect(tokens.trashCursor(of: text) == nil, "\(text)") }
    let some = Principal(name: "some", scopes: [.read, .write], visibility: .collections([LocalIdentifier("album")]))
    #expect(throws: FileChangeFailure(index: 0, reason: .notInTrash(b))) { try files.prepare([.restore(b)], for: some) }
    #expect(try files.trashed(after: nil, limit: 9, for: some).assets.map(\.identifier) == [a])
    // Folders stand for everything in them.
    try catalogue.pool.write { db in
      try db.execute(
        sql: """
          INSERT INTO collection (localIdentifier, type, subtype, title, revision)
          VALUES ('outer', 'folder', 'regularFolder', 'O', 1), ('other', 'folder', 'regularFolder', 'X', 1);
          INSERT INTO collection (localIdentifier, type, subtype, title, revision, parent)
          SELECT 'inner', 'folder', 'regularFolder', 'I', 1, id FROM collection WHERE localIdentifier = 'outer';
          UPDATE collection SET parent = (SELECT id FROM collection WHERE localIdentifier = 'inner')
          WHERE localIdentifier = 'album';
          """)
    }
    for (folder, seen) in [("outer", [a]), ("inner", [a]), ("other", [])] {
      let who = Principal(name: folder, scopes: [.read, .write], visibility: .collections([LocalIdentifier(folder)]))
      #expect(try files.trashed(after: nil, limit: 9, for: who).assets.map(\.identifier) == seen, "\(folder)")
      #expect(throws: FileChangeFailure(index: 0, reason: .notInTrash(b))) {
        try files.prepare([.restore(b)], for: who)
      }
      guard seen.isEmpty else { continue }
      #expect(throws: FileChangeFailure(index: 0, reason: .notInTrash(a))) {
        try files.prepare([.restore(a)], for: who)
      }
    }
    let outer = Principal(name: "outer", scopes: [.read, .write], visibility: .collections([LocalIdentifier("outer")]))
    #expect(try files.perform([.restore(a)], for: outer) == [a])
  }

  @Test("a restored album member is between its former neighbours, even if positions were renumbered")
  func spreadAlbum() throws {
    let library = try TemporaryLibrary()
    let names = (10..<34).map { "\($0).jpg" }
    for name in names { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let assets = try names.map { ChangeTarget.existing(try #require(everything[$0]).localIdentifier) }
    let lists = ChangeListExecutor(
      catalogue: catalogue, files: try library.files(catalogue), limits: ChangeLimits())
    let made = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "A")), placeholder: "$a"),
        ChangeRequest(.addAssets(.placeholder("$a"), assets)),
      ], for: .local)
    let album = ChangeTarget.existing(try #require(made.created["$a"]))
    // Some at both ends as well.
    let trashed = [0, 1, 10, 11, 12, 22, 23]
    _ = try lists.perform(trashed.map { ChangeRequest(.deleteAsset(assets[$0])) }, for: .local)
    // Two members that swap repeatedly halve the gap between their neighbours each time.
    for turn in 0..<120 {
      _ = try lists.perform(
        [ChangeRequest(.moveAssets(album, [assets[2 + turn % 2]], index: 6))], for: .local)
    }
    let restored = trashed.map { (index: Int) -> ChangeRequest in
      guard case .existing(let identifier) = assets[index] else { preconditionFailure() }
      return ChangeRequest(.restoreAsset(identifier))
    }
    _ = try lists.perform(restored, for: .local)
    let order = try catalogue.pool.read {
      try String.fetchAll(
        $0, sql: "SELECT originalFilename FROM member JOIN asset ON asset.id = member.asset ORDER BY position")
    }
    #expect(
      order.filter { ![names[2], names[3]].contains($0) } == names.filter { ![names[2], names[3]].contains($0) })
    #expect(order.count == names.count && order.prefix(2) == names.prefix(2))
  }

  @Test("restored members at the end of an album are before those that were added meanwhile")
  func extendedAlbum() throws {
    let library = try TemporaryLibrary()
    let names = (0..<5).map { "\($0).jpg" }
    for name in names { try library.put(smallJPEG + Array(name.utf8), name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let everything = try catalogue.everything()
    let assets = try names.map { try #require(everything[$0]).localIdentifier }
    let lists = ChangeListExecutor(
      catalogue: catalogue, files: try library.files(catalogue), limits: ChangeLimits())
    func added(_ indexes: Range<Int>, to album: ChangeTarget) -> ChangeRequest {
      ChangeRequest(.addAssets(album, indexes.map { ChangeTarget.existing(assets[$0]) }))
    }
    let made = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "A")), placeholder: "$a"),
        added(0..<3, to: .placeholder("$a")),
      ], for: .local)
    let album = ChangeTarget.existing(try #require(made.created["$a"]))
    _ = try lists.perform((1..<3).map { ChangeRequest(.deleteAsset(.existing(assets[$0]))) }, for: .local)
    _ = try lists.perform([added(3..<5, to: album)], for: .local)
    _ = try lists.perform((1..<3).map { ChangeRequest(.restoreAsset(assets[$0])) }, for: .local)
    let order = try catalogue.pool.read {
      try String.fetchAll(
        $0, sql: "SELECT originalFilename FROM member JOIN asset ON asset.id = member.asset ORDER BY position")
    }
    #expect(order == names)
  }

  @Test("a change list makes an asset of a library file at once, if scans would find that file")
  func create() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "new/a.jpg")
    try library.put(smallJPEG, ".hidden/b.jpg")
    try library.put([1, 2, 3], "text.jpg")
    let catalogue = try library.catalogue()
    let files = try library.files(catalogue)
    let identifier = try files.perform([.create(path: Array("new/a.jpg".utf8))])[0]
    #expect(try catalogue.everything()["new/a.jpg"]?.localIdentifier == identifier)
    let revision = try catalogue.everything()["new/a.jpg"]?.revision
    #expect(try files.perform([.create(path: Array("new/a.jpg".utf8))]) == [identifier])
    #expect(try catalogue.everything()["new/a.jpg"]?.revision == revision)
    for path in [".hidden/b.jpg", "nothing.jpg", "../library/new/a.jpg", "new", ""] {
      #expect(throws: FileChangeFailure.self, "\(path)") {
        try files.prepare([.create(path: Array(path.utf8))], for: .local)
      }
    }
    #expect(throws: FileChangeFailure.self) { try files.prepare([.create(path: Array("text.jpg".utf8))], for: .local) }
  }

  @Test("a scan between the moving of files and the commit creates no other asset")
  func scanBetween() throws {
    let library = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg"] { try library.put(smallJPEG, name) }
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let a = try catalogue.everything()["a.jpg"]!.localIdentifier
    try Self.album(catalogue, [(a, 7)], key: a)
    let kept = try Self.lasting(catalogue, "asset")
    let files = try library.files(catalogue)

    // The scan finds the file missing while it is in the trash; after the revert the asset is the same.
    // The lock is released first, because the scan would wait for it.
    var prepared = try files.prepare([.delete(a)], for: .local)
    prepared.end()
    try library.scan(catalogue)
    files.revert(prepared, commitFailure: nil)
    #expect(try Self.lasting(catalogue, "asset") == kept)
    #expect(try Self.rows(catalogue, "member").count == 1)

    try files.perform([.delete(a)])
    prepared = try files.prepare([.restore(a)], for: .local)
    prepared.end()
    // While it is being restored it looks like a new file.
    try library.scan(catalogue)
    #expect(try catalogue.everything().count == 3)
    try catalogue.change { db, token in
      var writer = try AssetWriter(db, token: token)
      _ = try prepared.commit(0, &writer)
      try writer.finish()
    }
    #expect(try Self.lasting(catalogue, "asset") == kept)
    #expect(try library.scan(catalogue).probed == 0)
  }
}
