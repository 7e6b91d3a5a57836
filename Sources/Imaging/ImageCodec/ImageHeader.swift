import MediaMetadata
import PhotoModel

/// A format of originals that can be decoded.
package enum SourceFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png

  package var uniformTypeIdentifier: String {
    switch self {
    case .jpeg: "public.jpeg"
    case .png: "public.png"
    }
  }

  /// The format according to the first bytes of a file; its name does not matter.
  package init?(firstBytes bytes: some Collection<UInt8>) {
    // Usually a third byte of FF follows, but libjpeg skips bytes before the next marker.
    if bytes.starts(with: [0xFF, 0xD8]) {
      self = .jpeg
    } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else {
      return nil
    }
  }
}

/// What a file states about its picture before the first pixel.
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
  /// Facts from the metadata beyond its summary.
  package var facts = MediaFacts()
  /// The position of the EXIF thumbnail's JPEG in the file.
  package var embeddedThumbnail: ByteRange?
  /// The positions of further, larger previews of the picture in the file, each a complete JPEG, according to the
  /// header.
  package var previews: [ByteRange] = []
  /// Warnings about the metadata.
  package var warnings: CodecWarnings?
  /// The position of the ICC profile; `nil` if there is none, or if a description with higher precedence is understood.
  package var embeddedProfile: EmbeddedProfile?
  /// Maximum memory of the profile.
  package var profileBytes: Int
  /// The numerical colour description, for files without a usable profile; `nil` is sRGB.
  package var calibration: ColorCalibration?

  /// Whether common viewers decode the picture: false for a JPEG other than with Huffman coding and 8 bits a sample, in
  /// one baseline, extended or progressive frame.
  package var isWidelyDecodable = true

  package var orientation: Orientation { metadata.orientation }

  /// The size of the upright picture.
  package var uprightSize: PixelSize { orientation.apply(to: storedSize) }

  /// Reads a header without reading pixels.
  ///
  /// - Throws: ``CodecError``; `unsupported` for a file of another kind, `truncated` if it ends too early.
  package static func read(from source: any ByteSource, limits: CodecLimits) throws(CodecError) -> ImageHeader {
    var reader = HeaderReader(source: source)
    let start = try reader.bytes(at: 0, count: 16)
    guard !start.isEmpty else { throw .truncated(offset: 0) }
    guard let format = SourceFormat(firstBytes: start) else {
      throw .unsupported(MediaHeader.noun(of: source) ?? "neither a JPEG nor a PNG")
    }
    return try read(&reader, format, limits: limits)
  }

  static func read(
    _ reader: inout HeaderReader, _ format: SourceFormat, limits: CodecLimits
  ) throws(CodecError) -> ImageHeader {
    let header =
      switch format {
      case .jpeg: try JPEGHeader.read(&reader, limits: limits)
      case .png: try PNGHeader.read(&reader, limits: limits)
      }
    try limits.check(header.storedSize)
    return header
  }
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

  /// Up to `count` bytes; fewer only at the end of the file.
  mutating func bytes(at offset: Int64, count: Int) throws(CodecError) -> ArraySlice<UInt8> {
    let end = min(offset + Int64(count), source.size)
    guard offset >= 0, offset < end else { return [] }
    if offset < windowStart || end > windowStart + Int64(window.count) {
      do throws(ByteSourceError) {
        window = try source.bytes(
          at: offset, count: max(count, window.isEmpty ? Self.firstWindowBytes : windowBytes))
      } catch {
        switch error {
        case .readFailed(let code): throw .readFailed(code: code)
        }
      }
      windowStart = offset
    }
    let start = Int(offset - windowStart)
    return window[start..<min(start + count, window.count)]
  }

  /// Exactly `count` bytes.
  mutating func wholeBytes(at offset: Int64, count: Int) throws(CodecError) -> ArraySlice<UInt8> {
    let bytes = try bytes(at: offset, count: count)
    if bytes.count < count { throw .truncated(offset: offset + Int64(bytes.count)) }
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
