import GRDB
import PhotoModel
import PhotoPredicate

extension SQLColumns {
  /// The SQL column of each asset key.
  static let asset = asset { "asset." + $0 }
  /// The same for the members of an album, whose index by date contains the date in the `member` row.
  static let member = asset { ($0 == "creationDate" ? "member." : "asset.") + $0 }
  /// The same for the rows of `libraryAsset`, which has copies of some columns.
  static let libraryAsset = {
    let packed = GridColumns.expressions(in: "libraryAsset")
    return asset { column in
      packed[column] ?? (CatalogueSchema.copiedColumns.contains(column) ? "libraryAsset." : "asset.") + column
    }
  }()

  /// Display path of the primary file.
  private static let relativePath = """
    \(SQLFunction.text.name)((SELECT CAST(path AS TEXT) FROM file INDEXED BY primaryFile \
    WHERE file.asset = asset.id AND isPrimary = 1))
    """

  private static func asset(_ column: (String) -> String) -> SQLColumns {
    SQLColumns(
      [
        "localIdentifier": Column(column("localIdentifier")),
        "creationDate": Column(column("creationDate")),
        "modificationDate": Column("asset.modificationDate"),
        "nonLocationModificationDate": Column("coalesce(asset.nonLocationModificationDate, asset.modificationDate)"),
        "fileModificationDate": Column("asset.fileModificationDate"),
        "addedDate": Column(column("addedDate")),
        "mediaType": Column(
          column("mediaType"),
          stored: Dictionary(uniqueKeysWithValues: MediaType.allCases.map { ($0.rawValue, .integer(Int64($0.number))) })
        ),
        "mediaSubtypes": Column(column("mediaSubtypes")),
        "duration": Column(column("duration")),
        "pixelWidth": Column(column("pixelWidth")),
        "pixelHeight": Column(column("pixelHeight")),
        "isFavorite": Column("asset.isFavorite"),
        "isHidden": Column("asset.isHidden"),
        "hasAdjustments": Column("(asset.adjustments IS NOT NULL AND asset.mediaType = 1)"),
        "burstIdentifier": Column(column("burstIdentifier")),
        "representsBurst": Column("asset.representsBurst"),
        "isRAW": Column("asset.isRAW"),
        "isSelfPortrait": Column("asset.isSelfPortrait"),
        "isAnimated": Column("asset.isAnimated"),
        "isLongExposure": Column("asset.isLongExposure"),
        "originalFilename": Column("asset.originalFilename"),
        "relativePath": Column(relativePath),
        "uniformTypeIdentifier": Column("asset.uniformTypeIdentifier"),
        "fileSize": Column("asset.fileSize"),
        "title": Column("asset.title"),
        "caption": Column("asset.caption"),
        "keywords": Column("asset.keywords"),
        "rating": Column("asset.rating"),
        "cameraMake": Column("asset.cameraMake"),
        "cameraModel": Column("asset.cameraModel"),
        "lensModel": Column("asset.lensModel"),
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
