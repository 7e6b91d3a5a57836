// What a file of any kind that is indexed says of itself: its size, which way up it is, when, where and with what it was
// taken, and how long it runs. Here are the readers of containers that nothing decodes yet, a folder for each family.
//
// They are our own because what the catalogue wants lies in a few hundred bytes near a file's start or end, at places
// that each format's first pages describe. libheif, libraw, libtiff or libav would bring their decoders along, and with
// those megabytes and a wide surface, for the sake of these few numbers; and they would read far more of each file.

import MediaMetadata
import PhotoModel

/// What a file says of itself before the first pixel or sample.
package struct MediaHeader: Sendable, Hashable {
  package var format: MediaFormat
  /// As the rows are stored, before the orientation is applied, less what the container cuts off: a HEIF's `clap`, a DNG's default crop.
  package var storedSize: PixelSize
  /// What the container says, which is not always what its EXIF says: see ``HEIFHeader``.
  package var orientation = Orientation.topLeft
  package var hasAlpha = false
  /// How long a video runs; 0 for a still.
  package var durationSeconds = 0.0
  /// When a video was made, by its container: QuickTime's creation date with its offset, else the movie's creation time,
  /// which is in UTC (`offsetMinutes` 0). `nil` where it says nothing.
  package var containerDate: EXIFDate?
  package var exif = EXIFSummary()
  /// Where a smaller JPEG of the picture lies in the file.
  package var thumbnail: ByteRange?
  /// Where metadata lies in the file, if it lies there in one piece: a TIFF's directories don't.
  package var blocks: [MetadataBlock] = []
  package var facts = MediaFacts()
  /// EXIF where it lies in the file in pieces, put together: what was asked for.
  private(set) var gatheredEXIF: TIFFMetadata?
  /// What was odd about the metadata.
  package var warnings: CodecWarnings?

  /// The size of the upright picture.
  package var uprightSize: PixelSize { orientation.apply(to: storedSize) }

  init(format: MediaFormat, storedSize: PixelSize) {
    self.format = format
    self.storedSize = storedSize
  }

  /// Reads a header without touching a pixel, in a few small reads.
  ///
  /// - Throws: ``CodecError``; `unsupported` for a file of another kind, `truncated` where it ends too early,
  ///   `limitExceeded` where it has more of something than any file needs.
  package static func read(from source: any ByteSource, limits: CodecLimits) throws(CodecError) -> MediaHeader {
    try read(from: source, limits: limits, .catalogue)
  }

  /// - Parameter scope: how much of EXIF is gathered where a container has it in pieces.
  static func read(
    from source: any ByteSource, limits: CodecLimits, _ scope: TIFFMetadata.Scope
  ) throws(CodecError) -> MediaHeader {
    var reader = HeaderReader(source: source)
    let start = try reader.bytes(at: 0, count: FileType.bytes)
    guard !start.isEmpty else { throw .truncated(offset: 0) }
    guard let format = MediaFormat(firstBytes: start) else { throw .unsupported(unknown) }
    if let format = format.decoder { return MediaHeader(try ImageHeader.read(&reader, format, limits: limits)) }
    reader.windowBytes = ContainerLimits.windowBytes
    let header: MediaHeader
    switch format {
    case .jpeg, .png: preconditionFailure("read above: these have a decoder")
    case .gif: header = try GIFHeader.read(&reader)
    case .webp: header = try WebPHeader.read(&reader)
    case .tiff, .dng, .cr2, .nef, .arw: header = try TIFFHeader.read(&reader, scope)
    case .heic, .heif, .avif, .cr3, .quickTime, .mpeg4:
      guard let type = FileType(firstBytes: start) else { throw .truncated(offset: reader.size) }
      header = try BMFFHeader.read(reader, type, scope)
    }
    try limits.check(header.storedSize)
    return header
  }

  /// Takes EXIF that was put together of a container's directories, and the orientation that it tells.
  mutating func take(_ metadata: TIFFMetadata) {
    guard let block = metadata.block else { return }
    take(exif: block[...], at: nil, length: block.count)
    orientation = exif.orientation
    gatheredEXIF = metadata.scope == .everything ? metadata : nil
  }

  /// What kind of file that is, for a sentence; `nil` if it is none that is known.
  static func noun(of source: any ByteSource) -> String? {
    do throws(CodecError) {
      return try read(from: source, limits: CodecLimits().headerAlone).format.noun
    } catch {
      if case .unsupported(let what) = error, what != unknown { return what }
      // Damaged or not, that is what it begins as.
      var reader = HeaderReader(source: source)
      let start = try? reader.bytes(at: 0, count: FileType.bytes)
      return start.flatMap(MediaFormat.init(firstBytes:))?.noun
    }
  }

  private static let unknown = "no kind of file that is known"

  /// What a picture's own header says.
  init(_ header: ImageHeader) {
    switch header.format {
    case .jpeg: format = .jpeg
    case .png: format = .png
    }
    storedSize = header.storedSize
    orientation = header.orientation
    hasAlpha = header.hasAlpha
    exif = header.metadata
    thumbnail = header.embeddedThumbnail
    blocks = header.blocks
    facts = header.facts
    blocks = header.blocks
    facts = header.facts
    warnings = header.warnings
  }
}
