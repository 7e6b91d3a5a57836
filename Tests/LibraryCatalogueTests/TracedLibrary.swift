import Foundation
import GRDB
import LibraryCatalogue
import PhotoModel
import Synchronization
import Testing

/// A library of some thousand assets, few of which have special properties.
final class TracedLibrary: @unchecked Sendable {
  // Sendable because the library is created once and then only read, through a thread-safe pool and queue.
  let library: SyntheticLibrary
  private let turn = NSLock()
  private let record: Record

  private final class Record: Sendable { let values = Mutex<[String]>([]) }

  init() throws {
    let record = Record()
    library = try SyntheticLibrary(
      (1...3000).map { (row: Int64) in
        var asset = SyntheticAsset(row: row, date: 1_700_000_000_000 + row / 3 * 60_000)
        asset.isFavorite = row % 50 == 0
        asset.isHidden = row % 40 == 0
        asset.mediaType = row % 30 == 0 ? .video : .image
        asset.mediaSubtypes = row % 17 == 0 ? 1 << (row % 5) : 0
        asset.isRAW = row % 70 == 0
        if row % 20 < 3 { (asset.burst, asset.representsBurst) = ("burst\(row / 20)", row % 20 == 0) }
        return asset
      }, traced: { sql in record.values.withLock { $0.append(sql) } })
    self.record = record
    // After the twenty smart albums.
    try #require(try library.makeAlbum("album", (1...2000).map { $0 }) == 21)
    let folder = try library.makeFolder("one")
    for i in 0..<5 { _ = try library.makeAlbum("inner \(i)", [1, 2, 3], parent: folder, position: i) }
    _ = try library.makeAlbum("everything", (1...3000).map { $0 })
    try library.queue.write { _ = try SearchIndex.update($0) }
    try library.catalogue.refreshMoments(zone: .gmt)
    // The first read of a limited principal creates its library.
    _ = try library.catalogue.count(AssetFetch(), deadline: nil, for: QueryPlanTests.limited)
  }

  /// The statements that SQLite runs during `body`.
  func statements(_ body: () throws -> Void) throws -> [String] {
    try turn.withLock {
      record.values.withLock { $0 = [] }
      try body()
      return record.values.withLock { $0 }.filter { $0.hasPrefix("SELECT") }
    }
  }

  func plan(of sql: String) throws -> [String] {
    try library.queue.read { db in
      let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
      // A statement is planned before values are bound.
      statement.setUncheckedArguments([])
      return try Row.fetchAll(statement).map { $0["detail"] as String }
    }
  }
}
