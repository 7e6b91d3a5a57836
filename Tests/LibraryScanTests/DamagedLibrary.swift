import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import PhotoModel
import Testing

/// A catalogue with albums, folders and users' values, which SQL then damages.
struct DamagedLibrary {
  let folder: TemporaryLibrary
  var path: String { folder.data + "/catalogue.sqlite" }

  init() throws {
    folder = try TemporaryLibrary()
    for name in ["a.jpg", "b.jpg", "c.jpg", "sub/d.jpg"] { try folder.put(smallJPEG + Array(name.utf8), name) }
    do { try folder.scan(folder.catalogue()) }
    try alter(
      """
      UPDATE asset SET isFavorite = 1, caption = 'kept', userFields = 2 WHERE originalFilename = 'a.jpg';
      UPDATE asset SET isHidden = 1 WHERE originalFilename = 'c.jpg';
      INSERT INTO collection (localIdentifier, type, subtype, title, revision)
        VALUES ('folder', 'folder', 'regularFolder', 'Folder', 1), ('other', 'album', 'albumRegular', 'Other', 1);
      INSERT INTO collection (localIdentifier, type, subtype, title, parent, revision, position)
        SELECT 'album', 'album', 'albumRegular', 'Album', id, 1, 5 FROM collection WHERE title = 'Folder';
      INSERT INTO member (collection, position, asset, creationDate, listing)
        SELECT collection.id, asset.id * 10, asset.id, creationDate, listing FROM asset, collection
        WHERE collection.title IN ('Album', 'Other') AND originalFilename <> 'b.jpg';
      UPDATE collection SET keyAsset = (SELECT id FROM asset WHERE originalFilename = 'a.jpg') WHERE title = 'Album';
      """)
    // Indexes the words and computes the moments of these changes.
    do { try folder.scan(folder.catalogue()) }
  }

  /// Changes the catalogue as another program would, without its foreign keys.
  func alter(_ sql: String) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  /// Overwrites the cell pointers of a table's first page.
  func damagePage(of table: String) throws {
    let queue = try DatabaseQueue(path: path)
    let (root, size) = try queue.read { db in
      (
        try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = ?", arguments: [table]),
        try Int.fetchOne(db, sql: "PRAGMA page_size")
      )
    }
    try queue.close()
    let (page, bytes) = (try #require(root), try #require(size))
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: UInt64((page - 1) * bytes + 8))
    try file.write(contentsOf: Data(repeating: 0xFF, count: 32))
    try file.close()
  }

  func differences() throws -> [String] {
    var found: [String] = []
    _ = try CatalogueCheck(catalogue: Catalogue(reading: folder.data), directory: folder.root).run {
      found.append($0.line)
    }
    return found
  }

  func repair(acceptingRemovals: Bool = false) throws -> CatalogueRepair.Summary {
    try CatalogueRepair(dataFolder: folder.data, removing: RemovalLimit(percent: 50)).run(
      acceptingRemovals: acceptingRemovals)
  }

  /// What users made, and the definitions of all tables, indexes and triggers.
  func kept() throws -> [String] {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    return try queue.read { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT format('%s %s %d%d %s', originalFilename, localIdentifier, isFavorite, isHidden, caption) FROM asset
          UNION ALL SELECT format('%s in %s, key %d', title, parent, keyAsset) FROM collection WHERE type <> 'smartAlbum'
          UNION ALL SELECT format('%d %d %d', collection, position, asset) FROM member
          UNION ALL SELECT format('%d %d %d', library, day, assetCount) FROM moment
          UNION ALL SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name <> 'saved'
          """
      ).sorted()
    }
  }
}
