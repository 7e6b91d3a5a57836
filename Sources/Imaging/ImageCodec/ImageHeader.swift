import MediaMetadata
import PhotoModel

/// A format of originals that can be decoded.
package enum SourceFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png, heic, avif, webp, jxl, gif, bmp, tiff
  /// The sensor data of a RAW file.
  case raw
  /// A frame of a video that is coded neither like HEIC nor like AVIF nor as JPEG.
  case video

  package var uniformTypeIdentifier: String {
    switch self {
    case .jpeg: "public.jpeg"
    case .png: "public.png"
    case .heic: "public.heic"
    case .avif: "public.avif"
    case .webp: "org.webmproject.webp"
    case .jxl: "public.jpeg-xl"
    case .gif: "com.compuserve.gif"
    case .bmp: "com.microsoft.bmp"
    case .video: "public.movie"
    case .tiff: "public.tiff"
    case .raw: "public.camera-raw-image"
    }
  }

  /// Whether the decoder runs in a process of its own, which may be missing.
  package var needsWorker: Bool {
    switch self {
    case .jpeg, .png, .gif, .bmp, .tiff: false
    case .heic, .avif, .webp, .video, .jxl, .raw: true
    }
  }
}

/// The facts in a file about its picture, before the first pixel.
package struct ImageHeader: Sendable, Hashable {
  package var format: SourceFormat
  /// The size as stored, before the orientation is applied.
  package var storedSize: PixelSize
  /// Colour channels without alpha: for JPEG as stored, 1, 3 or 4 (CMYK); for PNG as decoded.
  package var colorChannels: Int
  package var hasAlpha: Bool
  /// 8 or 16, as decoded.
  package var bitsPerChannel: Int
  /// A progressive JPEG or an interlaced PNG.
  package var isProgressive: Bool
  /// Whether a decoder holds the whole picture in memory: progressive files, and JPEGs with several scans.
  package var isBuffered: Bool
  /// A JPEG's components; `nil` for a PNG.
  package var jpegComponents: JPEGComponents?
  package var metadata: EXIFSummary
  /// The positions of the metadata blocks, in the order of the file.
  package var blocks: [MetadataBlock] = []
  /// The position of the EXIF thumbnail's JPEG in the file.
  package var embeddedThumbnail: ByteRange?
  /// The positions of further, larger previews of the picture in the file, each a complete JPEG, according to the
  /// header.
  package var previews: [ByteRange] = []
  /// Warnings about the metadata.
  package var warnings: CodecWarnings?
  /// The position of the ICC profile; `nil` if there is none, or if a description with higher precedence is understood.
  package var embeddedProfile: EmbeddedProfile?
  /// The numerical colour description, for files without a usable profile; `nil` is sRGB.
  package var calibration: ColorCalibration?

  /// Whether common viewers decode the picture: false for a JPEG other than with Huffman coding and 8 bits a sample, in
  /// one baseline, extended or progressive frame.
  package var isWidelyDecodable = true

  /// How the picture is coded, if its decoder does not parse the file again.
  package var coded: CodedPicture?
  /// The orientation that the container defines; then EXIF's does not count.
  package var containerOrientation: Orientation?
  /// The preview that this header describes, if the file is a RAW file or a video with pictures in JPEG. The positions
  /// in the header count from the start of the file.
  package var raw: RAWPicture?
  /// The size at which a video shows its frames, as stored, if it differs from ``storedSize``: pixels need not be
  /// square.
  package var displaySize: PixelSize?
  /// JPEGs in a JPEG's file that may be its gain map.
  var gainMapCandidates: [ByteRange] = []
  /// The position of the metadata of ISO 21496-1 in a JPEG's APP2, after its signature.
  var gainMapBlock: ByteRange?
  /// The gain map; `nil` if there is none that can be kept.
  package var gainMap: GainMap?

  package var orientation: Orientation { containerOrientation ?? metadata.orientation }

  /// Maximum memory of the profile.
  package var profileBytes: Int { embeddedProfile?.maximumBytes ?? 0 }

  /// The size of the upright picture: of a RAW file, that of its preview.
  package var uprightSize: PixelSize { orientation.apply(to: storedSize) }

  /// The size of the upright picture to which requests refer: of a RAW file, that of the developed picture; of a video,
  /// that at which it is shown.
  package var requestedSize: PixelSize { orientation.apply(to: raw?.developedSize ?? displaySize ?? storedSize) }

  /// A JPEG with a shorter side is scaled by its decoder only if that side consists of whole blocks. If it ends within
  /// a block, the last pixel of a scaled decode shows less of the picture than the others, but counts as much: in a
  /// shorter side, it can be more than 1/16 of them. A small picture is decoded quickly at its full size, too.
  private static let minimumScaledSide = 128

  /// Whether a decode can deliver the picture at 1/8, 1/4 or 1/2 of its size, as exactly as resampling does.
  package var scalesDecodes: Bool {
    switch coded {
    case .heif, .jxl, .raw: true
    case .webP(let picture): picture.fillsCanvas
    case .gif, .bmp, .tiff: false
    case nil:
      format == .jpeg
        && [storedSize.width, storedSize.height].allSatisfy { $0 % 8 == 0 || $0 >= Self.minimumScaledSide }
    }
  }

  /// Reads a header without reading pixels.
  ///
  /// - Parameter posterTime: chooses the frame of a video: the key frame that is shown at this second or before. `nil`
  ///   is the first key frame that is not nearly black.
  /// - Throws: ``CodecError``; `unsupported` for a file of another kind, `truncated` if it ends too early.
  package static func read(
    from source: any ByteSource, limits: CodecLimits, posterTime: Double? = nil
  ) throws(CodecError) -> ImageHeader {
    var reader = HeaderReader(source: source)
    let start = try reader.bytes(at: 0, count: FileType.bytes)
    guard !start.isEmpty else { throw .truncated(offset: 0) }
    guard let format = MediaFormat(firstBytes: start) else {
      throw .unsupported(MediaHeader.noun(of: source) ?? Self.unknown)
    }
    var header: ImageHeader
    switch format {
    case .jpeg: header = try JPEGHeader.read(&reader, limits: limits)
    case .png: header = try PNGHeader.read(&reader, limits: limits)
    case .heic, .heif, .avif:
      reader.windowBytes = ContainerLimits.windowBytes
      let media = try MediaHeader.read(from: source, limits: limits)
      if let picture = try HEIFPictureReader.read(reader, media.format, limits: limits) {
        header = ImageHeader(picture, media)
      } else {
        header = try MoviePoster.firstPicture(media, in: source, limits: limits)
      }
    case .webp:
      reader.windowBytes = ContainerLimits.windowBytes
      let media = try MediaHeader.read(from: source, limits: limits)
      header = ImageHeader(try WebPPictureReader.read(reader, limits: limits), media)
    case .jxl:
      reader.windowBytes = ContainerLimits.windowBytes
      let media = try MediaHeader.read(from: source, limits: limits)
      header = ImageHeader(try JXLPicture.read(reader), media)
    case .gif:
      reader.windowBytes = ContainerLimits.windowBytes
      let media = try MediaHeader.read(from: source, limits: limits)
      header = ImageHeader(try GIFPicture.read(&reader, limits: limits), media)
    case .bmp: header = ImageHeader(try BMPPicture.read(&reader, limits: limits))
    case .quickTime, .mpeg4:
      let media = try MediaHeader.read(from: source, limits: limits)
      header = try MoviePoster.header(media, in: source, at: posterTime, limits: limits)
    case .tiff:
      reader.windowBytes = ContainerLimits.windowBytes
      let buffered = BufferedHeadSource(of: source, reader)
      let media = try MediaHeader.read(from: buffered, limits: limits.headerOnly)
      header =
        media.format == .tiff
        ? ImageHeader(try TIFFPage.read(&reader, limits: limits), media)
        : try ImageHeader(media, rawIn: buffered, limits: limits)
    default:
      let buffered = BufferedHeadSource(of: source, reader)
      guard let media = try MediaHeader.readRAW(from: buffered, format, limits: limits) else {
        throw .unsupported(MediaHeader.noun(of: source) ?? format.noun)
      }
      header = try ImageHeader(media, rawIn: buffered, limits: limits)
    }
    try limits.check(header.storedSize)
    try header.findGainMap(in: source, limits: limits)
    return header
  }

  private static let unknown = "no picture of a known format"
}

/// Reads a header's bytes through a window, so that a walk over many small segments costs a few reads.
struct HeaderReader {
  /// Most headers fit into the first window, which a library scan reads for every file. Longer headers need few further
  /// reads.
  private static let firstWindowBytes = 16_384

  private let source: any ByteSource
  /// Size of each window after the first.
  var windowBytes = 65_536
  private var window: [UInt8] = []
  private var windowStart: Int64 = 0

  init(source: any ByteSource) {
    self.source = source
  }

  var size: Int64 { source.size }

  /// The first bytes of the file, if the last read was there.
  var head: [UInt8] { windowStart == 0 ? window : [] }

  /// Up to `count` bytes; fewer only at the end of the file.
  mutating func bytes(at offset: Int64, count: Int) throws(CodecError) -> ArraySlice<UInt8> {
    let end = min(offset + Int64(count), source.size)
    guard offset >= 0, offset < end else { return [] }
    if offset < windowStart || end > windowStart + Int64(window.count) {
      window = try source.codecBytes(
        at: offset, count: max(count, window.isEmpty ? Self.firstWindowBytes : windowBytes))
      windowStart = offset
    }
    let start = Int(offset - windowStart)
    return window[start..<min(start + count, window.count)]
  }

  /// Exactly `count` bytes.
  mutating func wholeBytes(at offset: Int64, count: Int) throws(CodecError) -> ArraySlice<UInt8> {
    let bytes = try bytes(at: offset, count: count)
    if bytes.count < count { throw .truncated(offset: min(offset + Int64(bytes.count), source.size)) }
    return bytes
  }
}

extension ArraySlice<UInt8> {
  /// A big-endian number of `bytes` bytes, at a position relative to the slice's start.
  func bigEndian(at position: Int, bytes: Int) -> Int {
    self[(startIndex + position)..<(startIndex + position + bytes)].reduce(0) { $0 << 8 | Int($1) }
  }

  /// A little-endian number of `bytes` bytes, at a position relative to the slice's start.
  func littleEndian(at position: Int, bytes: Int) -> Int {
    self[(startIndex + position)..<(startIndex + position + bytes)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }
}
