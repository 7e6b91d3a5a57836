import FoundationEssentials
import HTTPCore
import PhotoModel

/// An asset as clients see it.
struct AssetJSON: Encodable {
  struct Place: Encodable {
    let latitude: Double
    let longitude: Double
    let altitude: Double?
  }

  private let asset: Asset

  init(_ asset: Asset) {
    self.asset = asset
  }

  /// In base64 (RFC 4648 §4).
  var placeholder: String? { asset.placeholder.map { Data($0).base64EncodedString() } }

  private enum Key: String, CodingKey {
    case localIdentifier, mediaType, mediaSubtypes, sourceType, pixelWidth, pixelHeight, creationDate
    case creationDateSource, modificationDate, location, duration, isFavorite, isHidden, hasAdjustments
    case representsBurst, burstIdentifier, burstSelectionTypes, uniformTypeIdentifier, originalFilename, relativePath
    case relativePathBytes, fileSize, contentVersion, revision, placeholder, isInCloud, cameraMake, cameraModel
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(asset.localIdentifier.rawValue, forKey: .localIdentifier)
    try object.encode(asset.mediaType.rawValue, forKey: .mediaType)
    try object.encode(asset.mediaSubtypes.names, forKey: .mediaSubtypes)
    try object.encode("typeUserLibrary", forKey: .sourceType)
    try object.encode(asset.pixelSize.width, forKey: .pixelWidth)
    try object.encode(asset.pixelSize.height, forKey: .pixelHeight)
    try object.encode(RFC3339Time.string(millisecondsSince1970: asset.creationDate.milliseconds), forKey: .creationDate)
    try object.encode(asset.creationDateSource.rawValue, forKey: .creationDateSource)
    try object.encode(
      RFC3339Time.string(millisecondsSince1970: asset.modificationDate.milliseconds), forKey: .modificationDate)
    try object.encode(
      asset.location.map { Place(latitude: $0.latitude, longitude: $0.longitude, altitude: $0.altitude) },
      forKey: .location)
    try object.encode(asset.duration, forKey: .duration)
    try object.encode(asset.isFavorite, forKey: .isFavorite)
    try object.encode(asset.isHidden, forKey: .isHidden)
    try object.encode(asset.hasAdjustments, forKey: .hasAdjustments)
    try object.encode(asset.burst?.isRepresentative ?? false, forKey: .representsBurst)
    try object.encode(asset.burst?.identifier, forKey: .burstIdentifier)
    try object.encode(asset.burst?.selectionTypes.names ?? [], forKey: .burstSelectionTypes)
    try object.encode(asset.uniformTypeIdentifier, forKey: .uniformTypeIdentifier)
    try object.encode(asset.original.displayName, forKey: .originalFilename)
    try object.encode(asset.original.displayPath, forKey: .relativePath)
    if !asset.original.isText {
      try object.encode(Data(asset.original.path).base64EncodedString(), forKey: .relativePathBytes)
    }
    try object.encode(asset.original.identity.size, forKey: .fileSize)
    try object.encode(asset.contentVersion.rawValue, forKey: .contentVersion)
    try object.encode(asset.revision, forKey: .revision)
    try object.encode(placeholder, forKey: .placeholder)
    try object.encode(false, forKey: .isInCloud)
    try object.encode(asset.cameraMake, forKey: .cameraMake)
    try object.encode(asset.cameraModel, forKey: .cameraModel)
  }
}
