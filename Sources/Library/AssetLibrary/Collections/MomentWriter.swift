// Moments: groups of assets that were taken together. They are stored, and recomputed only for days in which assets
// changed, so reads are cheap and updates are small.
//
// A moment lies within one day of the library's time zone. It ends before a gap of three hours. For principals with the
// location scope it also ends where the camera moved more than ten kilometres in at least fifteen minutes.

import Foundation
import GRDB
import PhotoModel

struct MomentWriter {
  private static let gapMilliseconds: Int64 = 3 * 3_600_000
  private static let minimumLocationGap: Int64 = 15 * 60_000
  private static let distanceInMetres = 10_000.0
  /// UTC days per transaction.
  static let daysPerTransaction = 32

  private struct Shot {
    let date: Int64
    let place: Location?
  }

  /// A period, and the number of assets in it.
  private struct TimeSpan: Equatable {
    var start: Int64
    var end: Int64
    var count: Int
  }

  private let db: Database
  private let zone: TimeZone
  private let part: LibraryPart

  /// Recomputes the moments of the next stale days, first of the whole library, then of limited libraries. `false` if
  /// no stale day is left.
  static func refresh(_ db: Database, zone: TimeZone) throws -> Bool {
    // Every change list runs this query, mostly without further work, so its statement is cached.
    let zoneBefore = try String.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM library WHERE key = 'momentZone'"))
    if zoneBefore != zone.identifier {
      try db.execute(sql: "INSERT OR IGNORE INTO staleDay SELECT DISTINCT day FROM dayCount")
      try db.execute(sql: "INSERT OR IGNORE INTO limitedStaleDay SELECT DISTINCT library, day FROM limitedDayCount")
      try db.execute(sql: "UPDATE library SET value = ? WHERE key = 'momentZone'", arguments: [zone.identifier])
    }
    if try MomentWriter(db: db, zone: zone, part: .whole).refresh() { return true }
    let library = try Int64.fetchOne(db.cachedStatement(sql: "SELECT library FROM limitedStaleDay LIMIT 1"))
    guard let library else { return false }
    return try MomentWriter(db: db, zone: zone, part: .limited(library)).refresh()
  }

  /// Recomputes all stale days of a part, if moments were ever computed.
  static func refreshAll(of part: LibraryPart, _ db: Database) throws {
    let zone = try String.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'momentZone'")
    guard let zone = zone.flatMap(TimeZone.init(identifier:)) else { return }
    while try MomentWriter(db: db, zone: zone, part: part).refresh() {}
  }

  private func refresh() throws -> Bool {
    let token = try part.revision(db)
    let stale = part.name("staleDay")
    let days = try Int.fetchAll(
      part.statement(
        """
        DELETE FROM \(stale) WHERE \(part.condition)
          AND day IN (SELECT day FROM \(stale) WHERE \(part.condition) ORDER BY day LIMIT ?) RETURNING day
        """, db), arguments: [Self.daysPerTransaction])
    // A UTC day overlaps two days of most time zones.
    let localDays = Set(
      days.flatMap { day in
        let start = Int64(day) * CivilDate.millisecondsPerDay
        return [localDay(at: start), localDay(at: start + CivilDate.millisecondsPerDay - 1)]
      })
    for day in localDays.sorted() { try write(start(ofLocalDay: day)..<start(ofLocalDay: day + 1), token) }
    return !days.isEmpty
  }

  private func offset(at milliseconds: Int64) -> Int64 {
    Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))) * 1000
  }

  private func localDay(at milliseconds: Int64) -> Int {
    CivilDate.day(ofMilliseconds: milliseconds + offset(at: milliseconds))
  }

  /// The start of a local day, also on days when the clocks change.
  private func start(ofLocalDay day: Int) -> Int64 {
    let wall = Int64(day) * CivilDate.millisecondsPerDay
    let guess = wall - offset(at: wall)
    return wall - offset(at: guess)
  }

  private func write(_ range: Range<Int64>, _ token: Int64) throws {
    var shots: [Shot] = []
    let date = part.column("creationDate")
    let rows = try Row.fetchCursor(
      part.statement(
        """
        SELECT asset.creationDate, asset.latitude, asset.longitude FROM \(part.assets(by: .visibleByDate))
        WHERE \(part.condition) AND \(date) >= ? AND \(date) < ? AND \(part.column("listing")) = 0
        ORDER BY \(date), \(part.column("localIdentifier"))
        """, db), arguments: [range.lowerBound, range.upperBound])
    while let row = try rows.next() {
      let latitude: Double? = row[1]
      let longitude: Double? = row[2]
      let place = latitude.flatMap { latitude in longitude.map { Location(latitude: latitude, longitude: $0) } }
      shots.append(Shot(date: row[0], place: place))
    }
    for splitsByLocation in [false, true] {
      try replace(
        range, Self.timeSpans(shots, splitsByLocation: splitsByLocation), splitsByLocation: splitsByLocation, token)
    }
  }

  private static func timeSpans(_ shots: [Shot], splitsByLocation: Bool) -> [TimeSpan] {
    var timeSpans: [TimeSpan] = []
    var place: Location?
    for shot in shots {
      let gap = shot.date - (timeSpans.last?.end ?? shot.date)
      let hasLeft =
        splitsByLocation && gap >= minimumLocationGap
        && (place.flatMap { place in shot.place.map { distance(place, $0) > distanceInMetres } } ?? false)
      if timeSpans.isEmpty || gap >= self.gapMilliseconds || hasLeft {
        timeSpans.append(TimeSpan(start: shot.date, end: shot.date, count: 1))
      } else {
        timeSpans[timeSpans.count - 1].end = shot.date
        timeSpans[timeSpans.count - 1].count += 1
      }
      place = shot.place ?? place
    }
    return timeSpans
  }

  /// In metres, on a sphere, which is exact enough for a limit of ten kilometres.
  private static func distance(_ one: Location, _ other: Location) -> Double {
    let radians = Double.pi / 180
    let latitudes = (other.latitude - one.latitude) * radians
    let longitudes = (other.longitude - one.longitude) * radians
    let half =
      sin(latitudes / 2) * sin(latitudes / 2)
      + cos(one.latitude * radians) * cos(other.latitude * radians) * sin(longitudes / 2) * sin(longitudes / 2)
    return 2 * 6_371_000 * asin(min(1, half.squareRoot()))
  }

  /// Replaces the moments that start within the range. A new moment that overlaps an old one keeps its row and
  /// identifier.
  private func replace(_ range: Range<Int64>, _ timeSpans: [TimeSpan], splitsByLocation: Bool, _ token: Int64) throws {
    let moments = part.name("moment")
    var older = try Row.fetchAll(
      part.statement(
        """
        SELECT id, startDate, endDate, assetCount FROM \(moments)
        WHERE \(part.condition) AND splitsByLocation = ? AND startDate >= ? AND startDate < ? ORDER BY startDate, id
        """, db), arguments: [splitsByLocation, range.lowerBound, range.upperBound]
    ).map { (id: $0[0] as Int64, timeSpan: TimeSpan(start: $0[1], end: $0[2], count: $0[3])) }
    for timeSpan in timeSpans {
      if let match = older.firstIndex(where: { $0.timeSpan.start <= timeSpan.end && $0.timeSpan.end >= timeSpan.start })
      {
        let known = older.remove(at: match)
        guard known.timeSpan != timeSpan else { continue }
        try db.cachedStatement(
          sql: "UPDATE \(moments) SET startDate = ?, endDate = ?, assetCount = ?, revision = ? WHERE id = ?"
        ).execute(arguments: [timeSpan.start, timeSpan.end, timeSpan.count, token, known.id])
      } else {
        let insertion = part.insertion(
          into: "moment", "localIdentifier, splitsByLocation, startDate, endDate, assetCount, revision",
          "?, ?, ?, ?, ?, ?")
        try part.statement(insertion, db).execute(arguments: [
          Base64URL.randomIdentifier(), splitsByLocation, timeSpan.start, timeSpan.end, timeSpan.count, token,
        ])
      }
    }
    for gone in older {
      try db.cachedStatement(sql: "DELETE FROM \(moments) WHERE id = ?").execute(arguments: [gone.id])
    }
  }
}

extension Catalogue {
  /// Recomputes the moments of all stale days, after a scan or a change. This is not a change of the library: it
  /// creates no token.
  ///
  /// - Parameter zone: the library's time zone; if it differs from that of the last call, all moments are recomputed.
  package func refreshMoments(zone: TimeZone, stop: StopFlag = StopFlag()) throws(AssetSourceError) {
    let isCurrent = try read { db in
      try Int.fetchOne(
        db, sql: "SELECT 1 FROM (SELECT day FROM staleDay UNION ALL SELECT day FROM limitedStaleDay) LIMIT 1") == nil
        && String.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'momentZone'") == zone.identifier
    }
    var isDone = isCurrent
    while !isDone && !stop.isRaised {
      try writeMaintenance { isDone = !(try MomentWriter.refresh($0, zone: zone)) }
    }
  }
}
