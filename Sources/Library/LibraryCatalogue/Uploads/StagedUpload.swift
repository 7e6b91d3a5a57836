// The record of a staged upload, and the change that turns it into an asset.

import Foundation
import GRDB
import PhotoModel

/// A staged upload, as the catalogue records it. Its offset is not recorded: it is the size of its file.
package struct StagedUpload: Sendable, Hashable {
  /// The intent of a change that makes an asset of the upload: where its file goes.
  package struct Placement: Sendable, Hashable {
    /// Below the library's root.
    package let path: [UInt8]
    /// The inode that the file has at that path.
    package let inode: UInt64

    package init(path: [UInt8], inode: UInt64) {
      self.path = path
      self.inode = inode
    }
  }

  package let identifier: UploadIdentifier
  /// The name of the principal that it belongs to.
  package let owner: String
  /// The filename that the client gave.
  package let filename: String?
  /// In bytes; `nil` while it is unknown.
  package let length: Int64?
  /// Whether all bytes were received and synced.
  package let isComplete: Bool
  /// When it was created or last received bytes.
  package let usedDate: Timestamp
  /// `nil` if no change is in progress.
  package let placement: Placement?

  package init(
    identifier: UploadIdentifier, owner: String, filename: String?, length: Int64?, isComplete: Bool = false,
    usedDate: Timestamp, placement: Placement? = nil
  ) {
    self.identifier = identifier
    self.owner = owner
    self.filename = filename
    self.length = length
    self.isComplete = isComplete
    self.usedDate = usedDate
    self.placement = placement
  }
}

extension StagedUpload {
  /// The columns, in the order of ``init(_:)``.
  static let columns = "identifier, owner, filename, length, isComplete, usedDate, path, inode"

  init(_ row: Row) throws {
    guard let identifier = UploadIdentifier(row[0] as String) else {
      throw AssetSourceError.catalogueFailed("a malformed identifier of a staged upload")
    }
    self.identifier = identifier
    owner = row[1]
    filename = row[2]
    length = row[3]
    isComplete = row[4]
    usedDate = Timestamp(milliseconds: row[5])
    placement = try (row[7] as Int64?).map { inode in
      Placement(path: try row.bytes(6), inode: UInt64(bitPattern: inode))
    }
  }

  static func find(_ identifier: UploadIdentifier, _ db: Database) throws -> StagedUpload? {
    try Row.fetchOne(
      db, sql: "SELECT \(columns) FROM stagedUpload WHERE identifier = ?", arguments: [identifier.rawValue]
    ).map { try StagedUpload($0) }
  }

  func setPlacement(_ placement: Placement?, _ db: Database) throws {
    try db.execute(
      sql: "UPDATE stagedUpload SET path = ?, inode = ? WHERE identifier = ?",
      arguments: [
        placement.map { Data($0.path) }, placement.map { Int64(bitPattern: $0.inode) }, identifier.rawValue,
      ])
    if db.changesCount == 0 { throw LibraryFilesError.noSuchUpload(identifier) }
  }

  func delete(_ db: Database) throws {
    try db.execute(sql: "DELETE FROM stagedUpload WHERE identifier = ?", arguments: [identifier.rawValue])
  }
}

/// A change that makes an asset of a staged upload and deletes the upload.
package struct StagedUploadChange: Sendable {
  package enum Content: Sendable {
    /// The file at its path in the library.
    case placed(ProbedFile)
    /// An existing asset with the same content.
    case existing(LocalIdentifier)
  }

  let upload: StagedUpload
  package var content: Content
  /// The caller. The new file may join only assets that it may see.
  let principal: Principal
  /// The asset that the upload belongs to, if the sender named one.
  let partner: LocalIdentifier?

  package init(
    upload: StagedUpload, content: Content, principal: Principal, partner: LocalIdentifier? = nil
  ) {
    self.upload = upload
    self.content = content
    self.principal = principal
    self.partner = partner
  }

  /// Creates or finds the asset, and deletes the record of the upload.
  func commit(_ writer: inout AssetWriter) throws -> (row: Int64?, identifier: LocalIdentifier) {
    try upload.delete(writer.db)
    switch content {
    case .existing(let identifier):
      guard let row = try writer.currentAsset(identifier) else {
        throw LibraryFilesError.noSuchAsset(identifier)
      }
      return (row, identifier)
    case .placed(let file):
      let joinable = writer.joinable
      defer { (writer.joinable, writer.partner) = (joinable, nil) }
      writer.joinable = try JoinableAssets(visibleTo: principal, writer.db)
      writer.partner = try partner.flatMap { try writer.currentAsset($0) }
      return try writer.asset(of: file)
    }
  }
}
