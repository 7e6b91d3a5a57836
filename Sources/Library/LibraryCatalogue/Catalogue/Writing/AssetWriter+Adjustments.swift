import Cryptography
import Foundation
import GRDB
import PhotoModel
import Primitives

/// Sets and reverts adjustments. The content version and the size of the unadjusted picture stay in separate columns,
/// so that reverting restores exactly these values. Unlike `contentVersion`, `unadjustedVersion` does not end with
/// `regionsVersion`.
extension AssetWriter {
  /// Replaces the adjustments of a picture. Setting equal adjustments is a no-op.
  ///
  /// - Parameter keepsForeign: keep the adjustment data of another program that a user set earlier, beside the new
  ///   operations.
  func setAdjustments(_ adjustments: StoredAdjustments, of asset: Int64, keepsForeign: Bool = false) throws {
    let isPicture = try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT mediaType = 1 FROM asset WHERE id = ?"), arguments: [asset])
    guard isPicture == true else { throw NoPictureError() }
    func kept(_ column: String, _ value: String) -> String {
      keepsForeign ? "CASE WHEN adjustmentData IS NULL THEN \(value) ELSE \(column) END" : value
    }
    try run(
      """
      UPDATE asset SET adjustments = ?1, adjustmentOrigin = ?8,
        adjustmentFormat = \(kept("adjustmentFormat", "?2")),
        adjustmentFormatVersion = \(kept("adjustmentFormatVersion", "?3")),
        adjustmentData = \(kept("adjustmentData", "?4")),
        unadjustedVersion = coalesce(
          unadjustedVersion, substr(contentVersion, 1, length(contentVersion) - length(regionsVersion))),
        unadjustedWidth = coalesce(unadjustedWidth, pixelWidth),
        unadjustedHeight = coalesce(unadjustedHeight, pixelHeight),
        adjustmentDate = ?5, revision = ?6, modificationDate = ?5
      WHERE id = ?7
        AND (adjustments, adjustmentOrigin, adjustmentFormat, adjustmentFormatVersion, adjustmentData) IS NOT
          (?1, ?8, \(kept("adjustmentFormat", "?2")), \(kept("adjustmentFormatVersion", "?3")),
            \(kept("adjustmentData", "?4")))
      """,
      [
        adjustments.operations.json, adjustments.foreign?.formatIdentifier, adjustments.foreign?.formatVersion,
        adjustments.foreign?.data.map { Data($0) }, now, token, asset, adjustments.origin.rawValue,
      ])
    try refreshAdjustedPicture(of: asset)
  }

  /// Removes the adjustments, also those of another program. A no-op for an asset without adjustments.
  ///
  /// - Parameter origin: `user`, or `nil` if the imported edit no longer exists.
  func revertAdjustments(of asset: Int64, origin: StoredAdjustments.Origin? = .user) throws {
    try run(
      """
      UPDATE asset SET contentVersion = unadjustedVersion || regionsVersion,
        pixelWidth = unadjustedWidth, pixelHeight = unadjustedHeight,
        adjustments = NULL, adjustmentOrigin = ?4, adjustmentFormat = NULL, adjustmentFormatVersion = NULL,
        adjustmentData = NULL,
        unadjustedVersion = NULL, unadjustedWidth = NULL, unadjustedHeight = NULL, adjustmentDate = ?1,
        revision = ?2, modificationDate = ?1
      WHERE id = ?3 AND adjustments IS NOT NULL
      """, [now, token, asset, origin?.rawValue])
  }

  /// Derives the version and the size of an adjusted picture from the unadjusted one. While the picture of a live photo
  /// is missing, its video is shown without adjustments; they apply again when the picture returns.
  func refreshAdjustedPicture(of asset: Int64) throws {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT adjustments, unadjustedVersion, unadjustedWidth, unadjustedHeight, mediaType FROM asset
          WHERE id = ? AND adjustments IS NOT NULL
          """), arguments: [asset])
    guard let row, let json: String = row[0], let unadjusted: String = row[1] else { return }
    let isPicture = row[4] as Int == MediaType.image.number
    let operations = isPicture ? StoredAdjustments.readableOperations(json) : Adjustments([])
    let size = AdjustedGeometry(operations, of: PixelSize(width: row[2], height: row[3])).size
    var version = unadjusted
    if !operations.isEmpty {
      // A keyed digest, so that clients can't compute it from the operations.
      var digest = versionDigest
      digest.update("adjusted \(unadjusted) \(json)".utf8)
      version = Base64URL.encode(digest.finalize().prefix(16))
    }
    try run(
      """
      UPDATE asset SET contentVersion = ?1 || regionsVersion, pixelWidth = ?2, pixelHeight = ?3, revision = ?5,
        modificationDate = ?6
      WHERE id = ?4 AND (contentVersion, pixelWidth, pixelHeight) IS NOT (?1 || regionsVersion, ?2, ?3)
      """, [version, size.width, size.height, asset, token, now])
  }
}

/// Only pictures have adjustments.
struct NoPictureError: Error {}
