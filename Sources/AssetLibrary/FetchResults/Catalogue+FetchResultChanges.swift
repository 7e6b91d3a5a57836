// What changed of a fetch result.
//
//     history since its token -> touched assets
//       in step:  those of them that the fetch gives now, put where they belong among the others     PlaceSearch
//       anew:     the fetch, all of it
//     -> the new list; with the old one -> FetchResultChangeDetails
//
// Nothing but what was touched can have come, gone or changed its place, save for a fetch with a limit, whose last ones go
// when others come; and for a list of rows whose order no index knows, and for one who may see some collections
// alone, the fetch is made anew too.

import GRDB
import PhotoModel
import PhotoPredicate

extension Catalogue {
  /// Of more touched assets nothing is told one by one: finding out what they are to a fetch takes as long as reading it.
  private static let mostTouched = 100_000
  /// A list that is read anew where others wait for their turn.
  private static let shortList = 10_000

  /// What changed of a fetch result since the state that it was read from.
  ///
  /// A hundred changes in 100,000 assets take a few milliseconds; a list that is read anew takes what the fetch takes.
  ///
  /// - Parameters:
  ///   - mayReadAll: whether a long list may be read anew, which takes its time: `nil` is given where it would have to be.
  ///   - limit: how many assets a list may have that is read anew.
  /// - Throws: `tooManyAssets`, and `queryTooExpensive` at the deadline.
  package func changes(
    of result: FetchResult, mayReadAll: Bool, atMost limit: Int, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> FetchResultDelta? {
    try read(for: principal) { db, part in
      try FetchDeadline.run(deadline, on: db) {
        try self.changes(of: result, mayReadAll: mayReadAll, atMost: limit, for: principal, part, db)
      }
    }
  }

  private func changes(
    of result: FetchResult, mayReadAll: Bool, atMost limit: Int, for principal: Principal, _ part: LibraryPart,
    _ db: Database
  ) throws -> FetchResultDelta? {
    let changeToken = try Self.token(db, part, for: principal)
    let since = result.changeToken
    if changeToken == since { return FetchResultDelta(details: FetchResultChangeDetails(), after: result) }
    var fetch = result.fetch
    if let collection = result.collection {
      // One that is gone has nothing in it any more.
      fetch.scope = try CollectionReader(db, CollectionQuery(), principal, part).scope(of: collection) ?? .rows([])
    }
    let touched =
      try tokens.token(of: since).map {
        try Self.touched($0, in: fetch, part, atMost: Self.mostTouched, for: principal, db)
      } ?? .expired
    let isInStep = fetch.scope == result.fetch.scope && fetch.isKnownByTouch && part == .whole
    var rows: [UInt32]?
    var marked: TouchedRows?
    if case .rows(let touched) = touched, let token = tokens.token(of: since) {
      if isInStep, touched.isEmpty {
        result.stands(at: changeToken)
        return FetchResultDelta(details: FetchResultChangeDetails(), after: result)
      }
      if isInStep, PlaceSearch.pays(touched: touched.count, fetch, old: result.count),
        let step = try step(result.list.rows, fetch, touched, since: token, for: principal, db)
      {
        rows = step.rows
        marked = step.touched
      } else {
        marked = try Self.marked(touched, in: fetch, since: token, for: principal, db)
      }
    }
    if rows == nil {
      guard mayReadAll || result.count <= Self.shortList && !fetch.isFree else { return nil }
      rows = try Self.rows(fetch, part, atMost: limit, db)
    }
    guard let rows else { return nil }
    let details = marked.flatMap { FetchResultChangeDetails(from: result.list.rows, to: rows, touched: $0) }
    if details?.isEmpty == true {
      result.stands(at: changeToken)
      return FetchResultDelta(details: details, after: result)
    }
    let list = details?.keepsOrder == true ? result.list : RowList(rows)
    return FetchResultDelta(
      details: details,
      after: FetchResult(list, changeToken: changeToken, fetch: fetch, collection: result.collection))
  }

  private static func touched(
    _ token: ChangeToken, in fetch: AssetFetch, _ part: LibraryPart, atMost limit: Int, for principal: Principal,
    _ db: Database
  ) throws -> TouchedAssets {
    var album: Int64?
    if case .album(let row) = fetch.scope { album = row }
    return try touched(db, part, since: token, album: album, atMost: limit, for: principal)
  }

  /// Which of the touched assets changed in a way that the principal can see: those that the history names themselves, and
  /// not as members alone. It says so in a few pages; their rows lie on as many as there are assets.
  private static func marked(
    _ touched: [UInt32], in fetch: AssetFetch, since token: ChangeToken, for principal: Principal, _ db: Database
  ) throws -> TouchedRows {
    guard case .album = fetch.scope else { return TouchedRows(touched.map { ($0, true) }) }
    let changed = try Set(
      UInt32.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT object FROM changedObject WHERE token > ? AND kind = 0
              \(principal.may(.location) ? "" : "AND isPlaceOnly = 0")
            """), arguments: [token.number]))
    return TouchedRows(touched.map { ($0, changed.contains($0)) })
  }

  /// The new list, found from the old one. `nil`: it is quicker to read it.
  private func step(
    _ old: [UInt32], _ fetch: AssetFetch, _ touched: [UInt32], since token: ChangeToken, for principal: Principal,
    _ db: Database
  ) throws -> (rows: [UInt32], touched: TouchedRows)? {
    var search = try PlaceSearch(fetch, old, touched: touched, for: principal, db)
    guard let places = try search.places() else { return nil }
    var rows: [UInt32] = []
    rows.reserveCapacity(search.kept.count + search.found.count)
    var taken = 0
    for (one, place) in zip(search.found, places) {
      rows += search.kept[taken..<place]
      rows.append(one.row)
      taken = place
    }
    rows += search.kept[taken...]
    let changed = Set(search.found.filter { $0.revision > token.number }.map(\.row))
    return (rows, TouchedRows(touched.map { ($0, changed.contains($0)) }))
  }
}

extension AssetFetch {
  /// Whether what it gives changes only by what the history names: where those stand is found by their properties, and
  /// none comes or goes for another one's sake.
  fileprivate var isKnownByTouch: Bool {
    if fetchLimit != nil { return false }
    if case .rows = scope { return false }
    return true
  }
}

extension AssetRow {
  /// SQL: the token of the last change of an asset that a principal can see.
  static func revision(for principal: Principal) -> String {
    principal.may(.location) ? "asset.revision" : "coalesce(asset.placelessRevision, asset.revision)"
  }
}
