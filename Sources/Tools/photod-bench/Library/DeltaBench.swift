// The changes of a fetch result over the whole library, by the number of changed assets: computed as the daemon does
// it, and for comparison by repeating the fetch and comparing. In process, in wall time, over a copy of a synthetic
// catalogue.

import ArgumentParser
import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate

struct DeltaBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deltas", abstract: "The changes of a fetch result: from the history, and by a new fetch.")

  @Option(help: "Number of assets in the catalogue.")
  var assets = 100_000

  @Option(parsing: .upToNextOption, help: "Numbers of changed assets.")
  var changes = [1, 100, 10_000]

  @Option(help: "Repetitions of each measurement.")
  var repetitions = 200

  @Option(help: "The folder that keeps catalogues between runs.")
  var cache = ".build/bench-library"

  func run() throws {
    let original = try SyntheticCatalogue(assets: assets, in: cache)
    try TemporaryFolder.with { folder in
      for name in try FileManager.default.contentsOfDirectory(atPath: original.folder)
      where name.hasPrefix("catalogue.sqlite") {
        try FileManager.default.copyItem(atPath: "\(original.folder)/\(name)", toPath: "\(folder)/\(name)")
      }
      let library = try ChangedCatalogue(folder)
      print("Changes of a fetch result over \(assets) assets, milliseconds, \(repetitions) times; \(Machine.cores)\n")
      let table = Table(
        [
          "changed", "list", "incremental: p50", "p99", "new fetch: p50", "p99", "removed", "inserted", "changed",
          "moved",
        ], labels: 2)
      for count in changes {
        for (name, fetch) in try Self.fetches() {
          var cells = try measure(fetch, changing: count, of: library)
          cells = ["\(count)", name] + cells
          table.row(cells)
        }
      }
    }
  }

  private static func fetches() throws -> [(String, AssetFetch)] {
    var byName = AssetFetch()
    byName.sort = try FetchSortDescriptors("originalFilename", schema: .asset, principal: .local)
    var favorites = AssetFetch()
    favorites.scope = .smartAlbum(.favorites)
    var album = AssetFetch()
    // The first album contains half of the library.
    album.scope = .album(row: 2000)
    return [("the library", AssetFetch()), ("by name", byName), ("favourites", favorites), ("an album", album)]
  }

  private func measure(_ fetch: AssetFetch, changing count: Int, of library: ChangedCatalogue) throws -> [String] {
    let catalogue = library.catalogue
    let found = try catalogue.rows(fetch, atMost: 100_000_000, deadline: nil, for: .local)
    let result = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch)
    let since = try library.change(count)
    var details: FetchResultChangeDetails?
    let incremental = try times {
      let delta = try catalogue.changes(
        of: result, mayReadAll: true, atMost: 100_000_000, deadline: nil, for: .local)
      details = delta?.details
    }
    let refetched = try times {
      guard case .rows(let touched) = try catalogue.touched(since: since, atMost: 100_000, for: .local) else { return }
      let rows = try catalogue.rows(fetch, atMost: 100_000_000, deadline: nil, for: .local).rows
      _ = FetchResultChangeDetails(from: found.rows, to: rows, touched: TouchedRows(touched.map { ($0, true) }))
    }
    return [
      (incremental.percentile(50).map { $0 / 1000 }).text(2), (incremental.percentile(99).map { $0 / 1000 }).text(2),
      (refetched.percentile(50).map { $0 / 1000 }).text(2), (refetched.percentile(99).map { $0 / 1000 }).text(2),
      "\(details?.removedIndexes.count ?? -1)", "\(details?.insertedIndexes.count ?? -1)",
      "\(details?.changedIndexes.count ?? -1)", "\(details?.moves.count ?? -1)",
    ]
  }

  /// Microseconds.
  private func times(_ body: () throws -> Void) throws -> [Double] {
    // The first call reads pages from the file.
    try body()
    return try (0..<repetitions).map { _ in
      let began = ContinuousClock.now
      try body()
      return (ContinuousClock.now - began) / .microseconds(1)
    }
  }
}

/// A catalogue that is changed by another connection, as by another process. The changed assets are spread over the
/// whole library: half of them change their favourite flag, a fifth their date, a fifth are hidden or shown, and a
/// tenth are deleted.
private final class ChangedCatalogue {
  let catalogue: Catalogue
  private let queue: DatabaseQueue
  private var random = SplitMix(state: 11)

  init(_ folder: String) throws {
    catalogue = try Catalogue(dataFolder: folder)
    queue = try DatabaseQueue(path: folder + "/catalogue.sqlite")
  }

  /// - Returns: the token before the change.
  func change(_ count: Int) throws -> ChangeToken {
    try queue.write { db in
      let before = try Int64.fetchOne(db, sql: "SELECT revision FROM library WHERE id = 0") ?? 0
      try db.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0")
      let rows = try Int64.fetchAll(db, sql: "SELECT id FROM asset").shuffled(using: &random).prefix(count)
      let favorite = try db.makeStatement(sql: "UPDATE asset SET isFavorite = 1 - isFavorite WHERE id = ?")
      let date = try db.makeStatement(sql: "UPDATE asset SET creationDate = creationDate + 86400000 * 30 WHERE id = ?")
      let delete = try db.makeStatement(sql: "DELETE FROM asset WHERE id = ?")
      let hide = try db.makeStatement(sql: "UPDATE asset SET isHidden = 1 - isHidden WHERE id = ?")
      for (number, row) in rows.enumerated() {
        let statement = number % 10 < 5 ? favorite : number % 10 < 7 ? date : number % 10 < 9 ? hide : delete
        try statement.execute(arguments: [row])
      }
      try db.execute(
        sql: """
          INSERT INTO change (library, token, time, objects, isLocationOnly)
          SELECT id, revision, 0, ?, 0 FROM library WHERE id = 0
          """, arguments: [count])
      return ChangeToken(before)
    }
  }
}
