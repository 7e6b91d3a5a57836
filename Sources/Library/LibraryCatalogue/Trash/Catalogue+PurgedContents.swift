// Remembers the contents of purged files, so that an import does not add them again. A trigger forgets a content when a
// file with it has come back into the library and is removed again.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel

/// The content of a file that was removed from the trash for good.
package struct PurgedContent: Sendable, Hashable {
  package let fingerprint: FileFingerprint
  package let digest: ContentDigest

  package init(fingerprint: FileFingerprint, digest: ContentDigest) {
    self.fingerprint = fingerprint
    self.digest = digest
  }
}

extension Catalogue {
  /// The number of contents that are remembered. The oldest are forgotten first.
  static let maximumPurgedContents = 100_000

  /// Sets records to `purging`, before their files are removed permanently, and remembers the contents of the files.
  package func beginPurge(
    of records: [TrashRecord], remembering contents: [PurgedContent], atMost limit: Int = maximumPurgedContents
  ) throws(AssetSourceError) {
    try writeMaintenance { db in
      for record in records { try record.setState(.purging, db) }
      if contents.isEmpty { return }
      // A known content gets a new row, and so becomes the newest.
      let statement = try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO purgedContent (fingerprint, digest) VALUES (?, ?)")
      for content in contents {
        try statement.execute(arguments: [content.fingerprint.data, Data(content.digest.bytes)])
      }
      try db.execute(
        sql: "DELETE FROM purgedContent WHERE id <= (SELECT max(id) FROM purgedContent) - ?", arguments: [limit])
    }
  }

  /// The digests of purged contents with a fingerprint.
  package func purgedContents(
    with fingerprint: FileFingerprint
  ) throws(AssetSourceError) -> [ContentDigest] {
    try read { db in
      try Data.fetchAll(
        db.cachedStatement(sql: "SELECT digest FROM purgedContent WHERE fingerprint = ?"),
        arguments: [fingerprint.data]
      ).compactMap { ContentDigest([UInt8]($0)) }
    }
  }
}
