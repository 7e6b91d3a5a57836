import Foundation
import GRDB
import PhotoModel

/// Joins files that became assets of their own although they belong to another asset: its RAW file or its video was
/// replaced under another name, and the old one was still known when the new one was stored; or they were there before
/// the picture; or a scan read them before they had their name, or all of their metadata. An asset that a user has
/// changed, or put into an album, is not merged into another one. So the caller tries both directions: the file joins
/// the other asset (`join`), or the files of other assets join its asset (`joinCompanions`).
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

  /// Moves a video from the asset of another picture, which may find its own video then.
  private mutating func move(strayVideo video: AssetPairing.Companion, to asset: Int64) throws {
    try run("UPDATE file SET asset = ? WHERE id = ?", [asset, video.file])
    for changed in [video.asset, asset] {
      try touch(changed)
      try refresh(changed)
      edits.note(asset: changed)
    }
    try joinCompanions(of: video.asset)
  }

  /// Deletes an asset whose file became a part of another one.
  private mutating func deleteMerged(_ asset: Int64, into other: Int64) throws {
    let identifier = try String.fetchOne(
      db.cachedStatement(sql: "DELETE FROM asset WHERE id = ? RETURNING localIdentifier"), arguments: [asset])
    guard let identifier else { return }
    for (earlier, row) in merged where row == asset { merged[earlier] = other }
    merged[LocalIdentifier(identifier)] = other
  }

  /// The row of an asset, or of the one that it became a part of in this transaction.
  func currentAsset(_ identifier: LocalIdentifier) throws -> Int64? {
    if let row = merged[identifier] { return row }
    return try LibraryID.whole.asset(identifier, db)
  }

  /// Whether a companion file, read again, keeps its role in its asset.
  ///
  /// Dates and names only bring files together: files that were edited or renamed stay with their asset. But another
  /// program may have replaced a live photo's video.
  func keepsRole(_ row: FileRow, in asset: Int64, _ media: ProbedMedia, of file: ProbedFile) throws -> Bool {
    guard media.canHaveRole(row.role) else { return false }
    let isOtherFile = row.identity != file.identity || row.isRewritten(file, media)
    guard row.role == .pairedVideo, isOtherFile else { return true }
    return try AssetPairing.mayBePairedVideo(media, of: asset, db)
  }

  /// Whether a file that was renamed may belong to the asset of a file beside it: a program has saved a part of a
  /// photograph, and a scan indexed its temporary file. A file that was known for longer keeps its asset, and so does one
  /// whose date is further in the future, that of a wrong clock.
  func mayJoin(row: Int64) throws -> Bool {
    let asset = try Int64.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT asset.id FROM file JOIN asset ON asset.id = file.asset
          WHERE file.id = ? AND file.isPrimary = 1 AND asset.addedDate BETWEEN ? AND ?
          """), arguments: [row, now - MissingAssets.savingTime, now + MissingAssets.savingTime])
    guard asset != nil else { return false }
    return try AssetPairing.hasCounterpart(ofRow: row, db)
  }

  /// Joins a file that is an asset of its own, given with its current properties, to the asset that it belongs to.
  ///
  /// - Returns: whether it did.
  @discardableResult
  mutating func joinAgain(_ file: ProbedFile) throws -> Bool {
    guard case .media(let media) = file.finding, let row = try fileRow(at: file.path), row.identity == file.identity
    else { return false }
    return try join(file, media, row)
  }

  /// The same for a file that may have changed since the scan before, and its row.
  mutating func join(_ file: ProbedFile, _ media: ProbedMedia, _ row: FileRow) throws -> Bool {
    guard row.isPrimary, let asset = row.asset, try isMergeable(asset) else { return false }
    let pairing = try AssetPairing.find(
      for: media, at: file.path, excluding: row.id, among: joinable, known: nil, db)
    guard pairing != nil else { return false }
    try bursts.pictureRemoved(asset)
    try run("UPDATE file SET asset = NULL, role = NULL, isPrimary = 0 WHERE id = ?", [row.id])
    try run("DELETE FROM asset WHERE id = ?", [asset])
    // Without an asset it is like a new file, which joins the one that was found.
    try store(file)
    return true
  }

  /// Whether an asset has only one file, and nothing that a user set.
  func isMergeable(_ asset: Int64) throws -> Bool {
    guard try hasOneFile(asset) else { return false }
    return try !hasUserValues(asset)
  }

  func hasOneFile(_ asset: Int64) throws -> Bool {
    try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM file WHERE asset = ?"), arguments: [asset]) == 1
  }

  /// Whether a user has changed an asset, or put it into an album.
  func hasUserValues(_ asset: Int64) throws -> Bool { try Self.hasUserValues(asset, db) }

  /// Whether a user has changed the asset of a file, or put it into an album.
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
