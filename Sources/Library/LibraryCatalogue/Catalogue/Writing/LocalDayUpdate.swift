// Files assets under the days of the library's time zone. The catalogue stores the zone by which its assets are filed.
// Writers use that zone, so every row follows one rule, whatever the settings say. A new zone is stored first; then the
// older rows follow it in order, a bounded number in each transaction, also after an interruption.
//
// It reads each asset once and rewrites those whose zone offset differs. Counters and moments change only for the
// assets whose day changes. No token is created: an asset's properties stay the same. Dates that were read in the old
// zone are not corrected here, because a full scan with another zone reads every file again.

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

  /// Whether all assets are filed by this zone.
  static func isComplete(_ db: Database, zone: TimeZone) throws -> Bool {
    let name: String? = try CatalogueValue.timeZone.read(db)
    let last: Int64? = try CatalogueValue.filedAsset.read(db)
    return name == zone.identifier && last == nil
  }

  /// Files the next assets by this zone. `false` if none is left.
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

  /// The identifier of the time zone by which the assets are filed; `nil` before the first scan.
  package func timeZoneIdentifier() throws(AssetSourceError) -> String? {
    let name: String? = try read { try CatalogueValue.timeZone.read($0) }
    return name == "" ? nil : name
  }

  /// Files all assets under the days of a time zone: a cheap check unless the zone differs from that of the last call.
  package func updateLocalDays(zone: TimeZone, stop: StopFlag = StopFlag()) throws(AssetSourceError) {
    var isDone = try read { try LocalDayUpdate.isComplete($0, zone: zone) }
    while !isDone && !stop.isRaised {
      try writeMaintenance { isDone = !(try LocalDayUpdate.advance($0, zone: zone)) }
    }
  }
}
