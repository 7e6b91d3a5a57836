// Decides which of two assets a path belongs to, when one known file took the path of another one that is gone: either
// a program wrote the new content to a temporary file, which a scan indexed, and renamed it to the name of the
// original; or a user renamed one photograph to the name of another one. It depends on which of the two assets have
// user values (properties that users set, and album memberships):
//
//     not that of the renamed file   -> the former asset keeps the path, with the new content
//     only that of the renamed file  -> the renamed file's asset gets the path
//     both                           -> the former asset keeps the path, and adopts the user values that it lacks
//
// For companions, the RAW file or the video of a picture, see `companionKeepsPath`.

import Foundation
import GRDB
import PhotoModel

/// The result of restoring the paths of files that had lost them.
package struct RestoredPaths: Sendable {
  /// Two assets that were merged: the kept one has adopted the user values of the removed one.
  package struct JoinedAsset: Sendable {
    package let path: [UInt8]
    package let kept: LocalIdentifier
    package let removed: LocalIdentifier
  }

  /// The rows that have their path again.
  package fileprivate(set) var rows: Set<Int64> = []
  /// The rows that lost their path to one of `rows`; their files have another path, which is not known yet.
  package fileprivate(set) var cleared: [Int64] = []
  package fileprivate(set) var joined: [JoinedAsset] = []
}

extension Catalogue {
  /// Gives rows of missing files their former paths back, unless the asset of the file that has taken a path keeps it.
  ///
  /// - Parameters:
  ///   - files: rows of missing files, with the freshly probed files at their former paths.
  ///   - secondaryFiles: as for `remove`, of the files that have these paths.
  package func restorePaths(
    _ files: [(row: Int64, found: ProbedFile)], secondaryFiles: [ProbedFile] = []
  ) throws(AssetSourceError) -> RestoredPaths {
    var restored = RestoredPaths()
    guard !files.isEmpty else { return restored }
    try change { db, token in
      var writer = try AssetWriter(db, token: token)
      for file in files { try writer.restorePath(ofRow: file.row, file.found, &restored) }
      for file in secondaryFiles { try writer.store(file) }
      for asset in writer.assetsThatLostFiles.sorted() { try writer.joinCompanions(of: asset) }
      try writer.finish()
    }
    return restored
  }
}

extension AssetWriter {
  /// Gives a row its former path back and stores the file found there, unless the other asset keeps the path.
  fileprivate mutating func restorePath(
    ofRow row: Int64, _ found: ProbedFile, _ restored: inout RestoredPaths
  ) throws {
    let file = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT path, asset, isPrimary, role FROM file WHERE id = ?"), arguments: [row])
    guard let file, try VacantPath.former(file.bytes(0)) == found.path else { return }
    let asset: Int64? = file[1]
    if let other = try fileRow(at: found.path) {
      guard try keepsPath(asset, from: other) else { return }
      let isPrimary: Bool = file[2]
      let role = (file[3] as String?).flatMap(FileRole.init)
      guard try isPrimary || companionKeepsPath(role, from: other, found) else { return }
      try joinUserValues(of: other, to: asset, found.path, &restored)
      // A companion that became the primary file has an unknown identity until it is read again.
      if other.asset == nil || other.identity == found.identity || other.identity == .unknown {
        try remove(row: other.id)
      } else {
        // The other file has left the path since: the next scan finds it by its identity.
        try clearPath(fromRow: other.id, isRestorable: false)
        restored.cleared.append(other.id)
      }
    }
    try move(row: row, to: found.path)
    try store(found)
    restored.rows.insert(row)
  }

  /// Whether an asset keeps its path when another file has taken it.
  private func keepsPath(_ asset: Int64?, from other: FileRow) throws -> Bool {
    guard let otherAsset = other.asset else { return true }
    guard let asset, asset != otherAsset else { return false }
    if try !hasUserValues(otherAsset) { return true }
    return try hasUserValues(asset)
  }

  /// Whether a companion keeps its path when another file has taken it: only if the other file can have the companion's
  /// role, and its asset has no user values, which would end up with another photograph. Otherwise the picture loses
  /// its companion.
  private func companionKeepsPath(_ role: FileRole?, from other: FileRow, _ found: ProbedFile) throws -> Bool {
    guard let otherAsset = other.asset else { return true }
    guard case .media(let media) = found.finding, media.canHaveRole(role) else { return false }
    return try !hasUserValues(otherAsset)
  }

  /// Moves the user values of an asset that loses its only file to the asset that gets the file.
  private func joinUserValues(
    of other: FileRow, to asset: Int64?, _ path: [UInt8], _ restored: inout RestoredPaths
  ) throws {
    guard let asset, let otherAsset = other.asset, try hasUserValues(otherAsset), try hasOneFile(otherAsset) else {
      return
    }
    try addUserValues(of: otherAsset, to: asset)
    restored.joined.append(
      RestoredPaths.JoinedAsset(path: path, kept: try identifier(asset), removed: try identifier(otherAsset)))
  }

  private func identifier(_ asset: Int64) throws -> LocalIdentifier {
    LocalIdentifier(
      try String.fetchOne(
        db.cachedStatement(sql: "SELECT localIdentifier FROM asset WHERE id = ?"), arguments: [asset]) ?? "")
  }
}
