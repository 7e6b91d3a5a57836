import GRDB
import PhotoModel
import PhotoPredicate

extension SQLColumns {
  /// Where the keys of an asset are in the catalogue.
  static let asset = asset(creationDate: "asset.creationDate")
  /// The same where the asset is a member of an album: the album's index is by the member's copy of the date.
  static let member = asset(creationDate: "member.creationDate")

  private static func asset(creationDate: String) -> SQLColumns {
    SQLColumns(
      [
        "localIdentifier": Column("asset.localIdentifier"),
        "creationDate": Column(creationDate),
        "modificationDate": Column("asset.modificationDate"),
        "addedDate": Column("asset.addedDate"),
        "mediaType": Column(
          "asset.mediaType",
          stored: Dictionary(uniqueKeysWithValues: MediaType.allCases.map { ($0.rawValue, .integer(Int64($0.number))) })
        ),
        "mediaSubtypes": Column("asset.mediaSubtypes"),
        "duration": Column("asset.duration"),
        "pixelWidth": Column("asset.pixelWidth"),
        "pixelHeight": Column("asset.pixelHeight"),
        "isFavorite": Column("asset.isFavorite"),
        "isHidden": Column("asset.isHidden"),
        "hasAdjustments": Column("(asset.adjustments IS NOT NULL)"),
        "burstIdentifier": Column("asset.burstIdentifier"),
        "representsBurst": Column("asset.representsBurst"),
        "isRAW": Column("asset.isRAW"),
        "originalFilename": Column("asset.originalFilename"),
        "uniformTypeIdentifier": Column("asset.uniformTypeIdentifier"),
        "fileSize": Column("asset.fileSize"),
        "latitude": Column("asset.latitude"),
        "longitude": Column("asset.longitude"),
      ], schema: .asset)
  }
}

extension SQLValue {
  var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.databaseValue
    case .text(let text): text.databaseValue
    }
  }

  init(_ value: DatabaseValue) {
    switch value.storage {
    case .null, .blob: self = .null
    case .int64(let number): self = .integer(number)
    case .double(let number): self = .real(number)
    case .string(let text): self = .text(text)
    }
  }
}
