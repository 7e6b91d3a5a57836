// The records of staged uploads. Each method is one transaction. `LibraryFiles` stores the bytes.

import Foundation
import GRDB
import PhotoModel

extension Catalogue {
  // MARK: Reads

  /// The staged upload with that identifier; `nil` if there is none.
  package func stagedUpload(_ identifier: UploadIdentifier) throws(AssetSourceError) -> StagedUpload? {
    try read { try StagedUpload.find(identifier, $0) }
  }

  /// All staged uploads. Their number is limited when they are created.
  package func stagedUploads() throws(AssetSourceError) -> [StagedUpload] { try stagedUploads(where: "1") }

  /// Staged uploads that are being made into assets: by a running process, or by one that was interrupted.
  package func unfinishedStagedUploads() throws(AssetSourceError) -> [StagedUpload] {
    try stagedUploads(where: "path IS NOT NULL")
  }

  /// Staged uploads that have received nothing since a point in time.
  package func stagedUploads(usedBefore limit: Timestamp) throws(AssetSourceError) -> [StagedUpload] {
    try stagedUploads(where: "usedDate < ?", [limit.milliseconds])
  }

  private func stagedUploads(
    where condition: String, _ arguments: StatementArguments = []
  ) throws(AssetSourceError) -> [StagedUpload] {
    try read { db in
      try Row.fetchAll(
        db, sql: "SELECT \(StagedUpload.columns) FROM stagedUpload WHERE \(condition) ORDER BY id",
        arguments: arguments
      ).map { try StagedUpload($0) }
    }
  }

  // MARK: Writes

  private static let uploadAging = RowAging(time: .uploadTime, table: "stagedUpload", column: "usedDate")

  /// Counts at most `limit` milliseconds of the time since the last call toward the idle time of staged uploads: see
  /// ``RowAging``.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func countUploadTime(until now: Int64, atMost limit: Int64) throws(AssetSourceError) {
    try age(Self.uploadAging, to: now, atMost: limit)
  }

  // A staged upload is not an object of the library, so none of these methods creates a change token.

  /// Records a new staged upload.
  package func insert(_ upload: StagedUpload) throws(AssetSourceError) {
    try writeMaintenance { db in
      try db.execute(
        sql: """
          INSERT INTO stagedUpload (identifier, owner, filename, length, usedDate) VALUES (?, ?, ?, ?, ?)
          """,
        arguments: [
          upload.identifier.rawValue, upload.owner, upload.filename, upload.length, upload.usedDate.milliseconds,
        ])
    }
  }

  /// Records that bytes were received.
  ///
  /// - Parameters:
  ///   - length: the length of the whole file, if known.
  ///   - isComplete: all bytes are received and synced.
  /// - Returns: whether the staged upload still exists.
  package func update(
    _ identifier: UploadIdentifier, length: Int64?, isComplete: Bool, usedDate: Timestamp
  ) throws(AssetSourceError) -> Bool {
    var exists = false
    try writeMaintenance { db in
      try db.execute(
        sql: """
          UPDATE stagedUpload SET length = coalesce(?, length), isComplete = max(isComplete, ?), usedDate = ?
          WHERE identifier = ?
          """, arguments: [length, isComplete, usedDate.milliseconds, identifier.rawValue])
      exists = db.changesCount > 0
    }
    return exists
  }

  /// Sets or clears the intent of a change, before its file is moved or after the file was moved back.
  package func setPlacement(
    _ placement: StagedUpload.Placement?, of upload: StagedUpload
  ) throws(AssetSourceError) {
    try writeMaintenance { try upload.setPlacement(placement, $0) }
  }

  /// Deletes records, all or none.
  package func delete(_ uploads: [StagedUpload]) throws(AssetSourceError) {
    try writeMaintenance { db in for upload in uploads { try upload.delete(db) } }
  }

  /// Creates the asset of a prepared staged upload, in a transaction of its own. If this throws, nothing is committed,
  /// and the file changes are to be reverted.
  package func commitUpload(
    _ prepared: PendingFileChanges, for principal: Principal
  ) throws(AssetSourceError) -> LocalIdentifier {
    let identifier = try createAsset(for: principal) { db, token in
      var writer = try AssetWriter(db, token: token)
      let identifier = try prepared.commit(0, &writer).identifier
      fault(.entryWritten)
      try writer.finish()
      fault(.written)
      return identifier
    }
    fault(.committed)
    return identifier
  }
}
