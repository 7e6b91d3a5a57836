import PhotoModel

/// The properties of a picture or video, read from its file.
package struct ProbedMedia: Sendable {
  package var uniformTypeIdentifier: String
  package var mediaType: MediaType
  package var mediaSubtypes: MediaSubtypes
  package var isRAW: Bool
  /// False for a RAW file without a preview, whose sensor data must be developed, and for a video without a frame that
  /// can be decoded.
  package var hasPicture = true
  package var isSelfPortrait = false
  package var isAnimated = false
  package var isLongExposure = false
  /// Upright: after the orientation is applied.
  package var pixelSize: PixelSize
  var orientation: Orientation
  var hasAlpha: Bool
  /// 0 for a picture.
  package var durationSeconds: Double
  package var date: CreationDate
  /// When the file was last written.
  var modificationDate: Timestamp
  package var location: Location?
  package var cameraMake: String?
  package var cameraModel: String?
  package var descriptive = DescriptiveMetadata()
  package var regions: [PictureRegion] = []
  /// The bytes of the embedded thumbnail in the file.
  package var thumbnail: ByteRange?
  /// The bytes of the video of a motion photo in the file.
  package var video: ByteRange?
  package var fingerprint: FileFingerprint?
  /// Apple's content identifier, the same for the picture and the video of a live photo.
  package var contentIdentifier: String?
  /// The burst identifier in the file.
  var burst: String?
  /// The edit that another program left in the file.
  package var edit: ForeignEdit?

  package init(
    uniformTypeIdentifier: String, mediaType: MediaType, mediaSubtypes: MediaSubtypes, isRAW: Bool,
    pixelSize: PixelSize, orientation: Orientation, hasAlpha: Bool, durationSeconds: Double, date: CreationDate,
    modificationDate: Timestamp, location: Location? = nil, cameraMake: String? = nil, cameraModel: String? = nil,
    thumbnail: ByteRange? = nil, fingerprint: FileFingerprint? = nil, contentIdentifier: String? = nil,
    burst: String? = nil
  ) {
    self.uniformTypeIdentifier = uniformTypeIdentifier
    self.mediaType = mediaType
    self.mediaSubtypes = mediaSubtypes
    self.isRAW = isRAW
    self.pixelSize = pixelSize
    self.orientation = orientation
    self.hasAlpha = hasAlpha
    self.durationSeconds = durationSeconds
    self.date = date
    self.modificationDate = modificationDate
    self.location = location
    self.cameraMake = cameraMake
    self.cameraModel = cameraModel
    self.thumbnail = thumbnail
    self.fingerprint = fingerprint
    self.contentIdentifier = contentIdentifier
    self.burst = burst
  }
}

/// When a picture was taken, and the source of that date.
package struct CreationDate: Sendable, Hashable {
  package var moment: Timestamp
  package var source: DateSource
  /// Whether the date has fractions of a second.
  var hasFraction: Bool
  /// Minutes east of UTC at the place and time of the picture; `nil` if the file does not give it.
  package var utcOffset: Int?

  package init(moment: Timestamp, source: DateSource, hasFraction: Bool = false, utcOffset: Int? = nil) {
    self.moment = moment
    self.source = source
    self.utcOffset = utcOffset
    self.hasFraction = hasFraction
  }

  /// Whether the date comes from the contents of the file.
  var isEmbedded: Bool { source != .file }
}
