import MediaMetadata
import PhotoModel

/// A picture that is coded as equal tiles, row by row; most pictures are one tile.
package struct CodedTiles: Sendable, Hashable {
  /// Maximum number of workers that decode the tiles at the same time. A render reserves memory for this many.
  package static let workersAtOnce = 4

  package let configuration: TileConfiguration
  package let tileSize: PixelSize
  package let columns: Int
  package let rows: Int
  /// The size of all tiles together, without what reaches over the right and the bottom edge.
  package let size: PixelSize
  /// The data of each tile in the file; tile (column, row) at `row * columns + column`.
  package let tiles: [[ByteRange]]
  /// Further pictures like the only tile: the first one of all that is not nearly black is shown.
  package var alternatives: [[ByteRange]] = []

  package init(
    configuration: TileConfiguration, tileSize: PixelSize, columns: Int = 1, rows: Int = 1, size: PixelSize,
    tiles: [[ByteRange]]
  ) {
    self.configuration = configuration
    self.tileSize = tileSize
    self.columns = columns
    self.rows = rows
    self.size = size
    self.tiles = tiles
  }
}

/// How a HEIF file's picture or a video's frame is coded: everything that a decoder needs. The reader has checked that
/// the tiles cover the picture, that their data is in the file, and that the limits hold.
package struct HEIFPicture: Sendable, Hashable {
  package let color: CodedTiles
  /// A picture of the same size whose luma is the alpha.
  package let alpha: CodedTiles?
  /// Whether the colours are multiplied by the alpha.
  package var isPremultiplied = false
  package let conversion: YCbCrConversion
  /// The part that is shown, in pixels of the decoded picture.
  package let crop: PixelRect
  package let orientation: Orientation
  package let embeddedProfile: EmbeddedProfile?
  /// The colours without a profile; `nil` is sRGB.
  package let calibration: ColorCalibration?
  /// Whether it stands in for a larger picture of the same file.
  package var isThumbnail = false
  /// Smaller pictures of the same file that show the same, smallest first; with the same colours and turn.
  package var thumbnails: [HEIFPicture] = []
  /// The picture's gain map.
  var gainMap: HEIFGainMap?

  package init(
    color: CodedTiles, alpha: CodedTiles? = nil, conversion: YCbCrConversion, crop: PixelRect? = nil,
    orientation: Orientation = .topLeft, embeddedProfile: EmbeddedProfile? = nil, calibration: ColorCalibration? = nil
  ) {
    self.color = color
    self.alpha = alpha
    self.conversion = conversion
    self.crop = crop ?? PixelRect(color.size)
    self.orientation = orientation
    self.embeddedProfile = embeddedProfile
    self.calibration = calibration
  }

  /// Whether a decoder's rows have 16 bits a channel.
  package var isDeep: Bool { color.configuration.bitDepth > 8 }
}

/// A gain map in a HEIF file, stored in the same orientation as its picture.
struct HEIFGainMap: Sendable, Hashable {
  /// `nil` for Apple's.
  let metadata: GainMapMetadata?
  @Boxed private(set) var picture: HEIFPicture

  init(_ picture: HEIFPicture, _ metadata: GainMapMetadata?) {
    _picture = Boxed(wrappedValue: picture)
    self.metadata = metadata
  }
}
