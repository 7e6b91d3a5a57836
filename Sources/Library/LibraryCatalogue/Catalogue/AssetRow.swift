import Foundation
import GRDB
import PhotoModel

/// The SQL columns of an asset, and their conversion to an ``Asset``.
enum AssetRow {
  /// The columns that `asset(_:for:)` reads, in this order.
  static let columns = """
    asset.localIdentifier, asset.contentVersion, asset.revision, asset.mediaType, asset.uniformTypeIdentifier, \
    asset.pixelWidth, asset.pixelHeight, asset.orientation, asset.hasAlpha, asset.creationDate, \
    asset.creationDateSource, asset.modificationDate, asset.latitude, asset.longitude, asset.altitude, \
    asset.cameraMake, asset.cameraModel, asset.isFavorite, asset.isHidden, file.path, file.inode, file.size, \
    file.modified, file.thumbnailOffset, file.thumbnailLength, \
    asset.placeholder, asset.mediaSubtypes, asset.duration, \
    asset.adjustments IS NOT NULL AND asset.mediaType = 1, asset.burstIdentifier, asset.representsBurst, \
    asset.burstSelectionTypes, asset.isRAW, asset.nonLocationRevision, \
    file.fingerprint, asset.lensModel, asset.placeCity, asset.placeRegion, asset.placeCountry, asset.rating, \
    asset.userFields, asset.hasUserLocation, asset.title, asset.keywords, asset.people, asset.caption, \
    asset.addedDate, asset.fileModificationDate, asset.utcOffset, asset.nonLocationModificationDate, \
    asset.isSelfPortrait, asset.isAnimated, asset.isLongExposure, asset.isRenderable, asset.regions, asset.saliency, \
    asset.rights, asset.license, \
    asset.adjustments, asset.unadjustedVersion, asset.unadjustedWidth, asset.unadjustedHeight, asset.adjustmentDate, \
    asset.keepsOriginal
    """
  /// Joins the primary file to `asset`, for a FROM clause that already names `asset`.
  static let primaryFile = "CROSS JOIN file INDEXED BY primaryFile ON file.asset = asset.id AND file.isPrimary = 1"
  /// Joins `asset` and the primary file to `libraryAsset`.
  static let joins = "CROSS JOIN asset ON asset.id = libraryAsset.asset \(primaryFile)"

  static func asset(_ row: Row, for principal: Principal) throws -> Asset {
    let latitude: Double? = row[12]
    let longitude: Double? = row[13]
    let mayReadLocation = principal.may(.location)
    let thumbnailOffset: Int64? = row[23]
    let path: [UInt8] = try row.withUnsafeData(atIndex: 19) { $0.map { [UInt8]($0) } ?? [] }
    let fingerprint: FileFingerprint? = try row.withUnsafeData(atIndex: 34) { data in
      data.flatMap { $0.withUnsafeBytes { FileFingerprint($0) } }
    }
    var asset = Asset(
      localIdentifier: LocalIdentifier(row[0]),
      contentVersion: ContentVersion(row[1]),
      revision: ChangeToken((mayReadLocation ? nil : row[33] as Int64?) ?? row[2]),
      mediaType: MediaType(number: row[3]) ?? .unknown,
      uniformTypeIdentifier: row[4],
      pixelSize: PixelSize(width: row[5], height: row[6]),
      orientation: Orientation(rawValue: row[7]) ?? .topLeft,
      hasAlpha: row[8],
      creationDate: Timestamp(milliseconds: row[9]),
      creationDateSource: DateSource(rawValue: row[10]) ?? .file,
      modificationDate: Timestamp(milliseconds: (mayReadLocation ? nil : row[49] as Int64?) ?? row[11]),
      location: mayReadLocation
        ? latitude.flatMap { latitude in
          longitude.map { Location(latitude: latitude, longitude: $0, altitude: row[14]) }
        } : nil,
      cameraMake: row[15],
      cameraModel: row[16],
      isFavorite: row[17],
      isHidden: row[18],
      original: OriginalFile(
        path: path,
        identity: FileIdentity(
          inode: UInt64(bitPattern: row[20] as Int64), size: row[21], modified: row[22]),
        fingerprint: fingerprint,
        embeddedThumbnail: thumbnailOffset.map { ByteRange(offset: $0, length: row[24]) }),
      placeholder: try row.withUnsafeData(atIndex: 25) { $0.map { [UInt8]($0) } })
    asset.mediaSubtypes = MediaSubtypes(rawValue: row[26])
    asset.duration = row[27]
    asset.hasAdjustments = row[28]
    if let burst: String = row[29] {
      asset.burst = Burst(
        identifier: burst, isRepresentative: row[30], selectionTypes: BurstSelectionTypes(rawValue: row[31]))
    }
    asset.isRAW = row[32]
    asset.descriptive = descriptive(row, includesPlace: mayReadLocation, includesNames: principal.mayReadNames)
    asset.userFields = UserFields(rawValue: row[40])
    asset.hasUserLocation = mayReadLocation && row[41]
    asset.addedDate = Timestamp(milliseconds: row[46])
    asset.fileModificationDate = Timestamp(milliseconds: row[47])
    asset.utcOffset = row[48]
    asset.isSelfPortrait = row[50]
    asset.isAnimated = row[51]
    asset.isLongExposure = row[52]
    asset.isRenderable = row[53]
    // Those that a user set are in the picture, which is missing.
    let hasPictureRegions = asset.mediaType == .video && asset.userFields.contains(.regions)
    asset.regions = hasPictureRegions ? [] : RegionList.regions(row[54])
    if !principal.mayReadNames {
      for index in asset.regions.indices { asset.regions[index].name = nil }
    }
    asset.saliency = StoredPoint.point(row[55])
    if asset.hasAdjustments, let json: String = row[58], let unadjusted: String = row[59] {
      let adjustments = try StoredAdjustments.operations(json)
      asset.adjustments = adjustments.isEmpty ? nil : adjustments
      let before = UnadjustedPicture(
        contentVersion: ContentVersion(unadjusted), pixelSize: PixelSize(width: row[60], height: row[61]),
        regions: asset.regions)
      asset.beforeAdjustments = before
      if !before.regions.isEmpty {
        asset.regions = AdjustedGeometry(adjustments, of: before.pixelSize).adjusted(before.regions)
      }
    }
    asset.adjustmentDate = (row[62] as Int64?).map { Timestamp(milliseconds: $0) }
    asset.keepsOriginal = row[63]
    return asset
  }

  private static func descriptive(_ row: Row, includesPlace: Bool, includesNames: Bool) -> DescriptiveMetadata {
    var descriptive = DescriptiveMetadata()
    descriptive.lensModel = row[35]
    if includesPlace { descriptive.place = PlaceNames(city: row[36], region: row[37], country: row[38]) }
    descriptive.rating = row[39]
    descriptive.title = row[42]
    descriptive.keywords = TextList.strings(row[43])
    if includesNames { descriptive.people = TextList.strings(row[44]) }
    descriptive.caption = row[45]
    descriptive.rights = row[56]
    descriptive.license = row[57]
    return descriptive
  }
}
