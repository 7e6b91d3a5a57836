import GRDB
import PhotoModel

extension Catalogue {
  /// How long a content stays recorded before its cached pictures are removed, unless requests may take longer. Tasks
  /// that began before the change have ended by then, so they can't store a picture after the removal. Assets that come
  /// back soon, from the trash or by a restored edit, keep their pictures.
  package static let formerContentDelay = Duration.seconds(600)

  /// A content that an asset no longer has.
  package struct FormerContent: Sendable {
    package let content: String
    /// When the asset lost it, in milliseconds since 1970.
    let since: Int64
  }

  /// Contents that an asset lost at least `delay` ago, oldest first. Everything derived from them may be removed. If
  /// another asset still has the same content, as equal objects of a bucket do, its pictures are rendered again.
  /// Contents are returned until `forget` removes them.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func formerContents(
    limit: Int, delay: Duration = formerContentDelay, now: Int64 = Timestamp.now.milliseconds
  ) throws(AssetSourceError) -> [FormerContent] {
    let end = now - delay.components.seconds * 1000
    // Dates in the future were written while the clock was ahead.
    return try read { db in
      try Row.fetchAll(
        db.cachedStatement(
          sql: "SELECT content, since FROM formerContent WHERE since <= ? OR since > ? ORDER BY since LIMIT ?"),
        arguments: [end, now, limit]
      ).map { FormerContent(content: $0[0], since: $0[1]) }
    }
  }

  /// Removes contents from the table after everything derived from them was removed. A content that was recorded again
  /// since stays.
  package func forget(_ contents: [FormerContent]) throws(AssetSourceError) {
    try writeMaintenance { db in
      let statement = try db.cachedStatement(sql: "DELETE FROM formerContent WHERE content = ? AND since = ?")
      for former in contents { try statement.execute(arguments: [former.content, former.since]) }
    }
  }
}
