import GRDB
import PhotoModel

/// Protects rows that expire (staged uploads, the history, the trash) from jumps of the clock. Between two calls, rows
/// age by at most a limit, so they don't all expire because the clock was set forward or the machine was off for long:
/// time beyond the limit is added to their dates, up to now. If the clock was set back, dates in the future become now.
/// While the clock is not set, as after the start of a machine without a battery-backed clock, nothing ages; rows
/// written then get a date once it is set.
struct RowAging {
  /// 1 January 2026, in milliseconds since 1970. A clock before this date has not been set.
  static let earliest: Int64 = 1_767_225_600_000

  /// The time of the last call.
  let time: CatalogueValue
  let table: String
  /// Milliseconds since 1970.
  let column: String
  /// The latest date that a row may get, in SQL; `?1` is now.
  var latest = "?1"

  /// Moves the dates of rows as described above, and records the time of the call.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - limit: milliseconds.
  func advance(to now: Int64, atMost limit: Int64, _ db: Database) throws {
    if now < Self.earliest { return }
    try db.execute(
      sql: "UPDATE \(table) SET \(column) = \(latest) WHERE \(column) > ?1 OR \(column) < \(Self.earliest)",
      arguments: [now])
    let last = try lastCall(db) ?? now
    if now - last > limit {
      try db.execute(
        sql: "UPDATE \(table) SET \(column) = min(\(column) + ?2, max(\(column), \(latest)))",
        arguments: [now, now - last - limit])
    }
    try time.write(now, db)
  }

  fileprivate func lastCall(_ db: Database) throws -> Int64? { try time.read(db) }
}

extension Catalogue {
  /// A call writes only after this fraction of the limit (1/8), so that a timer does not wake the disk each time.
  private static let minimumShare: Int64 = 8

  /// Ages rows as ``RowAging`` describes. Writes only when a fraction of the limit has passed, or if the clock was set
  /// back.
  func age(_ rows: RowAging, to now: Int64, atMost limit: Int64) throws(AssetSourceError) {
    if now < RowAging.earliest { return }
    let last = try read { try rows.lastCall($0) }
    if let last, now >= last, now - last < limit / Self.minimumShare { return }
    try writeMaintenance(isLarge: true) { try rows.advance(to: now, atMost: limit, $0) }
  }
}
