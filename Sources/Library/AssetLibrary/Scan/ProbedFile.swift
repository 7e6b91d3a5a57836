import LibraryFolder
import PhotoModel

/// The result of probing one file.
struct ProbedFile: Sendable {
  enum Finding: Sendable {
    case media(ProbedMedia)
    /// Not a picture or video, or unreadable: the reason, for display.
    case unreadable(String)
  }

  let path: [UInt8]
  /// The identity of the file when it was read; `.unknown`, which matches no file, if it could not be opened.
  let identity: FileIdentity
  let finding: Finding
  /// The row of the missing file that this file was recognised as.
  var movedFromRow: Int64?

  init(path: [UInt8], identity: FileIdentity, finding: Finding) {
    self.path = path
    self.identity = identity
    self.finding = finding
  }
}

/// The properties of a picture or video, read from its file.
struct ProbedMedia: Sendable {
  var uniformTypeIdentifier: String
  var mediaType: MediaType
  var mediaSubtypes: MediaSubtypes
  var isRAW: Bool
  var pixelSize: PixelSize
  var orientation: Orientation
  var hasAlpha: Bool
  var durationSeconds: Double
  var date: CreationDate
  var modificationDate: Timestamp
  var location: Location?
  var cameraMake: String?
  var cameraModel: String?
  var thumbnail: ByteRange?
  var fingerprint: FileFingerprint?
  /// Apple's content identifier, the same for the picture and the video of a live photo.
  var contentIdentifier: String?
  /// The burst identifier in the file.
  var burst: String?
}

/// When a picture was taken, and the source of that date.
struct CreationDate: Sendable, Hashable {
  var moment: Timestamp
  var source: DateSource
  /// Whether the date has fractions of a second.
  var hasFraction = false

  /// Whether the date comes from the contents of the file.
  var isEmbedded: Bool { source != .file }
}
