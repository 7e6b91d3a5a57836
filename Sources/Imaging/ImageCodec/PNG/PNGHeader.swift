import MediaMetadata
import PhotoModel

/// Reads the chunks of a PNG up to its first IDAT (PNG third edition §5).
enum PNGHeader {
  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> ImageHeader {
    try parse(&reader, limits).header
  }

  /// Also reads facts from the metadata beyond its summary, which a render does not need.
  static func readWithFacts(
    _ reader: inout HeaderReader, limits: CodecLimits
  ) throws(CodecError) -> (header: ImageHeader, facts: MediaFacts) {
    let (header, chunks) = try parse(&reader, limits)
    var facts = MediaFacts(exifBlock: chunks.exifBlock, xmpPacket: chunks.xmpPacket, summary: header.metadata)
    facts.isAnimated = chunks.isAnimated
    return (header, facts)
  }

  private static func parse(
    _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) -> (header: ImageHeader, chunks: Chunks) {
    let first = try FirstChunk(&reader)
    var chunks = Chunks()
    var position = FirstChunk.end
    for _ in 0..<limits.headerSegments {
      let head = try reader.wholeBytes(at: position, count: 8)
      let length = head.bigEndian(at: 0, bytes: 4)
      guard length <= Int32.max else { throw .malformed("a chunk longer than PNG allows", offset: position) }
      let type = String(decoding: head.dropFirst(4), as: UTF8.self)
      switch type {
      case "IDAT": return (chunks.header(first), chunks)
      case "IEND": throw .malformed("a PNG without pixels", offset: position)
      default: try chunks.take(type, at: position + 8, length: length, &reader, limits)
      }
      position += 8 + Int64(length) + 4
    }
    throw .limitExceeded(
      "the number of header segments", limit: limits.headerSegments, found: limits.headerSegments + 1)
  }

  /// IHDR (§11.2.1): it comes first, and has 13 bytes.
  private struct FirstChunk {
    /// The position after it.
    static let end: Int64 = 8 + 12 + 13

    let size: PixelSize
    let depth: Int
    let colorType: Int
    let isInterlaced: Bool

    init(_ reader: inout HeaderReader) throws(CodecError) {
      let start = try reader.wholeBytes(at: 8, count: 8 + 13)
      guard start.bigEndian(at: 0, bytes: 4) == 13, Array(start.dropFirst(4).prefix(4)) == Array("IHDR".utf8) else {
        throw .malformed("a PNG that does not begin with IHDR", offset: 8)
      }
      size = PixelSize(width: start.bigEndian(at: 8, bytes: 4), height: start.bigEndian(at: 12, bytes: 4))
      depth = start.bigEndian(at: 16, bytes: 1)
      colorType = start.bigEndian(at: 17, bytes: 1)
      isInterlaced = start.bigEndian(at: 20, bytes: 1) != 0
      guard [0, 2, 3, 4, 6].contains(colorType), size.width <= Int32.max, size.height <= Int32.max else {
        throw .malformed("an impossible IHDR", offset: 16)
      }
    }

    var isGray: Bool { colorType == 0 || colorType == 4 }
    var hasAlpha: Bool { colorType >= 4 }
  }

  /// The facts in the chunks between IHDR and the first IDAT.
  private struct Chunks {
    private(set) var exifBlock: ArraySlice<UInt8>?
    private(set) var xmpPacket: ArraySlice<UInt8>?
    private(set) var isAnimated = false
    private var hasTransparentColor = false
    private var metadata = EXIFSummary()
    private var thumbnail: ByteRange?
    private var warnings: CodecWarnings?
    private var colors = PNGColorChunks()
    private var blocks: [MetadataBlock] = []

    func header(_ first: FirstChunk) -> ImageHeader {
      ImageHeader(
        format: .png, storedSize: first.size, colorChannels: first.isGray ? 1 : 3,
        hasAlpha: first.hasAlpha || hasTransparentColor, bitsPerChannel: first.depth == 16 ? 16 : 8,
        isProgressive: first.isInterlaced, isBuffered: first.isInterlaced, metadata: metadata, blocks: blocks,
        embeddedThumbnail: thumbnail, warnings: warnings, embeddedProfile: colors.embeddedProfile,
        calibration: colors.calibration)
    }

    mutating func take(
      _ type: String, at content: Int64, length: Int, _ reader: inout HeaderReader, _ limits: CodecLimits
    ) throws(CodecError) {
      switch type {
      case "tRNS": hasTransparentColor = true
      // §11.3.6.1: the number of frames, then the number of plays.
      case "acTL" where length == 8:
        isAnimated = try reader.wholeBytes(at: content, count: 4).bigEndian(at: 0, bytes: 4) > 1
      // libpng holds a complete chunk in memory before it examines it.
      case _ where length > limits.profileBytes:
        throw .limitExceeded("the size of a chunk", limit: limits.profileBytes, found: length)
      case "eXIf" where length <= EXIFSummary.maximumBytes: try takeEXIF(at: content, length: length, &reader)
      case "iTXt", "tEXt", "zTXt": try takeText(type, at: content, length: length, &reader)
      default: try colors.take(type, at: content, length: length, &reader, limits)
      }
    }

    /// PNG third edition §11.3.5.4: the TIFF block, without the signature that precedes it in a JPEG.
    private mutating func takeEXIF(
      at content: Int64, length: Int, _ reader: inout HeaderReader
    ) throws(CodecError) {
      let block = try reader.bytes(at: content, count: length)
      blocks.append(MetadataBlock(.exif, ByteRange(offset: content, length: length)))
      exifBlock = block
      let parsed = EXIFSummary.parse(block)
      metadata = parsed.summary
      warnings = parsed.warnings
      thumbnail = parsed.thumbnail.map { ByteRange(offset: content + Int64($0.lowerBound), length: $0.count) }
    }

    private mutating func takeText(
      _ type: String, at content: Int64, length: Int, _ reader: inout HeaderReader
    ) throws(CodecError) {
      let head = try reader.bytes(at: content, count: min(length, PNGText.maximumHeadBytes))
      guard let block = PNGText.block(type, head, at: content, length: length) else { return }
      blocks.append(block)
      if block.kind == .xmp, xmpPacket == nil {
        xmpPacket = try reader.bytes(at: block.range.offset, count: min(block.range.length, XMPPacket.maximumBytes))
      }
    }
  }
}
