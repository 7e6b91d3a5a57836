import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import Testing

/// Migrates a catalogue of each released version to the present one; all rows must survive.
/// `Tests/Catalogues/VERSION.sql` has the tables, indexes and triggers that the migrations of that version created, and
/// a few rows.
///
/// The file of a version is written once, before its release, and never changed after it:
/// `PHOTOD_WRITE_CATALOGUE=1 scripts/test --filter ReleasedCatalogueTests`.
@Suite("Catalogues of released versions")
struct ReleasedCatalogueTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Catalogues").path
  private static let isWriting = ProcessInfo.processInfo.environment["PHOTOD_WRITE_CATALOGUE"] != nil

  static let versions =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".sql") }.sorted()

  @Test("each has a file, and the newest one is that of the migrations", .enabled(if: !isWriting))
  func complete() throws {
    let names = CatalogueSchema.migrator.migrations.map { $0 + ".sql" }
    #expect(Self.versions == names.sorted(), "write the missing file: see the head of this suite")
    let newest = try #require(names.last)
    let (old, new) = (try TemporaryLibrary(), try TemporaryLibrary())
    try Self.load(newest, into: old)
    do { _ = try new.catalogue() }
    #expect(
      try Self.schema(old) == Self.schema(new),
      "a migration was edited after its release; before the release, write the file again: see the head of this suite")
  }

  @Test(
    "a catalogue of a released version migrates with all of its rows", .enabled(if: !isWriting), arguments: versions)
  func migrates(_ version: String) throws {
    let library = try TemporaryLibrary()
    for name in Self.pictures { try library.put(Self.picture(name), name) }
    try Self.load(version, into: library)
    let isCurrent = version.dropLast(4) == CatalogueSchema.migrator.migrations.last ?? ""
    do { _ = try library.catalogue() }
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    let rows = try queue.read { try Self.content($0) }
    try queue.close()
    #expect(rows == Self.expected)
    let copies = try FileManager.default.contentsOfDirectory(atPath: library.data).filter { $0.contains("before") }
    #expect(copies.isEmpty == isCurrent, "a migration makes a copy first: \(copies)")
    // The files have other inodes here, and are recognised.
    try library.scan(library.catalogue())
    var differences: [String] = []
    _ = try CatalogueCheck(catalogue: Catalogue(reading: library.data), directory: library.root).run {
      differences.append($0.line)
    }
    #expect(differences == [])
    let after = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    let found = try after.read { try Self.content($0) }
    #expect(found == Self.expected, "\(found)")
    try after.close()
  }

  @Test("writes the file of the present version", .enabled(if: isWriting))
  func write() throws {
    let library = try TemporaryLibrary()
    for name in Self.pictures { try library.put(Self.picture(name), name) }
    do { try library.scan(library.catalogue()) }
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    try queue.write { db in
      try db.execute(
        sql: """
          UPDATE catalogueValue SET value = CAST('a key of thirty-two bytes, fixed' AS BLOB) WHERE name = 'contentKey';
          UPDATE asset SET localIdentifier = 'asset-' || id;
          UPDATE libraryAsset SET localIdentifier = 'asset-' || asset;
          UPDATE asset SET isFavorite = 1, caption = 'Words', userFields = userFields | 2 WHERE id = 1;
          UPDATE asset SET isHidden = 1 WHERE id = 2;
          INSERT INTO collection (localIdentifier, type, subtype, title, revision)
            VALUES ('folder', 'folder', 'regularFolder', 'Folder', 1);
          INSERT INTO collection (localIdentifier, type, subtype, title, parent, revision)
            SELECT 'album', 'album', 'albumRegular', 'Album', id, 1 FROM collection WHERE localIdentifier = 'folder';
          INSERT INTO member (collection, position, asset, creationDate, listing)
            SELECT (SELECT id FROM collection WHERE localIdentifier = 'album'), id, id, creationDate, listing FROM asset
            WHERE id <> 2;
          """)
    }
    try queue.close()
    do { try library.scan(library.catalogue()) }
    let dump = try DatabaseQueue(path: library.data + "/catalogue.sqlite").read { try Self.dump($0) }
    let name = try #require(CatalogueSchema.migrator.migrations.last)
    try FileManager.default.createDirectory(atPath: Self.folder, withIntermediateDirectories: true)
    try dump.write(toFile: "\(Self.folder)/\(name).sql", atomically: true, encoding: .utf8)
  }

  // MARK: Content

  private static let pictures = ["a.jpg", "b/c.jpg", "d.png"]
  private static let expected = [
    "asset asset-1 a.jpg favourite 1 hidden 0 Words", "asset asset-2 c.jpg favourite 0 hidden 1 -",
    "asset asset-3 d.png favourite 0 hidden 0 -", "collection album Album in folder", "collection folder Folder in -",
    "member album asset-1", "member album asset-3",
  ]

  private static func picture(_ name: String) -> [UInt8] {
    name.hasSuffix(".png") ? smallPNG : smallJPEG + Array(name.utf8)
  }

  private static func content(_ db: Database) throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT format('asset %s %s favourite %d hidden %d %s', localIdentifier, originalFilename, isFavorite, isHidden,
          coalesce(caption, '-')) FROM asset
        UNION ALL SELECT format('collection %s %s in %s', localIdentifier, title, coalesce(
          (SELECT localIdentifier FROM collection AS parent WHERE parent.id = collection.parent), '-'))
          FROM collection WHERE type <> 'smartAlbum'
        UNION ALL SELECT format('member %s %s', collection.localIdentifier, asset.localIdentifier)
          FROM member JOIN collection ON collection.id = member.collection JOIN asset ON asset.id = member.asset
        ORDER BY 1
        """)
  }

  /// The definitions, without those of the full-text index's own tables.
  private static func schema(_ library: TemporaryLibrary) throws -> [String] {
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite")
    defer { try? queue.close() }
    return try queue.read { try definitions($0).map { $0[2] as String } }
  }

  // MARK: SQL text

  private static func load(_ version: String, into library: TemporaryLibrary) throws {
    try FileManager.default.createDirectory(atPath: library.data, withIntermediateDirectories: true)
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: library.data + "/catalogue.sqlite", configuration: configuration)
    try queue.write { try $0.execute(sql: String(contentsOfFile: "\(folder)/\(version)", encoding: .utf8)) }
    try queue.close()
  }

  /// Type, name and SQL of each object. SQLite makes the tables of the full-text index itself.
  private static func definitions(_ db: Database) throws -> [Row] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT type, name, sql FROM sqlite_schema
        WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'search\\_%' ESCAPE '\\'
        ORDER BY name
        """)
  }

  /// Statements that make an equal database: tables, rows, and only then indexes, views and triggers.
  private static func dump(_ db: Database) throws -> String {
    let definitions = try definitions(db)
    var statements: [String] = []
    var rows: [String] = []
    for object in definitions where object[0] == "table" {
      let (name, sql): (String, String) = (object[1], object[2])
      statements.append(sql)
      if sql.hasPrefix("CREATE VIRTUAL") { continue }
      let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [name])
      let list = columns.joined(separator: ", ")
      let values = columns.map { "quote(\($0))" }.joined(separator: " || ', ' || ")
      rows += try String.fetchAll(
        db, sql: "SELECT 'INSERT INTO \(name) (\(list)) VALUES (' || \(values) || ')' FROM \(name) ORDER BY 1")
    }
    rows.append("DELETE FROM sqlite_sequence")
    rows += try String.fetchAll(
      db, sql: "SELECT 'INSERT INTO sqlite_sequence VALUES (' || quote(name) || ', ' || seq || ')' FROM sqlite_sequence"
    )
    statements += rows
    statements += [
      "INSERT INTO search (search, rank) VALUES ('automerge', 8)", "INSERT INTO search (search) VALUES ('rebuild')",
    ]
    for type in ["index", "view", "trigger"] {
      statements += definitions.filter { $0[0] == type }.map { $0[2] as String }
    }
    return statements.map { $0 + ";\n" }.joined()
  }
}
