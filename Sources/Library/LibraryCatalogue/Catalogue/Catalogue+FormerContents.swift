import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// How long a content stays noted, unless requests may take longer. A task that began before a change has ended by then,
  /// so it can't store a picture after the removal; and assets that come back soon, from the trash or by a restored edit, keep their pictures.
  package static let formerContentDelay = Duration.seconds(600)

  /// A content that an asset has left, and when, in milliseconds since 1970.
  package struct FormerContent: Sendable {
    package let content: String
    let since: Int64
  }

  /// Contents that an asset left at least `delay` ago, oldest first: everything that was made of them may be
  /// removed. Another asset may still have one of them, as equal objects of a bucket do; then it is made again. They are
  /// returned again until `forget`.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func formerContents(
    limit: Int, delay: Duration = formerContentDelay, now: Int64 = Int64(Date().timeIntervalSince1970 * 1000)
  ) throws(AssetSourceError) -> [FormerContent] {
    let end = now - delay.components.seconds * 1000
    // Those of the future are of a clock that was ahead.
    return try read { db in
      try Row.fetchAll(
        db.cachedStatement(
          sql: "SELECT content, since FROM formerContent WHERE since <= ? OR since > ? ORDER BY since LIMIT ?"),
        arguments: [end, now, limit]
      ).map { FormerContent(content: $0[0], since: $0[1]) }
    }
  }

  /// Removes contents from the table, except those that were noted again since: nothing that was made of them is left.
  package func forget(_ contents: [FormerContent]) throws(AssetSourceError) {
    try writeMaintenance { db in
      let statement = try db.cachedStatement(sql: "DELETE FROM formerContent WHERE content = ? AND since = ?")
      for former in contents { try statement.execute(arguments: [former.content, former.since]) }
    }
  }
}
