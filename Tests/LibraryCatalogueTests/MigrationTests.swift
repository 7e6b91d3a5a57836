import Foundation
import GRDB
import LibraryCatalogue
import LibraryFixtures
import Testing

@Suite("Migrations")
struct MigrationTests {
  private func value(_ sql: String, in path: String) throws -> String? {
    try DatabaseQueue(path: path).read { try String.fetchOne($0, sql: sql) }
  }

  @Test("a new catalogue has the whole library with its counters and the smart albums, no history, and no copy")
  func new() throws {
    let library = try TemporaryLibrary()
    _ = try library.catalogue()
    let names = try FileManager.default.contentsOfDirectory(atPath: library.data)
    #expect(names.allSatisfy { !$0.contains("before") })
    let path = library.data + "/catalogue.sqlite"
    for (sql, count) in [
      ("library WHERE id = 0", 1), ("library", 1), ("counter WHERE library = 0 AND assets = 0", 4),
      ("collection WHERE type = 'smartAlbum'", 20), ("libraryCollection WHERE library = 0", 20), ("changedObject", 0),
    ] {
      #expect(try value("SELECT count(*) FROM \(sql)", in: path) == "\(count)", "\(sql)")
    }
  }

  @Test("a catalogue of a newer photod is refused by name and left unchanged")
  func newer() throws {
    let library = try TemporaryLibrary()
    _ = try library.catalogue()
    let path = library.data + "/catalogue.sqlite"
    try DatabaseQueue(path: path).write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: to come')") }
    #expect(throws: LibraryError.catalogueTooNew(path: path)) { try library.catalogue() }
  }

  @Test("a catalogue from before the first release is refused by name and left unchanged")
  func unreleased() throws {
    let library = try TemporaryLibrary()
    try FileManager.default.createDirectory(atPath: library.data, withIntermediateDirectories: true)
    let path = library.data + "/catalogue.sqlite"
    let queue = try DatabaseQueue(path: path)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
          INSERT INTO grdb_migrations VALUES ('1: files and assets'), ('2: placeholders');
          CREATE TABLE library (key TEXT PRIMARY KEY, value ANY); CREATE TABLE asset (id INTEGER PRIMARY KEY);
          """)
    }
    try queue.close()
    let before = FileManager.default.contents(atPath: path)
    #expect(throws: LibraryError.catalogueUnreleased(path: path)) { try library.catalogue() }
    #expect(throws: LibraryError.catalogueUnreleased(path: path)) { try Catalogue(reading: library.data) }
    #expect(throws: LibraryError.catalogueUnreleased(path: path)) {
      try CatalogueRestore(dataFolder: library.data + "/restored").restore(from: path)
    }
    #expect(FileManager.default.contents(atPath: path) == before)
  }
}
