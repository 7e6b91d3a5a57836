// If the disk fails while SQLite syncs a commit, SQLite reports an error and goes on without the transaction. But the
// transaction stays in the log, whole, until another one overwrites it: a start before that would take it for committed
// (https://www.sqlite.org/walformat.html, "Recovery").

import GRDB
import PhotoModel

extension AssetSourceError {
  /// Whether a commit that failed with this error may be in the log as a whole. SQLite never wrote it completely if the
  /// disk was full, for example.
  package var mayBeOfSync: Bool {
    switch self {
    case .storageFailed(let fault, _): fault == .failing
    case .catalogueFailed: true
    case .malformedCursor, .noSuchCollection, .queryTooExpensive, .tooManyAssets, .noSuchAsset, .issuerLostAccess: false
    }
  }
}

extension Catalogue {
  /// Ensures that a later start does not take a failed transaction for committed. Call it before files that were moved
  /// for the transaction are moved back. If this throws, the transaction may still turn out to be committed. Then the
  /// files and their intents must stay as they are, which a recovery can handle in both cases.
  package func discardFailedCommit() throws(AssetSourceError) {
    try writeMaintenance { db in
      // SQLite writes no page if an update keeps all values.
      let count: Int64 = try CatalogueValue.discardedCommits.read(db) ?? 0
      try CatalogueValue.discardedCommits.write(count + 1, db)
    }
  }
}
