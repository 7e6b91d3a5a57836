// Moments: groups of assets that were taken together. They are stored, and recomputed only for days in which assets
// changed, so reads are cheap and updates are small.
//
//     few stale days     recomputed in the transaction of the change (Catalogue.change)
//     many stale days    recomputed after the change (refreshMoments), without a token; observers are notified
//
// A moment lies within one day of its assets (see LocalCalendar). It ends before a gap of three hours. For principals
// with the location scope it also ends where the camera moved more than ten kilometres in at least fifteen minutes.

import Foundation
import GRDB
import PhotoModel
import Primitives

struct MomentWriter {
  private static let gapMilliseconds: Int64 = 3 * 3_600_000
  private static let minimumLocationGap: Int64 = 15 * 60_000
  private static let distanceInMetres = 10_000.0
  /// The number of days that ``Catalogue/refreshMoments(zone:stop:)`` recomputes in one transaction.
  private static let daysPerTransaction = 32
  /// The maximum number of stale days, over all libraries, that are recomputed in the transaction of a change.
  private static let maximumDaysOfChange = 64
  /// The maximum number of assets of these days, because a single day may have very many.
  private static let maximumAssetsOfChange = 4096

  private struct Shot {
    let date: Int64
    let location: Location?
    let placeNames: PlaceNames
  }

  /// A period, and the number of assets in it.
  private struct TimeSpan: Equatable {
    var start: Int64
    var end: Int64
    var count: Int
    var title: String?
  }

  private let db: Database
  private let library: LibraryID

  /// Recomputes the moments of the next stale days of one library, the whole one first.
  ///
  /// - Returns: the number of days, 0 if none was stale; and whether any moment has changed.
  static func refresh(_ db: Database) throws -> (days: Int, hasChanged: Bool) {
    let library = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT library FROM staleDay ORDER BY library LIMIT 1"))
    guard let library else { return (0, false) }
    return try MomentWriter(db: db, library: LibraryID(row: library)).refresh()
  }

  /// Recomputes the moments of all stale days of all libraries if that takes little time; none of them otherwise.
  static func refreshFew(_ db: Database) throws {
    let stale = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT count(*), coalesce(sum(assets), 0) FROM (
            SELECT (SELECT value FROM dayCount
              WHERE library = staleDay.library AND day = staleDay.day AND listing = 0) AS assets
            FROM staleDay LIMIT ?)
          """), arguments: [maximumDaysOfChange + 1])
    guard let stale else { return }
    let (days, assets): (Int, Int) = (stale[0], stale[1])
    guard days <= maximumDaysOfChange, assets <= maximumAssetsOfChange else { return }
    while try refresh(db).days > 0 {}
  }

  /// Recomputes all stale days of a library, if the library was ever scanned.
  static func refreshAll(of library: LibraryID, _ db: Database) throws {
    let zone: String? = try CatalogueValue.timeZone.read(db)
    guard zone != "" else { return }
    while try MomentWriter(db: db, library: library).refresh().days > 0 {}
  }

  private func refresh() throws -> (days: Int, hasChanged: Bool) {
    let token = try library.revision(db)
    let days = try Int.fetchAll(
      db.cachedStatement(
        sql: """
          DELETE FROM staleDay WHERE library = ?1
            AND day IN (SELECT day FROM staleDay WHERE library = ?1 ORDER BY day LIMIT ?2) RETURNING day
          """), arguments: [library.row, Self.daysPerTransaction])
    var hasChanged = false
    for day in days.sorted() {
      if try write(day, token) { hasChanged = true }
    }
    return (days.count, hasChanged)
  }

  /// Recomputes the moments of a day. Returns whether any of them has changed.
  private func write(_ day: Int, _ token: Int64) throws -> Bool {
    let range = LocalCalendar.possibleDates(ofDays: day..<day + 1)
    var shots: [Shot] = []
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT asset.creationDate, asset.latitude, asset.longitude, asset.placeCity, asset.placeRegion,
            asset.placeCountry
          FROM \(LibraryAssetIndex.byDate.source) CROSS JOIN asset ON asset.id = libraryAsset.asset
          WHERE libraryAsset.library = ? AND libraryAsset.creationDate >= ? AND libraryAsset.creationDate < ?
            AND libraryAsset.localDay = ? AND libraryAsset.listing = 0
          ORDER BY libraryAsset.creationDate, libraryAsset.localIdentifier
          """), arguments: [library.row, range.lowerBound, range.upperBound, day])
    while let row = try rows.next() {
      let latitude: Double? = row[1]
      let longitude: Double? = row[2]
      let location = latitude.flatMap { latitude in longitude.map { Location(latitude: latitude, longitude: $0) } }
      let placeNames = PlaceNames(city: row[3], region: row[4], country: row[5])
      shots.append(Shot(date: row[0], location: location, placeNames: placeNames))
    }
    var hasChanged = false
    for splitsByLocation in [false, true] {
      let timeSpans = Self.timeSpans(shots, splitsByLocation: splitsByLocation)
      if try replace(day, timeSpans, splitsByLocation: splitsByLocation, token) { hasChanged = true }
    }
    return hasChanged
  }

  private static func timeSpans(_ shots: [Shot], splitsByLocation: Bool) -> [TimeSpan] {
    var timeSpans: [TimeSpan] = []
    var lastLocated: Shot?
    for shot in shots {
      let gap = shot.date - (timeSpans.last?.end ?? shot.date)
      let hasMoved = splitsByLocation && Self.hasMoved(from: lastLocated, to: shot)
      if timeSpans.isEmpty || gap >= self.gapMilliseconds || hasMoved && gap > 0 {
        timeSpans.append(TimeSpan(start: shot.date, end: shot.date, count: 1))
        lastLocated = nil
      } else {
        timeSpans[timeSpans.count - 1].end = shot.date
        timeSpans[timeSpans.count - 1].count += 1
      }
      // Moments do not overlap, so a shot with the time of the previous one can't begin a moment; a later one will.
      if shot.location != nil && !(hasMoved && gap == 0) { lastLocated = shot }
    }
    if splitsByLocation { addTitles(to: &timeSpans, shots) }
    return timeSpans
  }

  /// Whether the camera moved within a time span.
  ///
  /// - Parameter last: the last shot of the span with a location. Shots without one may follow it.
  private static func hasMoved(from last: Shot?, to shot: Shot) -> Bool {
    guard let last, let from = last.location, let to = shot.location else { return false }
    return shot.date - last.date >= minimumLocationGap && distance(from, to) > distanceInMetres
  }

  /// Sets the title of each time span from the places of its shots. The spans contain the shots in order.
  private static func addTitles(to timeSpans: inout [TimeSpan], _ shots: [Shot]) {
    var start = 0
    for index in timeSpans.indices {
      let end = start + timeSpans[index].count
      timeSpans[index].title = PlaceNames.title(of: shots[start..<end].map(\.placeNames))
      start = end
    }
  }

  /// The distance in metres, on a sphere, which is precise enough for a limit of ten kilometres.
  private static func distance(_ one: Location, _ other: Location) -> Double {
    let radians = Double.pi / 180
    let latitudes = (other.latitude - one.latitude) * radians
    let longitudes = (other.longitude - one.longitude) * radians
    let half =
      sin(latitudes / 2) * sin(latitudes / 2)
      + cos(one.latitude * radians) * cos(other.latitude * radians) * sin(longitudes / 2) * sin(longitudes / 2)
    return 2 * 6_371_000 * asin(min(1, half.squareRoot()))
  }

  /// Replaces the moments of a day. A new moment that overlaps an old one keeps its row and identifier. Returns whether
  /// any of them has changed.
  private func replace(_ day: Int, _ timeSpans: [TimeSpan], splitsByLocation: Bool, _ token: Int64) throws -> Bool {
    var hasChanged = false
    let range = LocalCalendar.possibleDates(ofDays: day..<day + 1)
    var older = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT id, startDate, endDate, assetCount, title FROM moment
          WHERE library = ? AND splitsByLocation = ? AND startDate >= ? AND startDate < ? AND day = ?
          ORDER BY startDate, id
          """), arguments: [library.row, splitsByLocation, range.lowerBound, range.upperBound, day]
    ).map { (id: $0[0] as Int64, timeSpan: TimeSpan(start: $0[1], end: $0[2], count: $0[3], title: $0[4])) }
    for timeSpan in timeSpans {
      if let match = older.firstIndex(where: { $0.timeSpan.start <= timeSpan.end && $0.timeSpan.end >= timeSpan.start })
      {
        let known = older.remove(at: match)
        guard known.timeSpan != timeSpan else { continue }
        hasChanged = true
        try db.cachedStatement(
          sql: "UPDATE moment SET startDate = ?, endDate = ?, assetCount = ?, title = ?, revision = ? WHERE id = ?"
        ).execute(arguments: [timeSpan.start, timeSpan.end, timeSpan.count, timeSpan.title, token, known.id])
      } else {
        hasChanged = true
        try db.cachedStatement(
          sql: """
            INSERT INTO moment
              (library, localIdentifier, splitsByLocation, day, startDate, endDate, assetCount, title, revision)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).execute(arguments: [
          library.row, Base64URL.randomIdentifier(), splitsByLocation, day, timeSpan.start, timeSpan.end,
          timeSpan.count, timeSpan.title, token,
        ])
      }
    }
    for gone in older {
      try db.cachedStatement(sql: "DELETE FROM moment WHERE id = ?").execute(arguments: [gone.id])
    }
    return hasChanged || !older.isEmpty
  }
}

extension Catalogue {
  /// Whether days are stale: their moments must be recomputed.
  package func hasStaleMoments() throws(AssetSourceError) -> Bool {
    try read { try Int.fetchOne($0, sql: "SELECT 1 FROM staleDay LIMIT 1") != nil }
  }

  /// Recomputes the moments of all stale days, after a scan or a change that left some. This is not a change of the
  /// library: it creates no token. If a moment has changed, observers are notified.
  ///
  /// - Parameter zone: the library's time zone. If it differs from that of the last call, the assets are first moved to
  ///   their days in the new zone.
  package func refreshMoments(zone: TimeZone, stop: StopFlag = StopFlag()) throws(AssetSourceError) {
    try updateLocalDays(zone: zone, stop: stop)
    var isDone = try !hasStaleMoments()
    var hasChanged = false
    // The history has no entry for that, so readers of moments and their assets must compare again.
    defer {
      if hasChanged {
        commits.countMoments()
        feed.momentsChanged()
      }
    }
    while !isDone && !stop.isRaised {
      try writeMaintenance { db in
        let step = try MomentWriter.refresh(db)
        isDone = step.days == 0
        hasChanged = hasChanged || step.hasChanged
      }
    }
  }
}
