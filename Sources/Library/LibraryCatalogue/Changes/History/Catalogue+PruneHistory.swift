// Prunes the history. Old rows are deleted in small steps, so that no writer waits long. The first step moves the start
// of the history forward, so that tokens before it expire.

import GRDB
import PhotoModel
import Primitives

/// The limits of the history; the stricter one applies.
package struct HistoryLimits: Sendable, Hashable {
  package var days = 30
  /// The maximum number of changed objects and album members in total.
  package var objects = 1_000_000

  package init() {}
}

extension Catalogue {
  /// The maximum number of rows that one step deletes from each table.
  private static let rowsPerStep = 2000
  private static let historyAging = RowAging(time: .historyTime, table: "change", column: "time")
  /// Between two prunings, a change ages by at most this fraction (1/4) of the lifetime.
  private static let agingShare: Int64 = 4

  /// Deletes the rows beyond the limits, in steps. Not a change of the library: no token. From one call to the next,
  /// changes age by at most a fraction of the lifetime: see ``RowAging``.
  ///
  /// - Parameters:
  ///   - needed: the oldest state of a leased fetch result. Identifiers of objects deleted since then are kept.
  ///   - now: milliseconds since 1970.
  package func pruneHistory(
    _ limits: HistoryLimits, needed: ChangeToken?,
    now: Int64 = Timestamp.now.milliseconds, until stop: StopFlag = StopFlag()
  ) throws(AssetSourceError) {
    let lifetime = Int64(limits.days) * CivilDate.millisecondsPerDay
    if lifetime > 0 { try age(Self.historyAging, to: now, atMost: lifetime / Self.agingShare) }
    // Outside of the loop, because it reads all changes.
    let end = try read { db in try Self.historyEnd(limits, now, db) }
    guard let end else { return }
    while !stop.isRaised {
      guard try pruneStep(upTo: end, needed: needed) else { return }
    }
  }

  /// Deletes some of the rows up to a change, in one transaction.
  ///
  /// - Returns: whether there is more to delete.
  private func pruneStep(upTo end: Int64, needed: ChangeToken?) throws(AssetSourceError) -> Bool {
    var hasMore = false
    try writeMaintenance { db in
      let start: Int64? = try CatalogueValue.historyStart.read(db)
      if (start ?? 0) < end { try CatalogueValue.historyStart.write(end, db) }
      func remove(_ table: String, _ key: String, _ condition: String, upTo token: Int64) throws {
        try db.execute(
          sql: """
            DELETE FROM \(table)
            WHERE (\(key)) IN (SELECT \(key) FROM \(table) WHERE \(condition) <= ?1 LIMIT \(Self.rowsPerStep))
            """, arguments: [token])
        if db.changesCount == Self.rowsPerStep { hasMore = true }
      }
      try remove("changedObject", "token, kind, object", "token", upTo: end)
      try remove("changedMember", "token, collection, asset", "token", upTo: end)
      try remove("changedVisibility", "library, kind, token, object", "token", upTo: end)
      let names = min(end, needed?.number ?? .max)
      try remove("removedObject", "library, kind, object", "token", upTo: names)
      // Last, because after a stopped pruning these rows show how much is left to prune. For each library, the last
      // pruned change stays, and the last one that was not only of locations: they are the oldest states from which the
      // history is complete.
      if !hasMore {
        try remove(
          "change", "library, token",
          """
          library IN (SELECT id FROM library)
            AND EXISTS (SELECT 1 FROM change AS later
              WHERE later.library = change.library AND later.token > change.token AND later.token <= ?1
                AND later.isLocationOnly <= change.isLocationOnly)
            AND token
          """, upTo: end)
      }
    }
    return hasMore
  }

  /// The newest change to prune; `nil` if there is none.
  private static func historyEnd(_ limits: HistoryLimits, _ now: Int64, _ db: Database) throws -> Int64? {
    var objects = try Int.fetchOne(db, sql: "SELECT sum(objects) FROM change WHERE library = 0") ?? 0
    let oldest = now - Int64(limits.days) * CivilDate.millisecondsPerDay
    let rows = try Row.fetchCursor(db, sql: "SELECT token, time, objects FROM change WHERE library = 0 ORDER BY token")
    var end: Int64?
    while let row = try rows.next(), row[1] < oldest || objects > limits.objects {
      end = row[0]
      objects -= row[2] as Int
    }
    return end
  }
}
