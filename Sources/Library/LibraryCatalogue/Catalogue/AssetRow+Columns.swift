extension AssetRow {
  /// The columns that `asset(_:for:)` reads, in the order of the SELECT list: the raw value is the index in the row.
  enum SelectedColumn: Int, CaseIterable {
    case localIdentifier
    case contentVersion
    case revision
    case mediaType
    case uniformTypeIdentifier
    case pixelWidth
    case pixelHeight
    case orientation
    case hasAlpha
    case creationDate
    case creationDateSource
    case modificationDate
    case latitude
    case longitude
    case altitude
    case cameraMake
    case cameraModel
    case isFavorite
    case isHidden
    case path
    case inode
    case fileSize
    case fileModified
    case thumbnailOffset
    case thumbnailLength
    case placeholder
    case mediaSubtypes
    case duration
    case hasAdjustments
    case burstIdentifier
    case representsBurst
    case burstSelectionTypes
    case isRAW
    case nonLocationRevision
    case fingerprint
    case lensModel
    case placeCity
    case placeRegion
    case placeCountry
    case rating
    case userFields
    case hasUserLocation
    case title
    case keywords
    case people
    case caption
    case addedDate
    case fileModificationDate
    case utcOffset
    case nonLocationModificationDate
    case isSelfPortrait
    case isAnimated
    case isLongExposure
    case isRenderable
    case regions
    case saliency
    case rights
    case license
    case adjustments
    case unadjustedVersion
    case unadjustedWidth
    case unadjustedHeight
    case adjustmentDate
    case keepsOriginal

    /// Most cases have the name of a column of `asset`.
    var sql: String {
      switch self {
      case .path, .inode, .fingerprint, .thumbnailOffset, .thumbnailLength: "file.\(self)"
      case .fileSize: "file.size"
      case .fileModified: "file.modified"
      case .hasAdjustments: "asset.adjustments IS NOT NULL AND asset.mediaType = 1"
      default: "asset.\(self)"
      }
    }
  }

  /// The SELECT list.
  static let columns = SelectedColumn.allCases.map(\.sql).joined(separator: ", ")
}
