/// Limits of a container's header. Over a limit, the file is refused or the rest of it is ignored. No valid file comes
/// near them: they limit the cost of a hostile file.
enum ContainerLimits {
  /// Size of each read after the first window: most structures there are small.
  static let windowBytes = 8192
  /// The box of an ISO file that holds all needed tables is read at once if it is at most this long.
  static let wholeBoxBytes = 65_536
  /// Maximum number of boxes of an ISO file that are examined, over all levels. Each level has its own loop, so none
  /// nests deeper than that.
  static let boxes = 4096
  /// Maximum bytes of one table of an ISO file.
  static let tableBytes = 1 << 20
  /// Maximum number of boxes that are examined after the one that holds all needed tables.
  static let trailingBoxes = 16
  /// Maximum depth of derived pictures (pictures made from pictures that are themselves made from others).
  static let derivations = 4
  /// Maximum number of extents of one item.
  static let extents = 64
  /// Maximum number of tiles of a picture, and bytes of its codec's parameter sets.
  static let tiles = 2048
  static let parameterBytes = 16_384
  /// Maximum number of smaller pictures of a HEIF file that are considered.
  static let thumbnails = 4
  /// Maximum number of strips or tiles of a RAW file whose positions are compared with the length of the file.
  static let sensorParts = 4096
  /// Maximum number of smaller versions of a TIFF's page that are considered.
  static let reductions = 16
  /// Maximum number of tracks of a movie.
  static let tracks = 64
  /// Maximum number of runs of equally long frames from which a frame rate is computed.
  static let frameRuns = 256
  /// Maximum number of entries of a movie's sample tables that are read for one frame, over all tables.
  static let sampleEntries = 1 << 21
  /// Maximum bytes of a movie's coded frame.
  static let sampleBytes = 64 << 20
  /// Maximum number of a movie's fragments that are read for a frame: without an index, from the first one on.
  static let fragments = 256
  /// Maximum bytes that are read for the duration of a fragmented movie that does not state it. A fragment, or an index
  /// of fragments, counts as much as one read of a remote file and its own length, any other box less. Where the limit
  /// ends the search, the duration of the rest is estimated.
  static let durationBytes = 512 << 10
  static let fragmentReadBytes = 16 << 10
  static let boxReadBytes = 2 << 10
  /// Number of key frames among which the first one that is not nearly black is chosen.
  static let posterFrames = 6
  /// The same for Motion JPEG: more, because its frames are compared only by their lengths.
  static let posterJPEGs = 100
  /// Seconds within which these frames must be.
  static let posterSeconds = 60.0
  /// Maximum number of runs of a movie's edits.
  static let edits = 256
  /// Maximum number of keys of a movie's metadata.
  static let keys = 256
  /// Maximum bytes of one value of a movie's metadata, or of a TIFF's directories.
  static let valueBytes = 1024
  /// Maximum bytes of one value when all values are collected for display.
  static let assembledValueBytes = 16_384
  /// Maximum number of directories of a TIFF.
  static let directories = 32
  /// Maximum number of strips and tiles of a TIFF's page, and of samples of one of its pixels.
  static let stripsAndTiles = 1 << 20
  static let samples = 64
  /// Maximum bytes of the tables that the JPEGs in a TIFF share.
  static let jpegTables = 1 << 16
  /// Maximum number of places in a RAW file that are examined for a JPEG; further ones are ignored.
  static let previews = 16
  /// Maximum number of entries of one directory.
  static let entries = 2048
  /// Maximum bytes of a maker note from which facts are read.
  static let makerNoteBytes = 32_768
  /// Maximum number of chunks of a WebP: an animation has one for each picture.
  static let chunks = 1024
  /// Maximum number of parts of a JPEG XL codestream: all of them are sent to its decoder at once.
  static let codestreamParts = 1024
  /// Maximum bytes of a JPEG XL codestream's header, and extra channels that it describes.
  static let codestreamHeaderBytes = 4096
  static let extraChannels = 64
  /// Maximum bytes before the first picture of a GIF.
  static let extensionBytes = 1 << 18
  /// Maximum bytes of the first picture of a GIF that are skipped to find the second one, and the size of each read
  /// there.
  static let skippedPictureBytes = 1 << 20
  static let pictureWindowBytes = 1 << 17
}
