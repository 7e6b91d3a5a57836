import GRDB
import PhotoModel
import Primitives

// Moments, and the lists of moments: months and years.

extension CollectionReader {
  func moment(_ row: Row) throws -> AssetCollection {
    let day: Int = row[6]
    // The stored count is that of the default listing.
    var count: Int = row[3]
    if query.includesHidden || query.includesAllBurstAssets {
      count = try self.count(from: row[1], to: row[2], days: day..<day + 1)
    }
    var moment = AssetCollection(
      localIdentifier: LocalIdentifier(row[0]), type: .moment, subtype: MomentList.momentSubtype, title: row[7],
      startDate: Timestamp(milliseconds: row[1]), endDate: Timestamp(milliseconds: row[2]),
      estimatedAssetCount: count, keyAssets: try keyAssets(from: row[1], to: row[2], days: day..<day + 1),
      revision: ChangeToken(row[4]))
    moment.parent = MomentList(monthOfDay: day).identifier
    let date = CivilDate.date(ofDay: day)
    moment.day = "\(date.year.zeroPadded(4))-\(date.month.zeroPadded(2))-\(date.day.zeroPadded(2))"
    return moment
  }

  func collection(_ list: MomentList, count: Int) throws -> AssetCollection {
    let dates = list.possibleDates
    let (start, end) = try ends(
      .byDate, datesAndDays, [dates.lowerBound, dates.upperBound, list.days.lowerBound, list.days.upperBound])
    var collection = AssetCollection(
      localIdentifier: list.identifier, type: .folder, subtype: list.subtype, title: list.title,
      startDate: start, endDate: end, estimatedAssetCount: count,
      keyAssets: try keyAssets(from: dates.lowerBound, to: dates.upperBound - 1, days: list.days))
    collection.parent = list.parent?.identifier
    collection.estimatedCollectionCount =
      list.month == nil ? try monthCount(in: list.days) : try momentCount(in: list)
    return collection
  }

  private func monthCount(in days: Range<Int>) throws -> Int {
    var count = 0
    var end = days.upperBound
    while let day = try lastDay(before: end), day >= days.lowerBound {
      let month = CivilDate.month(ofDay: day)
      end = MomentList(year: month.year, month: month.month).days.lowerBound
      count += 1
    }
    return count
  }

  private func momentCount(in list: MomentList) throws -> Int {
    let dates = list.possibleDates
    return try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT count(*) FROM moment INDEXED BY momentByDate
          WHERE library = ? AND splitsByLocation = ? AND startDate >= ? AND startDate < ? AND day >= ? AND day < ?
          """),
      arguments: [
        library.row, principal.may(.location), dates.lowerBound, dates.upperBound, list.days.lowerBound,
        list.days.upperBound,
      ]) ?? 0
  }

  /// SQL condition for the listed assets in a range of dates and a range of days: four arguments.
  private var datesAndDays: String {
    "creationDate >= ? AND creationDate < ? AND localDay >= ? AND localDay < ? AND listing \(listings.sql)"
  }

  private func keyAssets(from start: Int64, to end: Int64, days: Range<Int>) throws -> [LocalIdentifier] {
    try keyAssets(.byDate, datesAndDays, [start, end + 1, days.lowerBound, days.upperBound])
  }

  private func count(from start: Int64, to end: Int64, days: Range<Int>) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(
        sql: "SELECT count(*) FROM \(LibraryAssetIndex.byDate.source) WHERE library = ? AND \(datesAndDays)"),
      arguments: [library.row, start, end + 1, days.lowerBound, days.upperBound]) ?? 0
  }

  /// Whether a list of moments has any asset, even a hidden one: whether the scope of a fetch exists must not depend on
  /// whether the fetch includes hidden assets.
  func exists(_ list: MomentList) throws -> Bool {
    try Int.fetchOne(
      db.cachedStatement(
        sql: "SELECT value FROM dayCount WHERE library = ? AND day >= ? AND day < ? AND value > 0 LIMIT 1"),
      arguments: [library.row, list.days.lowerBound, list.days.upperBound]) != nil
  }

  /// The number of assets of a range of days.
  func count(in days: Range<Int>) throws -> Int {
    try Int.fetchOne(
      db.cachedStatement(
        sql: "SELECT sum(value) FROM dayCount WHERE library = ? AND day >= ? AND day < ? AND listing \(listings.sql)"),
      arguments: [library.row, days.lowerBound, days.upperBound]) ?? 0
  }

  /// The newest day before `day` that has assets.
  func lastDay(before day: Int) throws -> Int? {
    try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT day FROM dayCount WHERE library = ? AND day < ? AND listing \(listings.sql) AND value > 0
          ORDER BY day DESC LIMIT 1
          """), arguments: [library.row, day])
  }
}
