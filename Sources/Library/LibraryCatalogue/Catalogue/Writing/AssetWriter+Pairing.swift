import Foundation
import GRDB
import PhotoModel

/// Merges assets that turn out to be parts of one photograph. Its files become separate assets at first if
///
/// - the RAW file or the video was replaced under another name while the old one was still known,
/// - they came before the picture, or
/// - a scan read them before they had their final name or all of their metadata.
///
/// An asset with user values is never merged into another one. So the caller tries both directions: the file joins the
/// other asset (`join`), or the files of other assets join its asset (`joinCompanions`).
extension AssetWriter {
  /// Joins the RAW file and the video that belong to an asset's picture.
  mutating func joinCompanions(of asset: Int64) throws {
    for companion in try AssetPairing.companions(of: asset, among: joinable, db) {
      if companion.isStray {
        try move(strayVideo: companion, to: asset)
        continue
      }
      guard try isMergeable(companion.asset) else { continue }
      try bursts.pictureRemoved(companion.asset)
      try run(
        "UPDATE file SET asset = ?, role = ?, isPrimary = 0 WHERE id = ?",
        [asset, companion.role.rawValue, companion.file])
      try deleteMerged(companion.asset, into: asset)
      try touch(asset)
      try refresh(asset)
      edits.note(asset: asset)
    }
  }

  /// Moves a video from the asset of another picture, which may then find its own video.
  private mutating func move(strayVideo video: AssetPairing.Companion, to asset: Int64) throws {
    try run("UPDATE file SET asset = ? WHERE id = ?", [asset, video.file])
    for changed in [video.asset, asset] {
      try touch(changed)
      try refresh(changed)
      edits.note(asset: changed)
    }
    try joinCompanions(of: video.asset)
  }

  /// Deletes an asset whose only file has joined another asset.
  private mutating func deleteMerged(_ asset: Int64, into other: Int64) throws {
    let identifier = try String.fetchOne(
      db.cachedStatement(sql: "DELETE FROM asset WHERE id = ? RETURNING localIdentifier"), arguments: [asset])
    guard let identifier else { return }
    for (earlier, row) in merged where row == asset { merged[earlier] = other }
    merged[LocalIdentifier(identifier)] = other
  }

  /// The row of an asset, or of the asset that it was merged into in this transaction.
  func currentAsset(_ identifier: LocalIdentifier) throws -> Int64? {
    if let row = merged[identifier] { return row }
    return try LibraryID.whole.asset(identifier, db)
  }

  /// Whether a companion file that was read again keeps its role in its asset.
  ///
  /// Dates and names are compared only when files are joined: a file that was edited or renamed later stays with its
  /// asset. But another program may have replaced a live photo's video by another video.
  func keepsRole(_ row: FileRow, in asset: Int64, _ media: ProbedMedia, of file: ProbedFile) throws -> Bool {
    guard media.canHaveRole(row.role) else { return false }
    let isOtherFile = row.identity != file.identity || row.isRewritten(file, media)
    guard row.role == .pairedVideo, isOtherFile else { return true }
    return try AssetPairing.mayBePairedVideo(media, of: asset, db)
  }

  /// Whether a renamed file may belong to the asset of a file beside it: a program saved a part of a photograph, and a
  /// scan indexed its temporary file. Only for a primary file whose asset was added within the last few minutes, or
  /// slightly in the future by a clock that was set back since. A file that was known for longer keeps its asset.
  func mayJoin(row: Int64) throws -> Bool {
    let asset = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT asset.id FROM file JOIN asset ON asset.id = file.asset
          WHERE file.id = ? AND file.isPrimary = 1 AND asset.addedDate BETWEEN ? AND ?
          """), arguments: [row, now - MissingAssets.saveWindow, now + MissingAssets.saveWindow])
    guard asset != nil else { return false }
    return try AssetPairing.hasCounterpart(ofRow: row, db)
  }

  /// Joins the unchanged file of a separate asset to the asset that it belongs to.
  ///
  /// - Returns: whether it did.
  @discardableResult
  mutating func joinAgain(_ file: ProbedFile) throws -> Bool {
    guard case .media(let media) = file.finding, let row = try fileRow(at: file.path), row.identity == file.identity
    else { return false }
    return try join(file, media, row)
  }

  /// The same for a file that may have changed, and its row.
  mutating func join(_ file: ProbedFile, _ media: ProbedMedia, _ row: FileRow) throws -> Bool {
    guard row.isPrimary, let asset = row.asset, try isMergeable(asset) else { return false }
    let pairing = try AssetPairing.find(
      for: media, at: file.path, excluding: row.id, among: joinable, known: nil, db)
    guard pairing != nil else { return false }
    try bursts.pictureRemoved(asset)
    try run("UPDATE file SET asset = NULL, role = NULL, isPrimary = 0 WHERE id = ?", [row.id])
    try run("DELETE FROM asset WHERE id = ?", [asset])
    // Without an asset it is like a new file, so `store` joins it to the asset that was found.
    try store(file)
    return true
  }

  /// Whether an asset has only one file and no user values.
  func isMergeable(_ asset: Int64) throws -> Bool {
    guard try hasOneFile(asset) else { return false }
    return try !hasUserValues(asset)
  }

  func hasOneFile(_ asset: Int64) throws -> Bool {
    try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM file WHERE asset = ?"), arguments: [asset]) == 1
  }

  /// Whether an asset has user values: properties that a user set, or album memberships.
  func hasUserValues(_ asset: Int64) throws -> Bool { try Self.hasUserValues(asset, db) }

  /// Whether the asset of a file has user values.
  static func hasUserValues(ofRow row: Int64, _ db: Database) throws -> Bool {
    let asset = try Int64.fetchOne(db.cachedStatement(sql: "SELECT asset FROM file WHERE id = ?"), arguments: [row])
    guard let asset else { return false }
    return try hasUserValues(asset, db)
  }

  static func hasUserValues(_ asset: Int64, _ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT isFavorite OR isHidden OR keepsOriginal OR userFields <> 0 OR hasUserLocation
            OR adjustmentOrigin IS 'user' OR creationDateSource = '\(DateSource.user.rawValue)'
            OR burstSelectionTypes & \(BurstSelectionTypes.userPick.rawValue) <> 0
            OR EXISTS (SELECT 1 FROM member WHERE member.asset = asset.id)
          FROM asset WHERE id = ?
          """), arguments: [asset]) ?? false
  }
}
