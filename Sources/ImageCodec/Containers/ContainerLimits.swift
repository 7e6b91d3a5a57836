/// What a container's header may have of anything before it is refused, or the rest of it left alone. No file that is any
/// good comes near: these numbers bound what a hostile one costs.
enum ContainerLimits {
  /// What is read at once behind the first window: most of what lies there is small.
  static let windowBytes = 8192
  /// The box of an ISO file that holds all that is looked at is read at once if it is no longer.
  static let wholeBoxBytes = 65_536
  /// Boxes of an ISO file that are looked at, all levels together. Each level has its own loop, so none nests deeper than that.
  static let boxes = 4096
  /// One table of an ISO file, in bytes.
  static let tableBytes = 1 << 20
  /// Boxes behind the one that holds all that is looked at.
  static let trailingBoxes = 16
  /// Pictures that are made of pictures that are made of…
  static let derivations = 4
  /// Extents of one item.
  static let extents = 64
  /// Tracks of a movie.
  static let tracks = 64
  /// Runs of equally long frames that a frame rate is told from.
  static let frameRuns = 256
  /// Keys of a movie's metadata.
  static let keys = 256
  /// One value of a movie's metadata, or of a TIFF's directories.
  static let valueBytes = 1024
  /// Of a value where all of them are gathered for a reader.
  static let gatheredValueBytes = 16_384
  /// Directories of a TIFF.
  static let directories = 32
  /// Entries of one directory.
  static let entries = 2048
  /// A maker note that facts are read from.
  static let makerNoteBytes = 32_768
  /// Chunks of a WebP: an animation has one for each picture.
  static let chunks = 1024
  /// What comes before the first picture of a GIF, in bytes.
  static let extensionBytes = 1 << 18
}
