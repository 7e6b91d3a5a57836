import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  /// How long a content stays noted. A task that began before a change has ended by then, so it can't store a picture
  /// after the removal; and assets that come back soon, from the trash or by a restored edit, keep their pictures.
  package static let formerContentDelay = Duration.seconds(600)

  /// Contents that no asset has had for `formerContentDelay`, oldest first: everything that was made of them may be
  /// removed. They are returned again until `forgetFormerContents`.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func formerContents(
    limit: Int, now: Int64 = Int64(Date().timeIntervalSince1970 * 1000)
  ) throws(AssetSourceError) -> [String] {
    let end = now - Self.formerContentDelay.components.seconds * 1000
    return try read { db in
      try String.fetchAll(
        db.cachedStatement(sql: "SELECT content FROM formerContent WHERE since <= ? ORDER BY since LIMIT ?"),
        arguments: [end, limit])
    }
  }

  /// Removes contents from the table: nothing that was made of them is left.
  package func forgetFormerContents(_ contents: [String]) throws(AssetSourceError) {
    try writeMaintenance { db in
      let statement = try db.cachedStatement(sql: "DELETE FROM formerContent WHERE content = ?")
      for content in contents { try statement.execute(arguments: [content]) }
    }
  }
}
