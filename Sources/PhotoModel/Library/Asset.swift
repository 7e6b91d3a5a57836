/// The name of an asset or a collection: opaque, URL-safe, stable over renames and moves of its file.
package struct LocalIdentifier: Sendable, Hashable, CustomStringConvertible {
  package let rawValue: String

  package init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  package var description: String { rawValue }
}

/// An opaque, keyed digest of a file's identity and its adjustments: it changes exactly when pixels may.
package struct ContentVersion: Sendable, Hashable, CustomStringConvertible {
  package let rawValue: String

  package init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  package var description: String { rawValue }
}

/// PHAssetMediaType.
package enum MediaType: String, Sendable, Hashable, CaseIterable {
  case unknown, image, video, audio

  /// PhotoKit's number: its place among the cases.
  package var number: Int {
    switch self {
    case .unknown: 0
    case .image: 1
    case .video: 2
    case .audio: 3
    }
  }

  package init?(number: Int) {
    guard let type = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = type
  }
}

/// A place on earth, in degrees (WGS 84), and metres above the sea.
package struct Location: Sendable, Hashable {
  package var latitude: Double
  package var longitude: Double
  package var altitude: Double?

  package init(latitude: Double, longitude: Double, altitude: Double? = nil) {
    self.latitude = latitude
    self.longitude = longitude
    self.altitude = altitude
  }
}

/// A moment in milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Sendable, Hashable, Comparable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool { lhs.milliseconds < rhs.milliseconds }
}

/// How a creation date came to be known, from the surest to the least sure.
package enum DateSource: String, Sendable, Hashable {
  /// Somebody said so, whatever the file says.
  case user
  /// The file names a date and its offset from UTC.
  case metadata
  /// The file names a date without an offset; the library's configured zone was assumed.
  case metadataInLibraryZone
  /// The file has no metadata of its own; its container, as of a video, names a moment.
  case container
  /// The file names none; it is the file's own modification date.
  case file
}

/// What a picture is in its burst: many pictures taken at once, of which one stands for all.
package struct Burst: Sendable, Hashable {
  /// The same for all pictures of one burst.
  package var identifier: String
  /// This is the one that stands for all.
  package var isRepresentative: Bool
  package var selectionTypes: BurstSelectionTypes

  package init(identifier: String, isRepresentative: Bool, selectionTypes: BurstSelectionTypes) {
    self.identifier = identifier
    self.isRepresentative = isRepresentative
    self.selectionTypes = selectionTypes
  }
}

/// A photograph as the catalogue knows it: an immutable snapshot.
package struct Asset: Sendable, Hashable {
  package var localIdentifier: LocalIdentifier
  package var contentVersion: ContentVersion
  /// The token of the last change to the asset's properties.
  package var revision: String
  package var mediaType: MediaType
  package var mediaSubtypes: MediaSubtypes = []
  /// Uniform type identifier of the original, such as `public.jpeg`.
  package var uniformTypeIdentifier: String
  /// The size of the upright picture.
  package var pixelSize: PixelSize
  /// Of a video, in seconds; 0 of everything else.
  package var duration: Double = 0
  package var orientation: Orientation
  package var hasAlpha: Bool
  package var creationDate: Timestamp
  package var creationDateSource: DateSource
  package var modificationDate: Timestamp
  package var location: Location?
  package var cameraMake: String?
  package var cameraModel: String?
  package var isFavorite: Bool
  package var isHidden: Bool
  package var hasAdjustments = false
  package var burst: Burst?
  /// Any of its files is a camera's raw data: its own, or one beside it.
  package var isRAW = false
  package var original: OriginalFile
  /// A ThumbHash of this content, 25 bytes at most; `nil` until it is made, or where it can't be.
  package var placeholder: [UInt8]?

  package init(
    localIdentifier: LocalIdentifier, contentVersion: ContentVersion, revision: String, mediaType: MediaType,
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
