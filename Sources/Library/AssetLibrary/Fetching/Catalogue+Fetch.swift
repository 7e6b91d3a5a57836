// Fetches of assets: pages, columns, counts and row lists. FetchPlan decides what SQLite is asked; this file runs the
// statements and converts their rows.

import Foundation
import GRDB
import PhotoModel
import PhotoPredicate

extension Catalogue {
  /// A page of assets.
  ///
  /// - Throws: `malformedCursor` for a cursor of another fetch, `queryTooExpensive` at the deadline.
  package func assets(
    _ fetch: AssetFetch, _ page: FetchPageRequest, for principal: Principal
  ) throws(AssetSourceError) -> AssetPage {
    var assets: [Asset] = []
    let end = try readPage(
      fetch, page, for: principal, columns: AssetRow.columns,
      joins: AssetRow.primaryFile
    ) { assets.append(try AssetRow.asset($0, for: principal)) }
    return AssetPage(assets: assets, nextCursor: end.nextCursor, changeToken: end.changeToken)
  }

  /// Some properties of many assets at once, for a grid.
  package func columns(
    _ fetch: AssetFetch, _ page: FetchPageRequest, for principal: Principal
  ) throws(AssetSourceError) -> AssetColumns {
    var columns = AssetColumns(capacity: min(page.limit, 10_000))
    let end = try readPage(
      fetch, page, for: principal, isGrid: true,
      columns: """
        asset.localIdentifier, asset.pixelWidth, asset.pixelHeight, asset.creationDate, asset.isFavorite,
        asset.placeholder
        """
    ) { columns.append($0) }
    columns.nextCursor = end.nextCursor
    columns.changeToken = end.changeToken
    return columns
  }

  /// Passes the rows of one page to `take`. Returns the cursor of the next page and the change token of the state that
  /// was read.
  private func readPage(
    _ fetch: AssetFetch, _ page: FetchPageRequest, for principal: Principal, isGrid: Bool = false, columns: String,
    joins: String = "", _ take: (Row) throws -> Void
  ) throws(AssetSourceError) -> (nextCursor: String?, changeToken: String) {
    try readBeforeDeadline(page.deadline, for: principal) { db, part in
      let plan = FetchPlan(fetch, in: part, isGrid: isGrid)
      let start = try page.cursor.map { try FetchCursor(text: $0, of: fetch, plan, cursorCipher) }
      let limit = start.limit(page.limit, of: fetch)
      // One extra row shows whether another page follows.
      let statement = FetchStatement(plan, columns: columns, joins: joins, after: start?.values, limit: limit + 1)
      let rows = try Row.fetchCursor(statement.prepared(db))
      var taken = 0
      var last: Row?
      var next: String?
      while let row = try rows.next() {
        if taken == limit {
          next = last.flatMap { start.next(after: $0, taken, of: fetch, plan, cursorCipher) }
          break
        }
        try take(row)
        taken += 1
        if taken == limit { last = row.copy() }
      }
      return (next, try Self.token(db, part, for: principal))
    }
  }

  /// The number of assets of a fetch. Without a predicate it is read from a stored counter where the scope has one.
  package func count(
    _ fetch: AssetFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> Int {
    let count = try readBeforeDeadline(deadline, for: principal) { db, part in
      if fetch.predicate == nil, let count = try Self.storedCount(fetch, part, db) { return count }
      let statement = FetchStatement(counting: FetchPlan(fetch, in: part))
      return try Int.fetchOne(statement.prepared(db)) ?? 0
    }
    return min(count, fetch.fetchLimit ?? .max)
  }

  /// The row numbers of all assets of a fetch, in its order, for a fetch result. Row numbers are never reused.
  ///
  /// - Throws: `tooManyAssets` if there are more than `limit`, because a truncated list would be a wrong one.
  package func rows(
    _ fetch: AssetFetch, atMost limit: Int, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> (rows: [UInt32], changeToken: String) {
    try readBeforeDeadline(deadline, for: principal) { db, part in
      (try Self.rows(fetch, part, atMost: limit, db), try Self.token(db, part, for: principal))
    }
  }

  static func rows(_ fetch: AssetFetch, _ part: LibraryPart, atMost limit: Int, _ db: Database) throws -> [UInt32] {
    let statement = FetchStatement(
      FetchPlan(fetch, in: part), columns: "asset.id", limit: min(limit + 1, fetch.fetchLimit ?? .max))
    let cursor = try UInt32.fetchCursor(statement.prepared(db))
    var rows: [UInt32] = []
    if fetch.predicate == nil, let count = try storedCount(fetch, part, db) {
      rows.reserveCapacity(min(count, limit, fetch.fetchLimit ?? .max))
    }
    while let row = try cursor.next() {
      guard rows.count < limit else { throw AssetSourceError.tooManyAssets(limit: limit) }
      rows.append(row)
    }
    return rows
  }

  /// The number of assets of each day, month or year (UTC), newest first.
  package func dateBuckets(
    _ fetch: AssetFetch, by unit: DateBucket.Unit, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [DateBucket] {
    let days: [(Int, Int)]
    if fetch.predicate == nil, fetch.fetchLimit == nil, fetch.scope == .library {
      let listings = ListingFilter(
        includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
      days = try readBeforeDeadline(deadline, for: principal) { db, part in
        try Self.pairs(
          part.statement(
            """
            SELECT day, sum(value) FROM \(part.name("dayCount"))
            WHERE \(part.condition) AND listing \(listings.sql) GROUP BY day HAVING sum(value) > 0
            """, db))
      }
    } else {
      days = try readBeforeDeadline(deadline, for: principal) { db, part in
        let statement = FetchStatement(countingDaysOf: FetchPlan(fetch, in: part), limit: fetch.fetchLimit)
        return try Self.pairs(statement.prepared(db))
      }
    }
    var counts: [String: Int] = [:]
    for (day, count) in days { counts[DateBucket.name(ofDay: day, unit), default: 0] += count }
    return counts.sorted { $0.key > $1.key }.map { DateBucket(name: $0.key, count: $0.value) }
  }

  private static func pairs(_ statement: Statement) throws -> [(Int, Int)] {
    let rows = try Row.fetchCursor(statement)
    var pairs: [(Int, Int)] = []
    while let row = try rows.next() { pairs.append((row[0], row[1])) }
    return pairs
  }

  /// The number of assets in the scope from the counters that triggers maintain; `nil` if the scope has none.
  private static func storedCount(_ fetch: AssetFetch, _ part: LibraryPart, _ db: Database) throws -> Int? {
    let listings = ListingFilter(
      includesHidden: fetch.includesHidden, includesAllBurstAssets: fetch.includesAllBurstAssets)
    switch fetch.scope {
    case .library: return try count(.userLibrary, listings, part, db)
    case .smartAlbum(let album):
      let listings = album.listings(listings, includesAllBurstAssets: fetch.includesAllBurstAssets)
      return try count(album, listings, part, db)
    case .album(let row):
      guard try part.contains(collection: row, db) else { return 0 }
      return try Int.fetchOne(
        db.cachedStatement(
          sql: "SELECT sum(value) FROM memberCount WHERE collection = ? AND listing \(listings.sql)"),
        arguments: [row]) ?? 0
    case .dates, .rows: return nil
    }
  }

  private func readBeforeDeadline<Value>(
    _ deadline: ContinuousClock.Instant?, for principal: Principal, _ body: (Database, LibraryPart) throws -> Value
  ) throws(AssetSourceError) -> Value {
    try read(for: principal) { db, part in try FetchDeadline.run(deadline, on: db) { try body(db, part) } }
  }
}

extension AssetColumns {
  fileprivate init(capacity: Int) {
    localIdentifiers.reserveCapacity(capacity)
    aspectRatios.reserveCapacity(capacity)
    creationDates.reserveCapacity(capacity)
    favoriteFlags.reserveCapacity(capacity)
    placeholders.reserveCapacity(capacity)
  }

  fileprivate mutating func append(_ row: Row) {
    localIdentifiers.append(row[0])
    aspectRatios.append(Double(row[1] as Int) / Double(max(1, row[2] as Int)))
    creationDates.append(row[3])
    favoriteFlags.append(row[4])
    placeholders.append((row[5] as Data?)?.base64EncodedString())
  }
}

extension DateBucket {
  fileprivate static func name(ofDay day: Int, _ unit: Unit) -> String {
    let date = CivilDate.date(ofDay: day)
    func padded(_ number: Int, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    switch unit {
    case .year: return padded(date.year, 4)
    case .month: return "\(padded(date.year, 4))-\(padded(date.month, 2))"
    case .day: return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
    }
  }
}
