import FoundationEssentials
import LibraryCatalogue
import PhotoModel

/// An asset as clients see it.
struct AssetJSON: Encodable {
  struct Place: Encodable {
    let latitude: Double
    let longitude: Double
    let altitude: Double?
  }

  struct Region: Encodable {
    let type: String
    let rect: [Double]
    let name: String?

    init(_ region: PictureRegion) {
      type = region.kind.rawValue
      rect = [region.rect.x, region.rect.y, region.rect.width, region.rect.height]
      name = region.name
    }
  }

  private let asset: Asset
  private let revision: String
  private let isInCloud: Bool
  private let fields: AssetFields?

  /// - Parameters:
  ///   - isInCloud: whether the original is in a remote store and not on this machine.
  ///   - fields: the properties to write; `nil`: all.
  init(_ asset: Asset, _ tokens: TokenCodec, isInCloud: Bool = false, fields: AssetFields? = nil) {
    self.asset = asset
    self.isInCloud = isInCloud
    revision = tokens.text(of: asset.revision)
    self.fields = fields
  }

  /// In base64 (RFC 4648 §4).
  var placeholder: String? { asset.placeholder.map { Data($0).base64EncodedString() } }

  enum Key: String, CodingKey, CaseIterable {
    case localIdentifier, mediaType, mediaSubtypes, sourceType, pixelWidth, pixelHeight, creationDate
    case creationDateSource, modificationDate, location, duration, isFavorite, isHidden, hasAdjustments
    case representsBurst, burstIdentifier, burstSelectionTypes, uniformTypeIdentifier, originalFilename, relativePath
    case relativePathBytes, fileSize, contentVersion, revision, placeholder, isInCloud, cameraMake, cameraModel
    case isRAW, title, caption, keywords, people, rating, lensModel, utcOffset, fileModificationDate, addedDate
    case isSelfPortrait, isAnimated, isLongExposure, isRenderable, regions, unadjustedPixelWidth
    case unadjustedPixelHeight, keepOriginal
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    func put(_ value: @autoclosure () -> some Encodable, forKey key: Key) throws {
      if fields?.keys.contains(key) ?? true { try object.encode(value(), forKey: key) }
    }
    // In the order of the keys, so that they need no sorting.
    try put(asset.addedDate.rfc3339, forKey: .addedDate)
    try put(asset.burst?.identifier, forKey: .burstIdentifier)
    try put(asset.burst?.selectionTypes.names ?? [], forKey: .burstSelectionTypes)
    try put(asset.cameraMake, forKey: .cameraMake)
    try put(asset.cameraModel, forKey: .cameraModel)
    try put(asset.descriptive.caption, forKey: .caption)
    try put(asset.contentVersion.rawValue, forKey: .contentVersion)
    try put(asset.creationDate.rfc3339, forKey: .creationDate)
    try put(asset.creationDateSource.rawValue, forKey: .creationDateSource)
    try put(asset.duration, forKey: .duration)
    try put(asset.fileModificationDate.rfc3339, forKey: .fileModificationDate)
    try put(asset.original.identity.size, forKey: .fileSize)
    try put(asset.hasAdjustments, forKey: .hasAdjustments)
    try put(asset.isAnimated, forKey: .isAnimated)
    try put(asset.isFavorite, forKey: .isFavorite)
    try put(asset.isHidden, forKey: .isHidden)
    try put(isInCloud, forKey: .isInCloud)
    try put(asset.isLongExposure, forKey: .isLongExposure)
    try put(asset.isRAW, forKey: .isRAW)
    try put(asset.isRenderable, forKey: .isRenderable)
    try put(asset.isSelfPortrait, forKey: .isSelfPortrait)
    try put(asset.keepsOriginal, forKey: .keepOriginal)
    try put(asset.descriptive.keywords, forKey: .keywords)
    try put(asset.descriptive.lensModel, forKey: .lensModel)
    try put(asset.localIdentifier.rawValue, forKey: .localIdentifier)
    try put(
      asset.location.map { Place(latitude: $0.latitude, longitude: $0.longitude, altitude: $0.altitude) },
      forKey: .location)
    try put(asset.mediaSubtypes.names, forKey: .mediaSubtypes)
    try put(asset.mediaType.rawValue, forKey: .mediaType)
    try put(asset.modificationDate.rfc3339, forKey: .modificationDate)
    try put(asset.original.displayName, forKey: .originalFilename)
    try put(asset.descriptive.people, forKey: .people)
    try put(asset.pixelSize.height, forKey: .pixelHeight)
    try put(asset.pixelSize.width, forKey: .pixelWidth)
    try put(placeholder, forKey: .placeholder)
    try put(asset.descriptive.rating, forKey: .rating)
    try put(asset.regions.map(Region.init), forKey: .regions)
    try put(asset.original.displayPath, forKey: .relativePath)
    if !asset.original.isValidUTF8 {
      try put(Data(asset.original.path).base64EncodedString(), forKey: .relativePathBytes)
    }
    try put(asset.burst?.isRepresentative ?? false, forKey: .representsBurst)
    try put(revision, forKey: .revision)
    try put("typeUserLibrary", forKey: .sourceType)
    try put(asset.descriptive.title, forKey: .title)
    try put(asset.unadjustedPixelSize.height, forKey: .unadjustedPixelHeight)
    try put(asset.unadjustedPixelSize.width, forKey: .unadjustedPixelWidth)
    try put(asset.uniformTypeIdentifier, forKey: .uniformTypeIdentifier)
    try put(asset.utcOffset, forKey: .utcOffset)
  }
}

/// The properties of an asset that a client requests.
struct AssetFields: Sendable {
  let keys: Set<AssetJSON.Key>

  /// Parses a list such as `localIdentifier,creationDate`. Throws 400 with the name that is not a property.
  init(_ text: String) throws(Problem) { keys = try QueryReader.names("fields", text) }
}
