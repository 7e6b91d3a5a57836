// How long the history goes back. What is older goes in small steps, so that no writer waits for it: first nobody may ask
// for it any more, then its rows go.

import Foundation
import GRDB
import PhotoModel

/// How far the history goes back: whichever is less.
package struct HistoryLimits: Sendable, Hashable {
  package var days = 30
  /// Objects and members of albums that changes name, in all.
  package var objects = 1_000_000

  package init() {}
}

extension Catalogue {
  /// Rows that one step removes of each table.
  private static let rowsAStep = 2000

  /// Removes some of what is older than the history goes back. No change of the library.
  ///
  /// - Parameters:
  ///   - needed: the oldest state that somebody holds a list of; the names of what went since are kept.
  ///   - now: milliseconds since 1970.
  /// - Returns: whether there is more to remove.
  package func pruneHistory(
    _ limits: HistoryLimits, needed: ChangeToken?,
    now: Int64 = Int64(Date().timeIntervalSince1970 * 1000)
  ) throws(AssetSourceError) -> Bool {
    let end = try read { db in try Self.historyEnd(limits, now, db) }
    guard let end else { return false }
    var hasMore = false
    try writeUncounted { db in
      try db.execute(
        sql: "UPDATE library SET value = ?1 WHERE key = 'historyStart' AND value < ?1", arguments: [end])
      func remove(_ table: String, _ key: String, _ condition: String, upTo token: Int64) throws {
        try db.execute(
          sql: """
            DELETE FROM \(table)
            WHERE (\(key)) IN (SELECT \(key) FROM \(table) WHERE \(condition) <= ?1 LIMIT \(Self.rowsAStep))
            """, arguments: [token])
        if db.changesCount == Self.rowsAStep { hasMore = true }
      }
      try remove("changedObject", "token, kind, object", "token", upTo: end)
      try remove("changedMember", "token, collection, asset", "token", upTo: end)
      let names = min(end, needed?.number ?? .max)
      try remove("deletedAsset", "id", "revision", upTo: names)
      try remove("deletedCollection", "id", "revision", upTo: names)
      try remove("limitedGone", "library, kind, object", "went", upTo: names)
      // Of each limited library the last change that went is remembered: it is the oldest state that all is known since.
      try remove(
        "limitedRevision", "library, token",
        """
        EXISTS (SELECT 1 FROM limitedRevision AS later
          WHERE later.library = limitedRevision.library AND later.token > limitedRevision.token AND later.token <= ?1
            AND later.isPlaceOnly <= limitedRevision.isPlaceOnly) AND token
        """, upTo: end)
      // Last, for it is by these rows that there is something left. One that is more than places stays, for the same reason.
      if !hasMore {
        try remove(
          "change", "token",
          """
          token IS NOT (SELECT token FROM change INDEXED BY changeOfMoreThanPlaces
            WHERE isPlaceOnly = 0 AND token <= ?1 ORDER BY token DESC LIMIT 1) AND token
          """, upTo: end)
      }
    }
    return hasMore
  }

  /// The newest change that goes; `nil`: none.
  private static func historyEnd(_ limits: HistoryLimits, _ now: Int64, _ db: Database) throws -> Int64? {
    var objects = try Int.fetchOne(db, sql: "SELECT sum(objects) FROM change") ?? 0
    let oldest = now - Int64(limits.days) * 86_400_000
    let rows = try Row.fetchCursor(db, sql: "SELECT token, time, objects FROM change ORDER BY token")
    var end: Int64?
    while let row = try rows.next(), row[1] < oldest || objects > limits.objects {
      end = row[0]
      objects -= row[2] as Int
    }
    return end
  }
}
