/// An asset in the catalogue: an immutable snapshot.
package struct Asset: Sendable, Hashable {
  package var localIdentifier: LocalIdentifier
  package var contentVersion: ContentVersion
  /// The token of the last change to the asset's properties.
  package var revision: ChangeToken
  package var mediaType: MediaType
  package var mediaSubtypes: MediaSubtypes = []
  /// Uniform type identifier of the original, such as `public.jpeg`.
  package var uniformTypeIdentifier: String
  /// The size of the upright picture, after adjustments.
  package var pixelSize: PixelSize
  /// The duration of a video in seconds; 0 for other media.
  package var duration: Double = 0
  package var orientation: Orientation
  package var hasAlpha: Bool
  package var creationDate: Timestamp
  package var creationDateSource: DateSource
  /// Minutes east of UTC where and when it was taken; `nil` if unknown.
  package var utcOffset: Int?
  /// When the asset last changed in any way.
  package var modificationDate: Timestamp
  /// When the primary file was last written.
  package var fileModificationDate = Timestamp(milliseconds: 0)
  /// When the asset was added to the library.
  package var addedDate = Timestamp(milliseconds: 0)
  package var location: Location?
  package var cameraMake: String?
  package var cameraModel: String?
  package var descriptive: DescriptiveMetadata {
    get { stored?.value ?? DescriptiveMetadata() }
    set { stored = newValue == DescriptiveMetadata() ? nil : StoredDescription(newValue) }
  }
  /// A reference, because most assets have no descriptions and image requests copy assets often.
  private var stored: StoredDescription?
  /// The parts that show something in particular, from the file or set by a user. Unlike ``descriptive``, they decide
  /// on pictures: see ``CropAnchor/auto``. In the current picture: adjustments move them.
  package var regions: [PictureRegion] {
    get { storedRegions?.value ?? [] }
    set { storedRegions = newValue.isEmpty ? nil : StoredRegions(newValue) }
  }
  /// A reference too, because most assets have no regions.
  private var storedRegions: StoredRegions?
  /// The most salient point of the current content's pixels; `nil` if it was not computed yet.
  package var saliency: UnitPoint?
  /// The properties in ``descriptive`` and ``regions`` that a user set.
  package var userFields: UserFields = []
  /// Whether a user set or removed ``location``.
  package var hasUserLocation = false
  package var isFavorite: Bool
  package var isHidden: Bool
  /// Whether its originals are kept on this machine, if the library is a remote one.
  package var keepsOriginal = false
  /// Whether it has adjustments, also if they are another program's and can't be rendered.
  package var hasAdjustments = false
  /// The adjustments that are rendered; `nil` if there are none.
  package var adjustments: Adjustments?
  /// The picture before its adjustments; `nil` if it has none.
  package var beforeAdjustments: UnadjustedPicture?
  /// When adjustments were last set or reverted; `nil` if never.
  package var adjustmentDate: Timestamp?
  package var burst: Burst?
  /// Whether one of its files is a raw file.
  package var isRAW = false
  /// Whether it was taken with a front camera.
  package var isSelfPortrait = false
  /// Whether its file contains several pictures that play one after the other.
  package var isAnimated = false
  /// Whether it was exposed for a second or longer.
  package var isLongExposure = false
  /// Whether a picture can be made of it: its format has a decoder, and its content was not found to be unreadable.
  package var isRenderable = true
  package var original: OriginalFile
  /// A ThumbHash of the current content, at most 25 bytes; `nil` if none was made yet or none can be made. The
  /// catalogue refuses more than 64 bytes.
  package var placeholder: [UInt8]?

  package init(
    localIdentifier: LocalIdentifier, contentVersion: ContentVersion, revision: ChangeToken, mediaType: MediaType,
    uniformTypeIdentifier: String, pixelSize: PixelSize, orientation: Orientation, hasAlpha: Bool,
    creationDate: Timestamp, creationDateSource: DateSource, modificationDate: Timestamp, location: Location?,
    cameraMake: String?, cameraModel: String?, isFavorite: Bool, isHidden: Bool, original: OriginalFile,
    placeholder: [UInt8]? = nil
  ) {
    self.localIdentifier = localIdentifier
    self.contentVersion = contentVersion
    self.revision = revision
    self.mediaType = mediaType
    self.uniformTypeIdentifier = uniformTypeIdentifier
    self.pixelSize = pixelSize
    self.orientation = orientation
    self.hasAlpha = hasAlpha
    self.creationDate = creationDate
    self.creationDateSource = creationDateSource
    self.modificationDate = modificationDate
    self.location = location
    self.cameraMake = cameraMake
    self.cameraModel = cameraModel
    self.isFavorite = isFavorite
    self.isHidden = isHidden
    self.original = original
    self.placeholder = placeholder
  }
}

/// A picture before its adjustments.
package struct UnadjustedPicture: Sendable, Hashable {
  var contentVersion: ContentVersion
  /// Upright.
  package var pixelSize: PixelSize
  package var regions: [PictureRegion]

  package init(contentVersion: ContentVersion, pixelSize: PixelSize, regions: [PictureRegion] = []) {
    self.contentVersion = contentVersion
    self.pixelSize = pixelSize
    self.regions = regions
  }
}

extension Asset {
  /// When the picture last changed, in seconds since 1970: its file or its adjustments.
  package var pictureModificationSeconds: Int64 {
    max(original.identity.modified / 1_000_000_000, (adjustmentDate?.milliseconds ?? .min) / 1000)
  }

  /// The size of the upright picture before adjustments.
  package var unadjustedPixelSize: PixelSize { beforeAdjustments?.pixelSize ?? pixelSize }

  /// The asset without its adjustments, with the content version of the unadjusted picture.
  package var unadjusted: Asset {
    guard hasAdjustments else { return self }
    var asset = self
    if let before = beforeAdjustments {
      asset.contentVersion = before.contentVersion
      asset.pixelSize = before.pixelSize
      asset.regions = before.regions
      // The placeholder and the saliency point belong to the adjusted picture.
      (asset.placeholder, asset.saliency) = (nil, nil)
    }
    (asset.adjustments, asset.beforeAdjustments, asset.hasAdjustments) = (nil, nil, false)
    return asset
  }

  /// The asset for work on its pictures. Work may be kept for thousands of assets, and descriptions may be long.
  package var withoutDescription: Asset {
    var asset = self
    asset.stored = nil
    return asset
  }
}

/// A reference to descriptions that never change.
private final class StoredDescription: Sendable, Hashable {
  let value: DescriptiveMetadata

  init(_ value: DescriptiveMetadata) { self.value = value }

  static func == (one: StoredDescription, other: StoredDescription) -> Bool { one.value == other.value }

  func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A reference to regions that never change.
private final class StoredRegions: Sendable, Hashable {
  let value: [PictureRegion]

  init(_ value: [PictureRegion]) { self.value = value }

  static func == (one: StoredRegions, other: StoredRegions) -> Bool { one.value == other.value }

  func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
