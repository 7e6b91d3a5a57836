import Foundation
import GRDB
import Testing

/// A sequence of numbers that is the same in each run (Steele, Lea, Flood: SplitMix64).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// What a catalogue holds whose writer was killed, if it is sound.
struct CatalogueIntegrity {
  /// By inode: names change, and so do contents.
  var identifiers: [Int64: String] = [:]
  var paths: Set<String> = []

  init(_ data: String, _ comment: String) throws {
    // A kill may come before there is a table.
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
        SELECT count(*) FROM counter WHERE value <> (
          SELECT count(*) FROM asset WHERE asset.listing = counter.listing AND asset.counted >> counter.bit & 1)
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
  /// Looks into the catalogue, or writes to it, as another process would.
  func catalogue<Value>(_ body: (Database) throws -> Value) throws -> Value {
    var configuration = Configuration()
    configuration.busyMode = .timeout(20)
    let queue = try DatabaseQueue(path: data + "/catalogue.sqlite", configuration: configuration)
    defer { try? queue.close() }
    return try queue.write(body)
  }
}
