// Fetches of assets: pages, columns, counts and row lists. FetchPlan chooses the statement; this file runs the
// statements and converts their rows.

import Foundation
import GRDB
import PhotoModel
import PhotoPredicate
import Primitives

extension Catalogue {
  /// A page of assets.
  ///
  /// - Throws: `malformedCursor` for a cursor of another fetch, `queryTooExpensive` at the deadline.
  package func assets(
    _ fetch: AssetFetch, _ page: FetchPageRequest, for principal: Principal
  ) throws(AssetSourceError) -> AssetPage {
    var assets: [Asset] = []
    let end = try readPage(
      fetch, page, for: principal, columns: { _ in AssetRow.columns }, joins: AssetRow.primaryFile
    ) { row, _ in assets.append(try AssetRow.asset(row, for: principal)) }
    return AssetPage(assets: assets, nextCursor: end.nextCursor, changeToken: end.changeToken, count: end.count)
  }

  /// Passes each row of a page to `take`, with the statement whose current row it is. Returns the cursor of the next
  /// page, and of the state that was read the change token and, if the page includes it, the count.
  ///
  /// - Parameter columns: returns the columns to read, given the table that has the columns of grids.
  func readPage(
    _ fetch: AssetFetch, _ page: FetchPageRequest, for principal: Principal, columns: (_ table: String) -> String,
    joins: String = "", _ take: (Row, Statement) throws -> Void
  ) throws(AssetSourceError) -> (nextCursor: PageCursor?, changeToken: ChangeToken, count: Int?) {
    try read(for: principal, before: page.deadline) { db, library in
      let plan = FetchPlan(fetch, in: library, search: try SearchAccess(fetch, in: library, albumTitles, db))
      let start = try page.cursor.map { try FetchCursor($0, of: plan) }
      let limit = start.limit(page.limit, of: fetch)
      // Before the page's statement is prepared, which is valid until the next one is.
      let count = try page.includesCount ? self.count(fetch, library, db) : nil
      // One extra row shows whether another page follows.
      let end = try lastDocument(plan, after: start?.values, limit: limit + 1, db)
      let statement = FetchStatement(
        plan, columns: columns(plan.table), joins: joins, after: start?.values, through: end, limit: limit + 1)
      let prepared = try statement.prepared(db, in: statements)
      let rows = try Row.fetchCursor(prepared)
      var taken = 0
      var last: Row?
      var next: PageCursor?
      while let row = try rows.next() {
        if taken == limit {
          next = last.flatMap { start.next(after: $0, taken, of: fetch, plan) }
          break
        }
        try take(row, prepared)
        taken += 1
        if taken == limit { last = row.copy() }
      }
      return (next, try Self.visibleToken(db, library, principal), count)
    }
  }

  /// The last document that a fetch along the search index must read to get this many rows; `nil` for all.
  private func lastDocument(
    _ plan: FetchPlan, after last: [SQLValue]?, limit: Int, _ db: Database
  ) throws -> Int64? {
    guard plan.dateStream != nil, limit > 0 else { return nil }
    let statement = FetchStatement(documentAt: limit - 1, of: plan, after: last)
    return try Int64.fetchOne(statement.prepared(db, in: statements))
  }

  /// The number of assets of a fetch. Without a predicate it is read from a stored counter where the scope has one.
  package func count(
    _ fetch: AssetFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> Int {
    try read(for: principal, before: deadline) { db, library in try count(fetch, library, db) }
  }

  private func count(_ fetch: AssetFetch, _ library: LibraryID, _ db: Database) throws -> Int {
    let limit = fetch.fetchLimit ?? .max
    if fetch.isUnfiltered, let count = try Self.storedCount(fetch, library, db) { return min(count, limit) }
    // Without ranking, which does not change the number of matches.
    var fetch = fetch
    fetch.search?.isByRelevance = false
    let search = try SearchAccess(fetch, in: library, albumTitles, db)
    let statement = FetchStatement(counting: FetchPlan(fetch, in: library, search: search))
    return min(try Int.fetchOne(statement.prepared(db, in: statements)) ?? 0, limit)
  }

  /// The row numbers of all assets of a fetch, in its order, for a fetch result, which relies on row numbers never
  /// being reused.
  ///
  /// - Throws: `tooManyAssets` if there are more than `limit`, because a truncated list would be wrong.
  package func rows(
    _ fetch: AssetFetch, atMost limit: Int, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> (rows: [UInt32], changeToken: ChangeToken) {
    try read(for: principal, before: deadline) { db, library in
      (try self.rows(fetch, library, atMost: limit, db), try Self.visibleToken(db, library, principal))
    }
  }

  func rows(_ fetch: AssetFetch, _ library: LibraryID, atMost limit: Int, _ db: Database) throws -> [UInt32] {
    let plan = FetchPlan(fetch, in: library, search: try SearchAccess(fetch, in: library, albumTitles, db))
    let end = try fetch.fetchLimit.flatMap { try lastDocument(plan, after: nil, limit: min(limit + 1, $0), db) }
    let statement = FetchStatement(
      plan, columns: plan.row, through: end, limit: min(limit + 1, fetch.fetchLimit ?? .max))
    let cursor = try UInt32.fetchCursor(statement.prepared(db, in: statements))
    var rows: [UInt32] = []
    if fetch.isUnfiltered, let count = try Self.storedCount(fetch, library, db) {
      rows.reserveCapacity(min(count, limit, fetch.fetchLimit ?? .max))
    }
    while let row = try cursor.next() {
      guard rows.count < limit else { throw AssetSourceError.tooManyAssets(limit: limit) }
      rows.append(row)
    }
    return rows
  }

  /// The number of assets of each day, month or year, newest first. ``LocalCalendar`` defines the days.
  package func dateBuckets(
    _ fetch: AssetFetch, by unit: DateBucket.Unit, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [DateBucket] {
    let days: [(Int, Int)]
    if fetch.isUnfiltered, fetch.fetchLimit == nil, fetch.scope == .library {
      let listings = ListingFilter(
        includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
      days = try read(for: principal, before: deadline) { db, library in
        try Self.pairs(
          db.cachedStatement(
            sql: """
              SELECT day, sum(value) FROM dayCount WHERE library = ? AND listing \(listings.sql)
              GROUP BY day HAVING sum(value) > 0
              """), [library.row])
      }
    } else {
      days = try read(for: principal, before: deadline) { db, library in
        let plan = FetchPlan(fetch, in: library, search: try SearchAccess(fetch, in: library, albumTitles, db))
        let statement = FetchStatement(countingDaysOf: plan, limit: fetch.fetchLimit)
        return try Self.pairs(statement.prepared(db, in: statements))
      }
    }
    var counts: [String: Int] = [:]
    for (day, count) in days { counts[DateBucket.name(ofDay: day, unit), default: 0] += count }
    return counts.sorted { $0.key > $1.key }.map { DateBucket(name: $0.key, count: $0.value) }
  }

  private static func pairs(
    _ statement: Statement, _ arguments: StatementArguments? = nil
  ) throws -> [(Int, Int)] {
    let rows = try Row.fetchCursor(statement, arguments: arguments)
    var pairs: [(Int, Int)] = []
    while let row = try rows.next() { pairs.append((row[0], row[1])) }
    return pairs
  }

  /// The number of assets in the scope from the counters that triggers maintain; `nil` if the scope has none.
  private static func storedCount(_ fetch: AssetFetch, _ library: LibraryID, _ db: Database) throws -> Int? {
    let listings = ListingFilter(
      includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    switch fetch.scope {
    case .library: return try count(.userLibrary, listings, library, db)
    case .smartAlbum(let album):
      let listings = album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
      return try count(album, listings, library, db)
    case .album(let row):
      guard try library.contains(collection: row, db) else { return 0 }
      return try Int.fetchOne(
        db.cachedStatement(
          sql: "SELECT sum(value) FROM memberCount WHERE collection = ? AND listing \(listings.sql)"),
        arguments: [row]) ?? 0
    case .folder(let row):
      guard try library.contains(collection: row, db) else { return 0 }
      return try Int.fetchOne(
        db.cachedStatement(sql: "SELECT sum(value) FROM folderCount WHERE folder = ? AND listing \(listings.sql)"),
        arguments: [row]) ?? 0
    case .dates, .rows: return nil
    }
  }
}

extension DateBucket {
  fileprivate static func name(ofDay day: Int, _ unit: Unit) -> String {
    let date = CivilDate.date(ofDay: day)
    let month = "\(date.year.zeroPadded(4))-\(date.month.zeroPadded(2))"
    switch unit {
    case .year: return date.year.zeroPadded(4)
    case .month: return month
    case .day: return "\(month)-\(date.day.zeroPadded(2))"
    }
  }
}
