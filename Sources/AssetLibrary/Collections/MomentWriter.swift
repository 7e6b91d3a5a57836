// Moments: what was taken together. Made anew for the days that something changed in, and for no others, so that they cost
// nothing to read and little to keep.
//
// A moment lies within one day of the library's time zone, and ends where nothing was taken for three hours, or, for those
// who may know places, where the camera went further than ten kilometres in no less than fifteen minutes.

import Foundation
import GRDB
import PhotoModel

struct MomentWriter {
  private static let gap: Int64 = 3 * 3_600_000
  private static let leastGapByPlace: Int64 = 15 * 60_000
  private static let distanceInMetres = 10_000.0
  /// Days in one transaction.
  static let daysAtOnce = 32

  private struct Shot {
    let date: Int64
    let place: Location?
  }

  /// A stretch of time and how many assets are of it.
  private struct Stretch: Equatable {
    var start: Int64
    var end: Int64
    var count: Int
  }

  private let db: Database
  private let zone: TimeZone
  private let part: LibraryPart

  /// Makes the moments of the next stale days, of the whole library and of limited ones. `false`: there are none left.
  static func refresh(_ db: Database, zone: TimeZone) throws -> Bool {
    // Each change list comes by, mostly with nothing to be made.
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

  /// Makes all that is stale of a part, where moments were ever made.
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
        """, db), arguments: [Self.daysAtOnce])
    // A day by UTC is of two days by most other clocks.
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

  /// The first moment of a day, whichever side of it the clocks were changed on.
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
    for isByPlace in [false, true] {
      try replace(range, Self.stretches(shots, isByPlace: isByPlace), isByPlace: isByPlace, token)
    }
  }

  private static func stretches(_ shots: [Shot], isByPlace: Bool) -> [Stretch] {
    var stretches: [Stretch] = []
    var place: Location?
    for shot in shots {
      let gap = shot.date - (stretches.last?.end ?? shot.date)
      let hasLeft =
        isByPlace && gap >= leastGapByPlace
        && (place.flatMap { place in shot.place.map { distance(place, $0) > distanceInMetres } } ?? false)
      if stretches.isEmpty || gap >= self.gap || hasLeft {
        stretches.append(Stretch(start: shot.date, end: shot.date, count: 1))
      } else {
        stretches[stretches.count - 1].end = shot.date
        stretches[stretches.count - 1].count += 1
      }
      place = shot.place ?? place
    }
    return stretches
  }

  /// In metres, on a sphere: at ten kilometres nobody sees the difference.
  private static func distance(_ one: Location, _ other: Location) -> Double {
    let radians = Double.pi / 180
    let latitudes = (other.latitude - one.latitude) * radians
    let longitudes = (other.longitude - one.longitude) * radians
    let half =
      sin(latitudes / 2) * sin(latitudes / 2)
      + cos(one.latitude * radians) * cos(other.latitude * radians) * sin(longitudes / 2) * sin(longitudes / 2)
    return 2 * 6_371_000 * asin(min(1, half.squareRoot()))
  }

  /// Puts these in the place of those that begin in the range. One that overlaps with an older one is that one, changed.
  private func replace(_ range: Range<Int64>, _ stretches: [Stretch], isByPlace: Bool, _ token: Int64) throws {
    let moments = part.name("moment")
    var older = try Row.fetchAll(
      part.statement(
        """
        SELECT id, startDate, endDate, assetCount FROM \(moments)
        WHERE \(part.condition) AND isByPlace = ? AND startDate >= ? AND startDate < ? ORDER BY startDate, id
        """, db), arguments: [isByPlace, range.lowerBound, range.upperBound]
    ).map { (id: $0[0] as Int64, stretch: Stretch(start: $0[1], end: $0[2], count: $0[3])) }
    for stretch in stretches {
      if let match = older.firstIndex(where: { $0.stretch.start <= stretch.end && $0.stretch.end >= stretch.start }) {
        let known = older.remove(at: match)
        guard known.stretch != stretch else { continue }
        try db.cachedStatement(
          sql: "UPDATE \(moments) SET startDate = ?, endDate = ?, assetCount = ?, revision = ? WHERE id = ?"
        ).execute(arguments: [stretch.start, stretch.end, stretch.count, token, known.id])
      } else {
        let insertion = part.insertion(
          into: "moment", "localIdentifier, isByPlace, startDate, endDate, assetCount, revision", "?, ?, ?, ?, ?, ?")
        try part.statement(insertion, db).execute(arguments: [
          Base64URL.randomIdentifier(), isByPlace, stretch.start, stretch.end, stretch.count, token,
        ])
      }
    }
    for gone in older {
      try db.cachedStatement(sql: "DELETE FROM \(moments) WHERE id = ?").execute(arguments: [gone.id])
    }
  }
}

extension Catalogue {
  /// Makes the moments anew of all days that changed: after a scan, or a change. It is no change of the library.
  ///
  /// - Parameter zone: the library's; in another one than before all are made anew.
  package func refreshMoments(zone: TimeZone, stop: StopFlag = StopFlag()) throws(AssetSourceError) {
    let isCurrent = try read { db in
      try Int.fetchOne(
        db, sql: "SELECT 1 FROM (SELECT day FROM staleDay UNION ALL SELECT day FROM limitedStaleDay) LIMIT 1") == nil
        && String.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'momentZone'") == zone.identifier
    }
    var isDone = isCurrent
    while !isDone && !stop.isRaised {
      try writeUncounted { isDone = !(try MomentWriter.refresh($0, zone: zone)) }
    }
  }
}
