// What changed of a fetch result over everything, by how much of the library did: as the daemon answers it, and beside it
// the fetch made anew and compared. In process and by the wall's clock, over a copy of a synthetic catalogue.

import ArgumentParser
import AssetLibrary
import Foundation
import GRDB
import PhotoModel
import PhotoPredicate

struct DeltaBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "deltas", abstract: "The changes of a fetch result, in step with the history and by reading it anew.")

  @Option(help: "How many assets the catalogue has.")
  var assets = 100_000

  @Option(parsing: .upToNextOption, help: "How many of them change.")
  var changes = [1, 100, 10_000]

  @Option(help: "Repetitions of each.")
  var repetitions = 200

  @Option(help: "Where catalogues are kept between runs.")
  var cache = ".build/bench-library"

  // Every benchmark is told where the daemon is; this one has no use for it.
  @Option(help: .hidden)
  var photod = ""

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
          "changed", "list", "in step: p50", "p99", "anew: p50", "p99", "removed", "inserted", "changed", "moved",
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
    // The first holds half of the library.
    album.scope = .album(row: 2000)
    return [("the library", AssetFetch()), ("by name", byName), ("favourites", favorites), ("an album", album)]
  }

  private func measure(_ fetch: AssetFetch, changing count: Int, of library: ChangedCatalogue) throws -> [String] {
    let catalogue = library.catalogue
    let found = try catalogue.rows(fetch, atMost: 100_000_000, deadline: nil, for: .local)
    let result = FetchResult(rows: found.rows, changeToken: found.changeToken, fetch: fetch)
    let since = try library.change(count)
    var told: FetchResultChangeDetails?
    let inStep = try times {
      let delta = try catalogue.changes(
        of: result, mayReadAll: true, atMost: 100_000_000, deadline: nil, for: .local)
      told = delta?.details
    }
    let anew = try times {
      guard case .rows(let touched) = try catalogue.touched(since: since, atMost: 100_000, for: .local) else { return }
      let rows = try catalogue.rows(fetch, atMost: 100_000_000, deadline: nil, for: .local).rows
      _ = FetchResultChangeDetails(from: found.rows, to: rows, touched: TouchedRows(touched.map { ($0, true) }))
    }
    return [
      (inStep.percentile(50).map { $0 / 1000 }).text(2), (inStep.percentile(99).map { $0 / 1000 }).text(2),
      (anew.percentile(50).map { $0 / 1000 }).text(2), (anew.percentile(99).map { $0 / 1000 }).text(2),
      "\(told?.removedIndexes.count ?? -1)", "\(told?.insertedIndexes.count ?? -1)",
      "\(told?.changedIndexes.count ?? -1)", "\(told?.moves.count ?? -1)",
    ]
  }

  /// Microseconds.
  private func times(_ body: () throws -> Void) throws -> [Double] {
    // The first reads pages.
    try body()
    return try (0..<repetitions).map { _ in
      let began = ContinuousClock.now
      try body()
      return (ContinuousClock.now - began) / .microseconds(1)
    }
  }
}

/// A catalogue that is changed beside what reads it, as by another process: assets spread over all of it, half of them made
/// favourites or none, a fifth given other dates, and as many gone, and hidden or shown.
private final class ChangedCatalogue {
  let catalogue: Catalogue
  private let queue: DatabaseQueue
  private var random = SplitMix(state: 11)

  init(_ folder: String) throws {
    catalogue = try Catalogue(dataFolder: folder)
    queue = try DatabaseQueue(path: folder + "/catalogue.sqlite")
  }

  /// - Returns: the token of the state before.
  func change(_ count: Int) throws -> ChangeToken {
    try queue.write { db in
      let before = try Int64.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'token'") ?? 0
      try db.execute(sql: "UPDATE library SET value = value + 1 WHERE key = 'token'")
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
          INSERT INTO change (token, time, objects, isLocationOnly) SELECT value, 0, ?, 0 FROM library WHERE key = 'token'
          """, arguments: [count])
      return ChangeToken(before)
    }
  }
}
