// Moves assets to the days of a new time zone. The catalogue stores the zone by which days are assigned, and writers
// use the stored zone instead of the setting. A new zone is stored first; then existing rows are updated in order, a
// bounded number in each transaction. An interrupted update continues at the next call.
//
// The update reads each asset once and rewrites those whose zone offset differs. Counters and moments change only for
// assets whose day changes. No token is created, because no property of an asset changes. Dates that were read in the
// old zone are not corrected here: a full scan with another zone reads every file again.

import Foundation
import GRDB
import PhotoModel

enum LocalDayUpdate {
  /// Assets per transaction.
  private static let assetsPerTransaction = 4096

  /// The time zone of the library; UTC before the first scan.
  static func calendar(_ db: Database) throws -> LocalCalendar {
    let name: String? = try CatalogueValue.timeZone.read(db)
    return LocalCalendar(timeZone: name.flatMap(TimeZone.init(identifier:)) ?? .gmt)
  }

  /// Whether the days of all assets are those of this zone.
  static func isComplete(_ db: Database, zone: TimeZone) throws -> Bool {
    let name: String? = try CatalogueValue.timeZone.read(db)
    let last: Int64? = try CatalogueValue.filedAsset.read(db)
    return name == zone.identifier && last == nil
  }

  /// Updates the next assets to this zone. Returns whether more are left.
  static func advance(_ db: Database, zone: TimeZone) throws -> Bool {
    let name: String? = try CatalogueValue.timeZone.read(db)
    if name != zone.identifier {
      try CatalogueValue.timeZone.write(zone.identifier, db)
      try CatalogueValue.filedAsset.write(0, db)
    }
    guard let last: Int64 = try CatalogueValue.filedAsset.read(db) else { return false }
    let calendar = LocalCalendar(timeZone: zone)
    let rows = try Row.fetchAll(
      db,
      sql: "SELECT id, creationDate, zoneOffset FROM asset WHERE id > ? ORDER BY id LIMIT \(assetsPerTransaction)",
      arguments: [last])
    for row in rows {
      let offset = calendar.filingOffset(at: Timestamp(milliseconds: row[1]))
      guard offset != row[2] else { continue }
      try db.cachedStatement(sql: "UPDATE asset SET zoneOffset = ? WHERE id = ?")
        .execute(arguments: [offset, row[0] as Int64])
    }
    let next: Int64? = rows.count < assetsPerTransaction ? nil : rows.last?[0]
    try CatalogueValue.filedAsset.write(next, db)
    return next != nil
  }
}

extension Catalogue {
  /// The calendar of the library's time zone; UTC before the first scan.
  package func localCalendar() throws(AssetSourceError) -> LocalCalendar {
    try read { try LocalDayUpdate.calendar($0) }
  }

  /// The identifier of the time zone by which days are assigned; `nil` before the first scan.
  package func timeZoneIdentifier() throws(AssetSourceError) -> String? {
    let name: String? = try read { try CatalogueValue.timeZone.read($0) }
    return name == "" ? nil : name
  }

  /// Moves all assets to the days of a time zone. A cheap check if the zone is that of the last call.
  package func updateLocalDays(zone: TimeZone, stop: StopFlag = StopFlag()) throws(AssetSourceError) {
    var isDone = try read { try LocalDayUpdate.isComplete($0, zone: zone) }
    while !isDone && !stop.isRaised {
      try writeMaintenance { isDone = !(try LocalDayUpdate.advance($0, zone: zone)) }
    }
  }
}
