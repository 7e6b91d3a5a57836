import Foundation
import GRDB
import Testing

/// The contents of a catalogue whose writer was killed, if it is intact.
struct CatalogueIntegrity {
  /// The assets' identifiers by the inodes of their files, because names and contents change.
  var identifiers: [Int64: String] = [:]
  var paths: Set<String> = []

  init(_ data: String, _ comment: String) throws {
    // The writer may have been killed before the tables were created.
    let queue = try DatabaseQueue(path: data + "/catalogue.sqlite")
    defer { try? queue.close() }
    self = try queue.read { try CatalogueIntegrity($0, comment) }
  }

  private init(_ db: Database, _ comment: String) throws {
    #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"], "\(comment)")
    #expect(try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").isEmpty, "\(comment)")
    guard try db.tableExists("counter"), try db.tableExists("file") else { return }
    let wrong = try Int.fetchOne(
      db,
      sql: """
        SELECT count(*) FROM counter WHERE library = 0 AND (assets, favorites, videos, hidden, images) IS NOT (
          SELECT count(*), coalesce(sum(isFavorite), 0), coalesce(sum(mediaType = 2), 0), coalesce(sum(isHidden), 0),
            coalesce(sum(mediaType = 1), 0)
          FROM asset WHERE asset.listing = counter.listing)
        """)
    #expect(wrong == 0, "\(comment): counters")
    #expect(
      try Int.fetchOne(db, sql: "SELECT count(*) FROM asset WHERE id NOT IN (SELECT asset FROM file WHERE isPrimary)")
        == 0, "\(comment): assets without a file")
    for row in try Row.fetchAll(
      db, sql: "SELECT inode, CAST(path AS TEXT), localIdentifier FROM file JOIN asset ON asset.id = file.asset")
    {
      #expect(identifiers.updateValue(row[2], forKey: row[0]) == nil, "\(comment): \(row[1] as String) twice")
      paths.insert(row[1])
    }
  }
}

extension TestDaemon.Folders {
  /// Reads or writes the catalogue as another process would.
  func catalogue<Value>(_ body: (Database) throws -> Value) throws -> Value {
    var configuration = Configuration()
    configuration.busyMode = .timeout(20)
    let queue = try DatabaseQueue(path: data + "/catalogue.sqlite", configuration: configuration)
    defer { try? queue.close() }
    return try queue.write(body)
  }
}
