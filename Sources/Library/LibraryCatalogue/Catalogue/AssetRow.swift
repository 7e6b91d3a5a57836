import Foundation
import GRDB
import PhotoModel

/// The conversion of a row with the columns of ``columns`` to an ``Asset``, and the joins that such a row needs.
enum AssetRow {
  /// Joins the primary file to `asset`, for a FROM clause that already names `asset`.
  static let primaryFile = "CROSS JOIN file INDEXED BY primaryFile ON file.asset = asset.id AND file.isPrimary = 1"
  /// Joins `asset` and the primary file to `libraryAsset`.
  static let joins = "CROSS JOIN asset ON asset.id = libraryAsset.asset \(primaryFile)"

  static func asset(_ row: Row, for principal: Principal) throws -> Asset {
    let latitude: Double? = row[column: .latitude]
    let longitude: Double? = row[column: .longitude]
    let mayReadLocation = principal.may(.location)
    let thumbnailOffset: Int64? = row[column: .thumbnailOffset]
    var asset = Asset(
      localIdentifier: LocalIdentifier(row[column: .localIdentifier]),
      contentVersion: ContentVersion(row[column: .contentVersion]),
      revision: ChangeToken(
        (mayReadLocation ? nil : row[column: .nonLocationRevision] as Int64?) ?? row[column: .revision]),
      mediaType: MediaType(number: row[column: .mediaType]) ?? .unknown,
      uniformTypeIdentifier: row[column: .uniformTypeIdentifier],
      pixelSize: PixelSize(width: row[column: .pixelWidth], height: row[column: .pixelHeight]),
      orientation: Orientation(rawValue: row[column: .orientation]) ?? .topLeft,
      hasAlpha: row[column: .hasAlpha],
      creationDate: Timestamp(milliseconds: row[column: .creationDate]),
      creationDateSource: DateSource(rawValue: row[column: .creationDateSource]) ?? .file,
      modificationDate: Timestamp(
        milliseconds: (mayReadLocation ? nil : row[column: .nonLocationModificationDate] as Int64?)
          ?? row[column: .modificationDate]),
      location: mayReadLocation
        ? latitude.flatMap { latitude in
          longitude.map { Location(latitude: latitude, longitude: $0, altitude: row[column: .altitude]) }
        } : nil,
      cameraMake: row[column: .cameraMake],
      cameraModel: row[column: .cameraModel],
      isFavorite: row[column: .isFavorite],
      isHidden: row[column: .isHidden],
      original: OriginalFile(
        path: try row.bytes(SelectedColumn.path.rawValue),
        identity: FileIdentity(
          inode: UInt64(bitPattern: row[column: .inode] as Int64), size: row[column: .fileSize],
          modified: row[column: .fileModified]),
        fingerprint: try row.fingerprint(SelectedColumn.fingerprint.rawValue),
        embeddedThumbnail: thumbnailOffset.map { ByteRange(offset: $0, length: row[column: .thumbnailLength]) }),
      placeholder: try row.withUnsafeData(atIndex: SelectedColumn.placeholder.rawValue) { $0.map { [UInt8]($0) } })
    asset.mediaSubtypes = MediaSubtypes(rawValue: row[column: .mediaSubtypes])
    asset.duration = row[column: .duration]
    asset.hasAdjustments = row[column: .hasAdjustments]
    if let burst: String = row[column: .burstIdentifier] {
      asset.burst = Burst(
        identifier: burst, isRepresentative: row[column: .representsBurst],
        selectionTypes: BurstSelectionTypes(rawValue: row[column: .burstSelectionTypes]))
    }
    asset.isRAW = row[column: .isRAW]
    asset.descriptive = descriptive(row, includesPlace: mayReadLocation, includesNames: principal.mayReadNames)
    asset.userFields = UserFields(rawValue: row[column: .userFields])
    asset.hasUserLocation = mayReadLocation && row[column: .hasUserLocation]
    asset.addedDate = Timestamp(milliseconds: row[column: .addedDate])
    asset.fileModificationDate = Timestamp(milliseconds: row[column: .fileModificationDate])
    asset.utcOffset = row[column: .utcOffset]
    asset.isSelfPortrait = row[column: .isSelfPortrait]
    asset.isAnimated = row[column: .isAnimated]
    asset.isLongExposure = row[column: .isLongExposure]
    asset.isRenderable = row[column: .isRenderable]
    // A user's regions lie in the picture. The video is shown because the picture is missing.
    let hasPictureRegions = asset.mediaType == .video && asset.userFields.contains(.regions)
    asset.regions = hasPictureRegions ? [] : RegionList.readableRegions(row[column: .regions])
    if !principal.mayReadNames {
      for index in asset.regions.indices { asset.regions[index].name = nil }
    }
    asset.saliency = StoredPoint.point(row[column: .saliency])
    if asset.hasAdjustments, let json: String = row[column: .adjustments],
      let unadjusted: String = row[column: .unadjustedVersion]
    {
      let operations = try? StoredAdjustments.operations(json)
      let adjustments = operations ?? Adjustments([])
      asset.adjustments = adjustments.isEmpty ? nil : adjustments
      let version = ContentVersion(unadjusted)
      let before = UnadjustedPicture(
        contentVersion: version,
        pixelSize: PixelSize(width: row[column: .unadjustedWidth], height: row[column: .unadjustedHeight]),
        regions: asset.regions)
      asset.beforeAdjustments = before
      if operations == nil {
        // Damaged: the picture is shown unadjusted. Caches must not keep it as the adjusted one.
        asset.contentVersion = version
        asset.pixelSize = before.pixelSize
      }
      if !before.regions.isEmpty {
        asset.regions = AdjustedGeometry(adjustments, of: before.pixelSize).adjusted(before.regions)
      }
    }
    asset.adjustmentDate = (row[column: .adjustmentDate] as Int64?).map { Timestamp(milliseconds: $0) }
    asset.keepsOriginal = row[column: .keepsOriginal]
    return asset
  }

  private static func descriptive(_ row: Row, includesPlace: Bool, includesNames: Bool) -> DescriptiveMetadata {
    var descriptive = DescriptiveMetadata()
    descriptive.lensModel = row[column: .lensModel]
    if includesPlace {
      descriptive.place = PlaceNames(
        city: row[column: .placeCity], region: row[column: .placeRegion], country: row[column: .placeCountry])
    }
    descriptive.rating = row[column: .rating]
    descriptive.title = row[column: .title]
    descriptive.keywords = TextList.readableStrings(row[column: .keywords])
    if includesNames { descriptive.people = TextList.readableStrings(row[column: .people]) }
    descriptive.caption = row[column: .caption]
    descriptive.rights = row[column: .rights]
    descriptive.license = row[column: .license]
    return descriptive
  }
}

extension Row {
  @inline(__always)
  fileprivate subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(
    column column: AssetRow.SelectedColumn
  ) -> Value { self[column.rawValue] }
}
