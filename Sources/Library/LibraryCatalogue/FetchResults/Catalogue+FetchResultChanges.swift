// Computes the changes of a fetch result.
//
//     history since its token -> touched assets
//       incremental:  the touched assets that still match, inserted at their positions     PositionSearch
//       full:         the whole fetch, read again
//     -> the new list; with the old one -> FetchResultChangeDetails
//
// Only touched assets can have entered, left or moved. In four cases that does not hold or can't be used, and the fetch
// is always read again: a fetch with a limit, whose last assets leave when others enter; a list of rows, whose order is
// in no index; a folder, whose assets come and go with the albums below it; and a principal with a limited library.

import GRDB
import PhotoModel
import PhotoPredicate

extension Catalogue {
  /// Above this many touched assets no details are computed: matching them against the fetch would take as long as
  /// reading it again.
  private static let maximumTouchedAssets = 100_000
  /// The longest list that may be read again without `mayReadAll`.
  private static let shortListLimit = 10_000

  /// The changes of a fetch result since the state that it was read from.
  ///
  /// A hundred changes in 100,000 assets take a few milliseconds. A full read takes as long as the fetch.
  ///
  /// - Parameters:
  ///   - mayReadAll: whether a long list may be read again, which is slow. Without permission, the result is `nil` if
  ///     the list would have to be read.
  ///   - limit: the maximum number of assets of a list that is read again.
  /// - Throws: `tooManyAssets`, and `queryTooExpensive` at the deadline.
  package func changes(
    of result: FetchResult, mayReadAll: Bool, atMost limit: Int, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> FetchResultDelta? {
    try read(for: principal, before: deadline) { db, library in
      try self.changes(of: result, mayReadAll: mayReadAll, atMost: limit, for: principal, library, db)
    }
  }

  private func changes(
    of result: FetchResult, mayReadAll: Bool, atMost limit: Int, for principal: Principal, _ library: LibraryID,
    _ db: Database
  ) throws -> FetchResultDelta? {
    let changeToken = try Self.visibleToken(db, library, principal)
    let since = result.changeToken
    // Moments may be recomputed after the assets have changed, and this creates no token.
    if changeToken == since, !result.followsMoment {
      return FetchResultDelta(details: FetchResultChangeDetails(), after: result)
    }
    var fetch = result.fetch
    if let collection = result.collection {
      // A deleted collection is empty.
      fetch.scope = try CollectionReader(db, CollectionQuery(), principal, library).scope(of: collection) ?? .rows([])
    }
    if changeToken == since, fetch.scope == result.fetch.scope {
      return FetchResultDelta(details: FetchResultChangeDetails(), after: result)
    }
    let touched = try self.touched(since, in: fetch, library, atMost: Self.maximumTouchedAssets, for: principal, db)
    let isIncremental =
      try fetch.scope == result.fetch.scope && fetch.dependsOnlyOnTouchedAssets && library.isWhole
      && Self.dependsOnlyOnTouchedAssets(fetch.search, since, db)
    var rows: [UInt32]?
    var marked: TouchedRows?
    if case .rows(let touched) = touched {
      if isIncremental, touched.isEmpty {
        result.advance(to: changeToken)
        return FetchResultDelta(details: FetchResultChangeDetails(), after: result)
      }
      if isIncremental,
        PositionSearch.isCheaperThanReading(touched: touched.count, fetch, old: result.count, for: principal),
        let step = try step(result.list.rows, fetch, touched, since: since, for: principal, db)
      {
        rows = step.rows
        marked = step.touched
      } else {
        marked = try Self.marked(touched, in: fetch, since: since, for: principal, db)
      }
    }
    if rows == nil {
      guard mayReadAll || result.count <= Self.shortListLimit && !fetch.needsFullScan(for: principal)
      else { return nil }
      rows = try self.rows(fetch, library, atMost: limit, db)
    }
    guard let rows else { return nil }
    let details = marked.flatMap { FetchResultChangeDetails(from: result.list.rows, to: rows, touched: $0) }
    if details?.isEmpty == true {
      result.advance(to: changeToken)
      return FetchResultDelta(details: details, after: result)
    }
    let list = details?.keepsOrder == true ? result.list : RowList(rows)
    return FetchResultDelta(
      details: details,
      after: FetchResult(list, changeToken: changeToken, fetch: fetch, collection: result.collection))
  }

  /// Whether only touched assets can enter, leave or move in the results of a search. Not after a change of an album or
  /// its members, because the titles of albums are searched too; and not by relevance, which can't be computed for
  /// single assets.
  private static func dependsOnlyOnTouchedAssets(
    _ search: AssetSearch?, _ token: ChangeToken, _ db: Database
  ) throws -> Bool {
    guard let search else { return true }
    if search.isByRelevance { return false }
    return try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT 1 FROM changedObject WHERE token > ?1 AND kind = 1
          UNION ALL SELECT 1 FROM changedMember WHERE token > ?1 LIMIT 1
          """), arguments: [token.number]) == nil
  }

  private func touched(
    _ token: ChangeToken, in fetch: AssetFetch, _ library: LibraryID, atMost limit: Int, for principal: Principal,
    _ db: Database
  ) throws -> TouchedAssets {
    var album: Int64?
    if case .album(let row) = fetch.scope { album = row }
    return try touched(db, library, since: token, album: album, atMost: limit, for: principal)
  }

  /// Marks those touched assets that changed visibly for the principal: the history lists them as changed objects, and
  /// not only as album members. Reads the history, which is on a few pages, instead of the assets' rows, which are on
  /// one page each.
  private static func marked(
    _ touched: [UInt32], in fetch: AssetFetch, since token: ChangeToken, for principal: Principal, _ db: Database
  ) throws -> TouchedRows {
    guard case .album = fetch.scope else { return TouchedRows(touched.map { ($0, true) }) }
    let changed = try Set(
      UInt32.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT object FROM changedObject WHERE token > ? AND kind = 0
              \(principal.may(.location) ? "" : "AND isLocationOnly = 0")
            """), arguments: [token.number]))
    return TouchedRows(touched.map { ($0, changed.contains($0)) })
  }

  /// The new list, derived from the old one. `nil` if reading it again is faster.
  private func step(
    _ old: [UInt32], _ fetch: AssetFetch, _ touched: [UInt32], since token: ChangeToken, for principal: Principal,
    _ db: Database
  ) throws -> (rows: [UInt32], touched: TouchedRows)? {
    var search = try PositionSearch(fetch, old, touched: touched, for: principal, db, statements, albumTitles)
    guard let positions = try search.positions() else { return nil }
    var rows: [UInt32] = []
    rows.reserveCapacity(search.kept.count + search.found.count)
    var next = 0
    for (match, position) in zip(search.found, positions) {
      rows += search.kept[next..<position]
      rows.append(match.row)
      next = position
    }
    rows += search.kept[next...]
    let changed = Set(search.found.filter { $0.revision > token.number }.map(\.row))
    return (rows, TouchedRows(touched.map { ($0, changed.contains($0)) }))
  }
}

extension FetchResult {
  /// Whether the result lists the assets of a moment, a month or a year.
  fileprivate var followsMoment: Bool {
    if collection != nil, case .dates = fetch.scope { true } else { false }
  }
}

extension AssetFetch {
  /// Whether only touched assets can enter, leave or move in the result.
  fileprivate var dependsOnlyOnTouchedAssets: Bool {
    if fetchLimit != nil { return false }
    switch scope {
    case .rows, .folder: return false
    case .library, .smartAlbum, .album, .dates: return true
    }
  }
}

extension AssetRow {
  /// SQL expression: the token of an asset's last change that the principal can see.
  static func revision(for principal: Principal) -> String {
    principal.may(.location) ? "asset.revision" : "coalesce(asset.nonLocationRevision, asset.revision)"
  }
}
