import Foundation
import GRDB
import PhotoFixtures

/// The time that SQLite itself needs to change rows of one table durably: a transaction as in the catalogue (WAL,
/// synchronous=FULL), without indexes, triggers and readers. It is the lower limit for change lists.
final class SQLiteBaseline {
  private static let rowBytes = 400

  private let queue: DatabaseQueue
  private let rows: Int
  private var random = SplitMix(state: 7)

  init(rows: Int, in folder: String) throws {
    self.rows = rows
    var configuration = Configuration()
    configuration.journalMode = .wal
    queue = try DatabaseQueue(path: folder + "/bare.sqlite", configuration: configuration)
    // GRDB's WAL mode sets it to NORMAL.
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    try queue.write { db in
      try db.execute(
        sql: "CREATE TABLE asset (id INTEGER PRIMARY KEY, isFavorite INTEGER NOT NULL, rest BLOB NOT NULL)")
      let insertion = try db.makeStatement(sql: "INSERT INTO asset VALUES (?, 0, randomblob(\(Self.rowBytes)))")
      for row in 1...rows { try insertion.execute(arguments: [row]) }
    }
  }

  /// Runs transactions of `count` rows each for some seconds. Returns the milliseconds of each, and the CPU
  /// milliseconds of one.
  func measure(_ count: Int, seconds: Double) throws -> (times: [Double], cpu: Double?) {
    let end = HTTPClient.now() + seconds
    var times: [Double] = []
    let cpu = try ProcessUsage.cpuSeconds {
      while HTTPClient.now() < end {
        let start = HTTPClient.now()
        try queue.write { db in
          let update = try db.cachedStatement(sql: "UPDATE asset SET isFavorite = 1 - isFavorite WHERE id = ?")
          for _ in 0..<count { try update.execute(arguments: [Int.random(in: 1...rows, using: &random)]) }
        }
        times.append((HTTPClient.now() - start) * 1000)
      }
    }
    return (times, times.isEmpty ? nil : cpu * 1000 / Double(times.count))
  }
}
