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

    var sql: String {
      switch self {
      case .localIdentifier: "asset.localIdentifier"
      case .contentVersion: "asset.contentVersion"
      case .revision: "asset.revision"
      case .mediaType: "asset.mediaType"
      case .uniformTypeIdentifier: "asset.uniformTypeIdentifier"
      case .pixelWidth: "asset.pixelWidth"
      case .pixelHeight: "asset.pixelHeight"
      case .orientation: "asset.orientation"
      case .hasAlpha: "asset.hasAlpha"
      case .creationDate: "asset.creationDate"
      case .creationDateSource: "asset.creationDateSource"
      case .modificationDate: "asset.modificationDate"
      case .latitude: "asset.latitude"
      case .longitude: "asset.longitude"
      case .altitude: "asset.altitude"
      case .cameraMake: "asset.cameraMake"
      case .cameraModel: "asset.cameraModel"
      case .isFavorite: "asset.isFavorite"
      case .isHidden: "asset.isHidden"
      case .path: "file.path"
      case .inode: "file.inode"
      case .fileSize: "file.size"
      case .fileModified: "file.modified"
      case .thumbnailOffset: "file.thumbnailOffset"
      case .thumbnailLength: "file.thumbnailLength"
      case .placeholder: "asset.placeholder"
      case .mediaSubtypes: "asset.mediaSubtypes"
      case .duration: "asset.duration"
      case .hasAdjustments: "asset.adjustments IS NOT NULL AND asset.mediaType = 1"
      case .burstIdentifier: "asset.burstIdentifier"
      case .representsBurst: "asset.representsBurst"
      case .burstSelectionTypes: "asset.burstSelectionTypes"
      case .isRAW: "asset.isRAW"
      case .nonLocationRevision: "asset.nonLocationRevision"
      case .fingerprint: "file.fingerprint"
      case .lensModel: "asset.lensModel"
      case .placeCity: "asset.placeCity"
      case .placeRegion: "asset.placeRegion"
      case .placeCountry: "asset.placeCountry"
      case .rating: "asset.rating"
      case .userFields: "asset.userFields"
      case .hasUserLocation: "asset.hasUserLocation"
      case .title: "asset.title"
      case .keywords: "asset.keywords"
      case .people: "asset.people"
      case .caption: "asset.caption"
      case .addedDate: "asset.addedDate"
      case .fileModificationDate: "asset.fileModificationDate"
      case .utcOffset: "asset.utcOffset"
      case .nonLocationModificationDate: "asset.nonLocationModificationDate"
      case .isSelfPortrait: "asset.isSelfPortrait"
      case .isAnimated: "asset.isAnimated"
      case .isLongExposure: "asset.isLongExposure"
      case .isRenderable: "asset.isRenderable"
      case .regions: "asset.regions"
      case .saliency: "asset.saliency"
      case .rights: "asset.rights"
      case .license: "asset.license"
      case .adjustments: "asset.adjustments"
      case .unadjustedVersion: "asset.unadjustedVersion"
      case .unadjustedWidth: "asset.unadjustedWidth"
      case .unadjustedHeight: "asset.unadjustedHeight"
      case .adjustmentDate: "asset.adjustmentDate"
      case .keepsOriginal: "asset.keepsOriginal"
      }
    }
  }

  /// The SELECT list.
  static let columns = SelectedColumn.allCases.map(\.sql).joined(separator: ", ")
}
