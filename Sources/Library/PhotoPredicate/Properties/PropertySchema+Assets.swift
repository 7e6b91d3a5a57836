import PhotoModel

// The keys of assets and collections. Apple's keys are in Table 1 of the documentation of PHFetchOptions. The others
// are properties of the resources of an asset, and further members of the JSON of this daemon.

extension PropertySchema {
  /// The keys for predicates and sort descriptors over assets.
  package static let asset = PropertySchema(assetKeys, withoutLocation: assetKeysWithoutLocation)

  /// Without the scope `location`, a change of only the location does not count as a modification.
  private static let assetKeysWithoutLocation = [
    PropertyKey("modificationDate", .date, isNullable: true, column: "nonLocationModificationDate")
  ]

  private static let assetKeys = [
    PropertyKey("localIdentifier", .string),
    // These are optional in PhotoKit, so comparing them with nil is valid.
    PropertyKey("creationDate", .date, isNullable: true),
    PropertyKey("modificationDate", .date, isNullable: true, needsLocationScope: true),
    PropertyKey("fileModificationDate", .date),
    PropertyKey("mediaType", .enumeration(.mediaType)),
    PropertyKey("mediaSubtypes", .options(.mediaSubtypes)),
    PropertyKey("duration", .real),
    PropertyKey("pixelWidth", .integer),
    PropertyKey("pixelHeight", .integer),
    PropertyKey("isFavorite", .boolean, aliases: ["favorite"]),
    PropertyKey("isHidden", .boolean, aliases: ["hidden"]),
    PropertyKey("hasAdjustments", .boolean),
    PropertyKey("burstIdentifier", .string, isNullable: true),
    PropertyKey("representsBurst", .boolean),
    PropertyKey("isRAW", .boolean),
    PropertyKey("isSelfPortrait", .boolean),
    PropertyKey("isAnimated", .boolean),
    PropertyKey("isLongExposure", .boolean),
    PropertyKey("addedDate", .date),
    PropertyKey("originalFilename", .string),
    PropertyKey("relativePath", .string, isSortable: false),
    PropertyKey("uniformTypeIdentifier", .string),
    PropertyKey("fileSize", .integer),
    PropertyKey("title", .string, isNullable: true),
    PropertyKey("caption", .string, isNullable: true, isSortable: false),
    PropertyKey("keywords", .strings, isNullable: true, isSortable: false),
    PropertyKey("rating", .integer, isNullable: true),
    PropertyKey("cameraMake", .string, isNullable: true),
    PropertyKey("cameraModel", .string, isNullable: true),
    PropertyKey("lensModel", .string, isNullable: true),
    PropertyKey("latitude", .real, isNullable: true, needsLocationScope: true),
    PropertyKey("longitude", .real, isNullable: true, needsLocationScope: true),
  ]

  /// The keys for predicates and sort descriptors over collections.
  package static let collection = PropertySchema([
    PropertyKey("localIdentifier", .string),
    PropertyKey("title", .string, aliases: ["localizedTitle"], isNullable: true),
    PropertyKey("type", .enumeration(.collectionType), aliases: ["assetCollectionType", "collectionListType"]),
    PropertyKey(
      "subtype", .enumeration(.collectionSubtype), aliases: ["assetCollectionSubtype", "collectionListSubtype"]),
    PropertyKey("startDate", .date, isNullable: true),
    PropertyKey("endDate", .date, isNullable: true),
    PropertyKey("estimatedAssetCount", .integer),
    PropertyKey("estimatedCollectionCount", .integer),
  ])
}

extension Enumeration {
  /// PHAssetMediaType.
  static let mediaType = Enumeration(
    prefix: "PHAssetMediaType",
    [MediaType.unknown, .image, .video, .audio].enumerated().map { ($0.element.rawValue, Int64($0.offset)) })

  /// PHAssetMediaSubtype.
  static let mediaSubtypes = Enumeration(
    prefix: "PHAssetMediaSubtype", MediaSubtypes.named.map { ($0.name, $0.subtype.rawValue) })

  /// PHAssetCollectionType, and the folder of PHCollectionListType without its number, which is that of smart albums.
  static let collectionType = Enumeration(
    Enumeration(prefix: "PHAssetCollectionType", [("album", 1), ("smartAlbum", 2), ("moment", 3)]).cases
      + Enumeration(prefix: "PHCollectionListType", [("folder", nil)]).cases)

  /// PHAssetCollectionSubtype; also, without numbers, PHCollectionListSubtype, whose numbers are already used, and the
  /// one smart album that PhotoKit does not have.
  package static let collectionSubtype = Enumeration(
    Enumeration(
      prefix: "PHAssetCollectionSubtype",
      [
        ("albumRegular", 2), ("albumSyncedEvent", 3), ("albumSyncedFaces", 4), ("albumSyncedAlbum", 5),
        ("albumImported", 6), ("albumMyPhotoStream", 100), ("albumCloudShared", 101), ("smartAlbumGeneric", 200),
        ("smartAlbumPanoramas", 201), ("smartAlbumVideos", 202), ("smartAlbumFavorites", 203),
        ("smartAlbumTimelapses", 204), ("smartAlbumAllHidden", 205), ("smartAlbumRecentlyAdded", 206),
        ("smartAlbumBursts", 207), ("smartAlbumSlomoVideos", 208), ("smartAlbumUserLibrary", 209),
        ("smartAlbumSelfPortraits", 210), ("smartAlbumScreenshots", 211), ("smartAlbumDepthEffect", 212),
        ("smartAlbumLivePhotos", 213), ("smartAlbumAnimated", 214), ("smartAlbumLongExposures", 215),
        ("smartAlbumUnableToUpload", 216), ("smartAlbumRAW", 217), ("smartAlbumCinematic", 218),
        ("smartAlbumSpatial", 219), ("smartAlbumScreenRecordings", 220), ("smartAlbumHDR", nil),
      ]
    ).cases
      + Enumeration(
        prefix: "PHCollectionListSubtype",
        [("momentListCluster", nil), ("momentListYear", nil), ("regularFolder", nil)]
      ).cases)
}
