import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import LibraryScan
import PhotoModel
import Testing

@Suite("Repairing the catalogue")
struct RepairTests {
  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sql: String
    /// The kind of difference that the check finds.
    let kind: String
    /// Whether users' values or identifiers are lost with a row that can't be saved.
    var losesRows = false
  }

  static let damages = [
    Damage(testDescription: "wrong counters", sql: "UPDATE counter SET assets = 7, favorites = 9", kind: "counter"),
    Damage(testDescription: "no counters", sql: "DELETE FROM counter", kind: "counter"),
    Damage(testDescription: "wrong counts of days", sql: "UPDATE dayCount SET value = value + 1", kind: "counter"),
    Damage(testDescription: "counts of empty days", sql: "INSERT INTO dayCount VALUES (0, -7, 0, 2)", kind: "counter"),
    Damage(testDescription: "wrong counts of albums", sql: "UPDATE memberCount SET value = 99", kind: "counter"),
    Damage(testDescription: "wrong counts of folders", sql: "DELETE FROM folderCount", kind: "counter"),
    Damage(
      testDescription: "assets of folders that are in no album", sql: "INSERT INTO folderAsset VALUES (21, 2, 0, 0, 1)",
      kind: "counter"),
    Damage(testDescription: "no assets of folders", sql: "DELETE FROM folderAsset", kind: "counter"),
    Damage(
      testDescription: "assets that the library lacks",
      sql: "DELETE FROM libraryAsset WHERE asset = 1", kind: "counter"),
    Damage(
      testDescription: "wrong copies of columns", sql: "UPDATE libraryAsset SET dimensions = 7, localDay = 3",
      kind: "counter"),
    Damage(
      testDescription: "collections that the library lacks",
      sql: "DELETE FROM libraryCollection WHERE collection = 1", kind: "counter"),
    Damage(
      testDescription: "another position of an album", sql: "UPDATE libraryCollection SET position = 77",
      kind: "counter"),
    Damage(testDescription: "no moments", sql: "DELETE FROM moment", kind: "counter"),
    Damage(testDescription: "a lost token", sql: "UPDATE library SET revision = 0", kind: "counter"),
    Damage(
      testDescription: "missing values", sql: "DELETE FROM catalogueValue WHERE name IN ('historyStart', 'probe')",
      kind: "missing-value"),
    Damage(
      testDescription: "lists that can't be read",
      sql: """
        UPDATE asset SET keywords = '{"a"]', people = '["a"', regions = '{}' WHERE originalFilename = 'b.jpg'
        """, kind: "unreadable-value"),
    Damage(
      testDescription: "a trash record without files", sql: "INSERT INTO trash VALUES (7, 'seven', 'trashed', 0)",
      kind: "trash-without-file"),
    Damage(testDescription: "no words", sql: "DELETE FROM searchText", kind: "search-words"),
    Damage(
      testDescription: "words that are not indexed",
      sql: "UPDATE searchText SET text = text || ' more'", kind: "search-words"),
    Damage(
      testDescription: "an index without its content", sql: "INSERT INTO search (search) VALUES ('delete-all')",
      kind: "damaged"),
    Damage(
      testDescription: "members without their asset",
      sql: "INSERT INTO member SELECT id, 999, 999, 0, 0 FROM collection WHERE title = 'Other'", kind: "foreign-key"),
    Damage(
      testDescription: "members without their album", sql: "INSERT INTO member VALUES (999, 1, 1, 0, 0)",
      kind: "foreign-key"),
    Damage(
      testDescription: "a file whose primary mark is lost", sql: "UPDATE file SET isPrimary = 0 WHERE id = 1",
      kind: "asset-without-file"),
    Damage(
      testDescription: "a file without its asset",
      sql: "UPDATE file SET asset = NULL, role = NULL, isPrimary = 0 WHERE id = 1", kind: "file-without-asset",
      losesRows: true),
    Damage(
      testDescription: "a file of a missing asset", sql: "UPDATE file SET asset = 99 WHERE id = 1",
      kind: "foreign-key", losesRows: true),
    Damage(
      testDescription: "an album in a missing folder",
      sql: "UPDATE collection SET parent = 999 WHERE title = 'Album'", kind: "foreign-key", losesRows: true),
    Damage(
      testDescription: "an album in an album",
      sql: """
        UPDATE collection SET parent = (SELECT id FROM collection WHERE title = 'Other') WHERE title = 'Album'
        """,
      kind: "counter", losesRows: true),
    Damage(
      testDescription: "a trigger that counts wrongly",
      sql: """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, 'value - 1', 'value - 0') WHERE name = 'countDeletedMember';
        PRAGMA writable_schema = RESET;
        """, kind: "damaged"),
    Damage(testDescription: "a lost trigger", sql: "DROP TRIGGER noteUpdatedAsset", kind: "damaged"),
    Damage(testDescription: "a lost index", sql: "DROP INDEX collectionByParent", kind: "damaged"),
    Damage(
      testDescription: "an index without entries of its table",
      sql: """
        CREATE TABLE saved AS SELECT * FROM sqlite_schema WHERE name = 'collectionByParent';
        PRAGMA writable_schema = ON;
        DELETE FROM sqlite_schema WHERE name = 'collectionByParent';
        PRAGMA writable_schema = RESET;
        UPDATE collection SET position = position + 3 WHERE title = 'Album';
        PRAGMA writable_schema = ON;
        INSERT INTO sqlite_schema SELECT * FROM saved;
        PRAGMA writable_schema = RESET;
        """, kind: "damaged"),
  ]

  @Test("after a repair and a scan the check finds no difference, and what users made is as before", arguments: damages)
  func repaired(_ damage: Damage) throws {
    let library = try DamagedLibrary()
    #expect(try library.differences() == [])
    let before = try library.kept()
    let originals = try contents(library.folder.root)
    try library.alter(damage.sql)
    let found = try library.differences()
    #expect(found.contains { $0.hasPrefix(damage.kind + " ") }, "\(found)")

    let summary = try library.repair()
    try library.folder.scan(library.folder.catalogue())
    let left = try library.differences()
    #expect(left == [], "\(damage.testDescription)")
    let after = try library.kept()
    if damage.losesRows {
      let lost = before.filter { !after.contains($0) }
      #expect(lost.count <= 4 && lost.allSatisfy { !$0.hasPrefix("CREATE") }, "\(lost)")
    } else {
      #expect(after == before, "\(after.filter { !before.contains($0) }) for \(before.filter { !after.contains($0) })")
    }
    #expect(try contents(library.folder.root) == originals)
    // The copy is the damaged catalogue.
    let path = try #require(summary.copy)
    let copy = try DatabaseQueue(path: path)
    let count = try copy.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM asset") }
    #expect(count == 4)
    try copy.close()
    let again = try library.repair()
    #expect(again.corrections == [:] && again.copy == nil, "a second repair changes nothing")
  }

  @Test("a repair with nothing to correct keeps the catalogue, its change token and limited libraries, without a copy")
  func nothingToCorrect() throws {
    let library = try DamagedLibrary()
    let guest = Principal(name: "guest", scopes: [.read], visibility: .collections([LocalIdentifier("other")]))
    do { try library.folder.catalogue().prepareLibrary(of: guest) }
    func state() throws -> [String] {
      let queue = try DatabaseQueue(path: library.path)
      defer { try? queue.close() }
      return try queue.read { db in
        try String.fetchAll(
          db,
          sql: """
            SELECT format('library %d, %d', id, revision) FROM library
            UNION ALL SELECT format('change %d, %d', library, token) FROM change
            UNION ALL SELECT format('value %s, %s', name, hex(value)) FROM catalogueValue
            """)
      }
    }
    let (before, kept) = (try state(), try library.kept())
    #expect(before.filter { $0.hasPrefix("library") }.count == 2, "\(before)")
    // The folder differs from the catalogue, and the trash from its records.
    try library.folder.put(smallJPEG + Array("new".utf8), "new.jpg")
    try library.folder.put(smallJPEG, ".photod-trash/stray.jpg")
    let found = try library.differences()
    #expect(found.count == 2, "\(found)")
    for _ in 0..<2 {
      let summary = try library.repair()
      #expect(summary.corrections == [:] && summary.copy == nil)
    }
    #expect(try state() == before)
    #expect(try library.kept() == kept)
    let names = try FileManager.default.contentsOfDirectory(atPath: library.folder.data)
    #expect(!names.contains { $0.hasPrefix("catalogue.before-repair") }, "\(names)")
  }

  @Test("adjustments that can't be read stay and are reported, and hide neither their asset nor another one")
  func adjustments() throws {
    let library = try DamagedLibrary()
    try library.alter(
      """
      UPDATE asset SET adjustments = '{{"type":"crop"', adjustmentOrigin = 'user', unadjustedVersion = contentVersion,
        unadjustedWidth = pixelWidth, unadjustedHeight = pixelHeight, contentVersion = 'adjusted', pixelWidth = 1
      WHERE originalFilename = 'b.jpg'
      """)
    func isReported() throws -> Bool {
      try library.differences().contains { $0.hasPrefix("unreadable-value ") && $0.hasSuffix(" adjustments") }
    }
    #expect(try isReported())
    do {
      let catalogue = try library.folder.catalogue()
      let assets = try catalogue.everything(includesHidden: true)
      let b = try #require(assets["b.jpg"])
      #expect(assets.count == 4 && b.adjustments == nil && b.hasAdjustments)
      #expect(b.contentVersion != ContentVersion("adjusted") && b.pixelSize == assets["a.jpg"]?.pixelSize)
      // Its version and its size follow from its adjustments again.
      try library.folder.put(smallJPEG + Array("another b".utf8), "b.jpg")
      try library.folder.scan(catalogue)
      #expect(try catalogue.everything(includesHidden: true).count == 4)
    }
    _ = try library.repair()
    #expect(try isReported())
  }

  @Test(
    "a search index with damaged pages is made again from the assets",
    arguments: ["search_data", "search_idx", "search_config", "searchText", "searchTerm"])
  func damagedSearchIndex(_ table: String) throws {
    let library = try DamagedLibrary()
    let before = try library.kept()
    try library.damagePage(of: table)
    #expect(try library.repair().copy != nil)
    #expect(try library.differences() == [])
    try library.folder.scan(library.folder.catalogue())
    #expect(try library.differences() == [])
    #expect(try library.kept() == before)
  }

  @Test("a repair removes search words that no asset has, and no others")
  func formerWords() throws {
    let library = try DamagedLibrary()
    func terms() throws -> [String] {
      let queue = try DatabaseQueue(path: library.path)
      defer { try? queue.close() }
      return try queue.read { try String.fetchAll($0, sql: "SELECT term FROM searchTerm ORDER BY term") }
    }
    let before = try terms()
    try library.alter("INSERT INTO searchTerm VALUES ('former'), ('zzz'); UPDATE counter SET assets = 7")
    #expect(before.contains("kept"))
    #expect(try library.repair().corrections["words of the search index"] == nil)
    #expect(try terms() == before)
  }

  @Test("words of another version of photod are not compared: the next start makes them again")
  func wordsOfOtherVersion() throws {
    let library = try DamagedLibrary()
    let before = try library.kept()
    try library.alter(
      """
      UPDATE searchText SET text = text || 'former ';
      INSERT INTO search (search) VALUES ('rebuild');
      UPDATE catalogueValue SET value = 0 WHERE name = 'searchWords';
      """)
    #expect(try library.differences() == [])
    #expect(try library.repair().copy == nil)
    do { _ = try library.folder.catalogue() }
    #expect(try library.differences() == [])
    #expect(try library.kept() == before)
  }

  @Test("a repair is refused while the catalogue is open")
  func open() throws {
    let library = try DamagedLibrary()
    let catalogue = try library.folder.catalogue()
    #expect(throws: LibraryError.dataFolderInUse(path: library.folder.data)) { try library.repair() }
    withExtendedLifetime(catalogue) {}
    #expect(throws: LibraryError.noCatalogue(path: library.folder.data + "/none/catalogue.sqlite")) {
      try FileManager.default.createDirectory(
        atPath: library.folder.data + "/none", withIntermediateDirectories: true)
      let folder = library.folder.data + "/none"
      _ = try CatalogueRepair(dataFolder: folder, removing: RemovalLimit(percent: 50)).run()
    }
  }

  @Test("damaged pages are beyond repair: the catalogue is not changed, and the error says what to do")
  func pages() throws {
    let library = try DamagedLibrary()
    try library.alter(
      """
      CREATE TABLE other (path BLOB); CREATE INDEX otherPath ON other (path);
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'otherPath')
        WHERE name = 'fileByIdentity';
      PRAGMA writable_schema = RESET;
      UPDATE counter SET assets = 7;
      """)
    #expect {
      try library.repair()
    } throws: { error in
      "\(error)".contains("damaged beyond repair") && "\(error)".contains("photod restore")
    }
    let queue = try DatabaseQueue(path: library.path)
    defer { try? queue.close() }
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT min(assets) FROM counter") } == 7)
  }

  @Test(
    "a catalogue that lost its key is neither opened nor repaired, and the error says what to do: a backup has the key",
    arguments: [
      "DELETE FROM catalogueValue", "UPDATE catalogueValue SET value = NULL", "UPDATE catalogueValue SET value = x''",
    ])
  func lostKey(_ sql: String) throws {
    let library = try DamagedLibrary()
    let copy = library.folder.data + "/copy.sqlite"
    do { try library.folder.catalogue().backUp(to: copy) }
    let before = try library.kept()
    try library.alter(sql + " WHERE name = 'contentKey'")
    let lost = LibraryError.catalogueWithoutKey(path: library.path)
    #expect("\(lost)".contains("restore a backup with photod restore"))
    #expect(throws: lost) { try library.folder.catalogue() }
    #expect(throws: lost) { try library.repair(acceptingRemovals: true) }
    #expect(throws: LibraryError.self) { try Catalogue(reading: library.folder.data).backUp(to: copy + "-2") }
    #expect(try library.differences() == ["missing-value contentKey"])
    let names = try FileManager.default.contentsOfDirectory(atPath: library.folder.data)
    #expect(!names.contains { $0.hasPrefix("catalogue.before-repair") || $0.hasPrefix("copy.sqlite-2") }, "\(names)")

    _ = try CatalogueRestore(dataFolder: library.folder.data).restore(from: copy)
    try library.folder.scan(library.folder.catalogue())
    #expect(try library.differences() == [])
    #expect(try library.kept() == before)
  }

  @Test("a repair refuses to remove most assets because their file rows are lost, unless --accept-removals is given")
  func lostFiles() throws {
    let library = try DamagedLibrary()
    for name in 0..<40 { try library.folder.put(smallJPEG + [UInt8(name)], "more/\(name).jpg") }
    do { try library.folder.scan(library.folder.catalogue()) }
    try library.alter("DELETE FROM file")
    let before = try library.kept()
    #expect(throws: LibraryError.tooManyWithoutFile(assets: 44, known: 44, limitPercent: 50)) { try library.repair() }
    #expect(try library.kept() == before)
    let names = try FileManager.default.contentsOfDirectory(atPath: library.folder.data)
    #expect(!names.contains { $0.hasPrefix("catalogue.before-repair") }, "the copy of an unchanged catalogue")
    #expect(try library.repair(acceptingRemovals: true).corrections["assets without a file"] == 44)
    #expect(try library.folder.scan(library.folder.catalogue()).probed == 44)
    #expect(try library.differences() == [])
  }

  private func contents(_ folder: String) throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      contents[name] = FileManager.default.contents(atPath: folder + "/" + name)
    }
    return contents
  }
}
