import GRDB
import PhotoModel

/// Copies user values from one asset to another one.
extension AssetWriter {
  /// Copies the user values of an asset to another one, which keeps its own where both have a value.
  func addUserValues(of other: Int64, to asset: Int64) throws {
    try run(Self.addUserValuesSQL, [asset, other, token, now])
    try addAdjustments(of: other, to: asset)
    try addMemberships(of: other, to: asset)
  }

  private static let addUserValuesSQL: String = {
    let flags = ["isFavorite", "isHidden", "keepsOriginal", "hasUserLocation", "userFields"].map {
      "\($0) = asset.\($0) | other.\($0)"
    }
    let regions = isTaken(.regions)
    let date = DateSource.user.rawValue
    let isDateTaken = "asset.creationDateSource <> '\(date)' AND other.creationDateSource = '\(date)'"
    let isLocationTaken = "asset.hasUserLocation = 0 AND other.hasUserLocation"
    let columns: [(condition: String, names: [String])] = [
      (isTaken(.title), ["title"]), (isTaken(.caption), ["caption"]), (isTaken(.keywords), ["keywords"]),
      (isTaken(.rating), ["rating"]), (regions, ["regions", "people", "regionsVersion"]),
      (isDateTaken, ["creationDate", "creationDateSource", "utcOffset", "zoneOffset"]),
      (isLocationTaken, ["latitude", "longitude", "altitude", "placeCity", "placeRegion", "placeCountry"]),
    ]
    let values = columns.flatMap { column in
      column.names.map { "\($0) = CASE WHEN \(column.condition) THEN other.\($0) ELSE asset.\($0) END" }
    }
    return """
      UPDATE asset SET revision = ?3, modificationDate = ?4, \((flags + values).joined(separator: ", ")),
        contentVersion = substr(asset.contentVersion, 1, length(asset.contentVersion) - length(asset.regionsVersion))
          || CASE WHEN \(regions) THEN other.regionsVersion ELSE asset.regionsVersion END
      FROM asset AS other WHERE asset.id = ?1 AND other.id = ?2
      """
  }()

  /// SQL condition: only the other asset has a user's value of this property.
  private static func isTaken(_ field: UserFields) -> String {
    "asset.userFields & \(field.rawValue) = 0 AND other.userFields & \(field.rawValue) <> 0"
  }

  private func addAdjustments(of other: Int64, to asset: Int64) throws {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT other.adjustments, other.adjustmentFormat, other.adjustmentFormatVersion, other.adjustmentData,
            other.adjustmentOrigin
          FROM asset JOIN asset AS other ON other.id = ?2
          WHERE asset.id = ?1 AND asset.adjustmentOrigin IS NOT 'user' AND asset.mediaType = 1
            AND other.adjustmentOrigin = 'user' AND other.adjustments IS NOT NULL
          """), arguments: [asset, other])
    if let row { try setAdjustments(StoredAdjustments(row), of: asset) }
  }

  /// The asset takes the positions of the other one in albums that it is not in.
  private func addMemberships(of other: Int64, to asset: Int64) throws {
    let memberships = try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT collection, position FROM member
          WHERE asset = ?2 AND collection NOT IN (SELECT collection FROM member WHERE asset = ?1)
          """), arguments: [asset, other])
    for membership in memberships {
      let (album, position): (Int64, Int64) = (membership[0], membership[1])
      try run("UPDATE collection SET keyAsset = ? WHERE id = ? AND keyAsset = ?", [asset, album, other])
      try run("DELETE FROM member WHERE asset = ? AND collection = ?", [other, album])
      try AlbumOrder(db: db, row: album).put(asset, at: position)
    }
  }
}
