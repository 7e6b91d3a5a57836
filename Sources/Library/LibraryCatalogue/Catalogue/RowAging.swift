import GRDB
import PhotoModel

/// The aging of rows that expire: staged uploads, the history, the trash. From one call to the next, rows age by at most
/// a limit: a clock that is set forwards must not end their time, nor must the time in which the machine was switched
/// off. The rest of the time is added to their dates, up to now. If the clock was set back, dates in the future become
/// now. Nothing ages before the clock of a machine that starts without one is set; rows from then are dated afterwards.
struct RowAging {
  /// 1 January 2026, in milliseconds since 1970. An earlier clock was not set since the machine has started.
  static let earliest: Int64 = 1_767_225_600_000

  /// The time of the last call.
  let time: CatalogueValue
  let table: String
  /// Milliseconds since 1970.
  let column: String
  /// The latest date that a row gets, as SQL, in which `?1` is now.
  var latest = "?1"

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
  /// The smallest share of the limit that is recorded: a timer must not wake a disk each time.
  private static let smallestShare: Int64 = 8

  /// Lets rows age, as ``RowAging`` describes. Writes only when a share of the limit has passed, or if the clock was set
  /// back.
  func age(_ rows: RowAging, to now: Int64, atMost limit: Int64) throws(AssetSourceError) {
    if now < RowAging.earliest { return }
    let last = try read { try rows.lastCall($0) }
    if let last, now >= last, now - last < limit / Self.smallestShare { return }
    try writeMaintenance(isLarge: true) { try rows.advance(to: now, atMost: limit, $0) }
  }
}
