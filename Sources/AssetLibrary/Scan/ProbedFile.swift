import LibraryFolder
import PhotoModel

/// What a scan found out about one file.
struct ProbedFile: Sendable {
  enum Finding: Sendable {
    case media(ProbedMedia)
    /// No picture or video, or not readable: the reason, for people.
    case unreadable(String)
  }

  let path: [UInt8]
  /// What the file was when it was looked at; for one that could not be, an identity that no file has.
  let identity: FileIdentity
  let finding: Finding
  /// The row of a file that is gone from where it was, and that this one is.
  var formerRow: Int64?

  init(path: [UInt8], identity: FileIdentity, finding: Finding) {
    self.path = path
    self.identity = identity
    self.finding = finding
  }
}

/// A picture's or video's properties as its file tells them.
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
  var fingerprint: Fingerprint?
  /// Apple's identifier of a live photo, the same for its picture and its video.
  var contentIdentifier: String?
  /// What the file itself says that its burst is called.
  var burst: String?
}

/// When a picture was taken, and how that is known.
struct CreationDate: Sendable, Hashable {
  var moment: Timestamp
  var source: DateSource
  /// The file tells fractions of seconds.
  var hasFraction = false

  /// The file itself names it.
  var isTold: Bool { source != .file }
}
