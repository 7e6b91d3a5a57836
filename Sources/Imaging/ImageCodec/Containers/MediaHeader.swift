// The header of any indexed file: its size and orientation, when, where and with which device it was taken, and its
// duration. The folders beside this file read the containers that photod parses itself, one folder for each family.
//
// These readers are our own because the catalogue needs only a few hundred bytes near a file's start or end, at
// positions that each format's specification defines early on. libheif, libraw, libtiff or libav would add megabytes of
// decoders and a large attack surface for these few values, and would read much more of each file.

import MediaMetadata
import PhotoModel

/// The facts in a file before its first pixel or sample.
package struct MediaHeader: Sendable, Hashable {
  package var format: MediaFormat
  /// The size as stored, before the orientation is applied, without the parts that the container crops: a HEIF's
  /// `clap`, a DNG's default crop.
  package var storedSize: PixelSize
  /// The container's orientation, which can differ from the EXIF orientation: see ``HEIFHeader``.
  package var orientation = Orientation.topLeft
  package var hasAlpha = false
  /// Duration of a video; 0 for a still.
  package var durationSeconds = 0.0
  /// A video's creation dates from its container, those that are stated: QuickTime's creation date with its UTC offset,
  /// then the creation times of the movie and of its track, which are in UTC (`offsetMinutes` 0).
  package var containerDates: [EXIFDate] = []
  /// Whether a RAW file has all colours for each pixel instead of a mosaic: a linear DNG.
  var isLinearSensor = false
  /// How a video's frames are stored; `nil` for a still.
  package var movie: MovieFacts?
  package var exif = EXIFSummary()
  /// The position of a smaller JPEG of the picture in the file.
  package var thumbnail: ByteRange?
  /// The positions of metadata blocks that are in one piece; a TIFF's directories are not.
  package var blocks: [MetadataBlock] = []
  @Boxed package var facts = MediaFacts()
  /// EXIF that is stored in pieces, assembled: the requested values.
  private(set) var assembledEXIF: TIFFMetadata?
  /// Warnings about the metadata.
  package var warnings: CodecWarnings?

  /// The first of ``containerDates``.
  package var containerDate: EXIFDate? { containerDates.first }

  /// The size of the upright picture.
  package var uprightSize: PixelSize { orientation.apply(to: storedSize) }

  init(format: MediaFormat, storedSize: PixelSize) {
    self.format = format
    self.storedSize = storedSize
  }

  /// Reads a header without reading pixels, in a few small reads.
  ///
  /// - Throws: ``CodecError``; `unsupported` for a file of another kind, `truncated` if it ends too early,
  ///   `limitExceeded` if it has more of something than any real file needs.
  package static func read(from source: any ByteSource, limits: CodecLimits) throws(CodecError) -> MediaHeader {
    try read(from: source, limits: limits, .catalogue)
  }

  /// - Parameter scope: which EXIF values are collected if a container stores them in pieces.
  static func read(
    from source: any ByteSource, limits: CodecLimits, _ selection: TIFFMetadata.Selection
  ) throws(CodecError) -> MediaHeader {
    var reader = HeaderReader(source: source)
    let start = try reader.bytes(at: 0, count: FileType.bytes)
    guard !start.isEmpty else { throw .truncated(offset: 0) }
    guard let format = MediaFormat(firstBytes: start) else { throw .unsupported(unknown) }
    let header: MediaHeader
    switch format {
    case .jpeg: header = MediaHeader(try JPEGHeader.readWithFacts(&reader, limits: limits), format)
    case .png: header = MediaHeader(try PNGHeader.readWithFacts(&reader, limits: limits), format)
    default:
      reader.windowBytes = ContainerLimits.windowBytes
      header = try contained(&reader, source, format, start, limits, selection)
    }
    try limits.check(header.storedSize)
    return header
  }

  private static func contained(
    _ reader: inout HeaderReader, _ source: any ByteSource, _ format: MediaFormat, _ start: ArraySlice<UInt8>,
    _ limits: CodecLimits, _ selection: TIFFMetadata.Selection
  ) throws(CodecError) -> MediaHeader {
    switch format {
    case .gif: return try GIFHeader.read(&reader)
    case .bmp: return try BMPHeader.media(&reader)
    case .webp: return try WebPHeader.read(&reader)
    case .jxl: return try JXLHeader.read(&reader)
    case .tiff, .dng, .cr2, .nef, .arw, .orf, .pef: return try TIFFHeader.read(&reader, selection)
    case .rw2:
      var header = try TIFFHeader.read(&reader, selection)
      // Older cameras of Panasonic store most metadata only in the JPEG.
      if !header.exif.hasCertainDate,
        let jpeg = try RAWPreviews.find(in: source, limits: limits.headerOnly)
          .last(where: { $0.header.metadata.hasCertainDate })
      {
        try header.parse(metadataOf: jpeg.range, in: source, limits: limits)
      }
      return header
    case .raf: return try RAFHeader.read(&reader, source, limits: limits)
    // JPEG and PNG are read by the caller.
    case .jpeg, .png: throw .unsupported(format.noun)
    case .heic, .heif, .avif, .cr3, .quickTime, .mpeg4:
      guard let type = FileType(firstBytes: start) else { throw .truncated(offset: reader.size) }
      return try BMFFHeader.read(reader, type, selection)
    }
  }

  /// Adds EXIF that was assembled from a container's directories, and the orientation that it contains.
  mutating func add(_ metadata: TIFFMetadata) {
    guard let block = metadata.block else { return }
    parse(exif: block[...], at: nil, length: block.count)
    orientation = exif.orientation
    assembledEXIF = metadata.selection == .everything ? metadata : nil
  }

  /// The kind of a file, as a noun for messages; `nil` if it is unknown.
  static func noun(of source: any ByteSource) -> String? {
    do throws(CodecError) {
      return try read(from: source, limits: CodecLimits().headerOnly).format.noun
    } catch {
      if case .unsupported(let what) = error, what != unknown { return what }
      // The kind follows from the first bytes, even if the rest is damaged.
      var reader = HeaderReader(source: source)
      let start = try? reader.bytes(at: 0, count: FileType.bytes)
      return start.flatMap(MediaFormat.init(firstBytes:))?.noun
    }
  }

  private static let unknown = "a file of an unknown type"

  /// The header of a picture that can be decoded.
  private init(_ read: (header: ImageHeader, facts: MediaFacts), _ format: MediaFormat) {
    let header = read.header
    self.format = format
    storedSize = header.storedSize
    orientation = header.orientation
    hasAlpha = header.hasAlpha
    exif = header.metadata
    thumbnail = header.embeddedThumbnail
    blocks = header.blocks
    facts = read.facts
    warnings = header.warnings
  }
}
