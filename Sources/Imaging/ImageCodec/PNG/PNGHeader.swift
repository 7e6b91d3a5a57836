import MediaMetadata
import PhotoModel

/// Reads the chunks of a PNG up to its first IDAT (PNG third edition §5).
enum PNGHeader {
  /// A header, and what its facts are read from.
  private struct Parsed {
    let header: ImageHeader
    let exifBlock: ArraySlice<UInt8>?
    let xmpPacket: ArraySlice<UInt8>?
    let isAnimated: Bool
  }

  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> ImageHeader {
    try parse(&reader, limits).header
  }

  /// Also reads facts from the metadata beyond its summary, which a render does not need.
  static func readWithFacts(
    _ reader: inout HeaderReader, limits: CodecLimits
  ) throws(CodecError) -> (header: ImageHeader, facts: MediaFacts) {
    let parsed = try parse(&reader, limits)
    var facts = MediaFacts(exifBlock: parsed.exifBlock, xmpPacket: parsed.xmpPacket)
    facts.isAnimated = parsed.isAnimated
    return (parsed.header, facts)
  }

  private static func parse(_ reader: inout HeaderReader, _ limits: CodecLimits) throws(CodecError) -> Parsed {
    // §11.2.1: IHDR comes first, 13 bytes.
    let start = try reader.wholeBytes(at: 8, count: 8 + 13)
    guard start.bigEndian(at: 0, bytes: 4) == 13, Array(start.dropFirst(4).prefix(4)) == Array("IHDR".utf8) else {
      throw .malformed("a PNG that does not begin with IHDR", offset: 8)
    }
    let width = start.bigEndian(at: 8, bytes: 4)
    let height = start.bigEndian(at: 12, bytes: 4)
    let depth = start.bigEndian(at: 16, bytes: 1)
    let colorType = start.bigEndian(at: 17, bytes: 1)
    let interlace = start.bigEndian(at: 20, bytes: 1)
    guard [0, 2, 3, 4, 6].contains(colorType), width <= Int32.max, height <= Int32.max else {
      throw .malformed("an impossible IHDR", offset: 16)
    }
    var hasAlpha = colorType >= 4
    var metadata = EXIFSummary()
    var thumbnail: ByteRange?
    var warnings: CodecWarnings?
    var colors = PNGColorChunks()
    var blocks: [MetadataBlock] = []
    var exifBlock: ArraySlice<UInt8>?
    var xmpPacket: ArraySlice<UInt8>?
    var isAnimated = false
    var position: Int64 = 8 + 12 + 13

    for _ in 0..<limits.headerSegments {
      let head = try reader.wholeBytes(at: position, count: 8)
      let length = head.bigEndian(at: 0, bytes: 4)
      let content = position + 8
      guard length <= Int32.max else { throw .malformed("a chunk longer than PNG allows", offset: position) }
      let type = String(decoding: head.dropFirst(4), as: UTF8.self)
      switch type {
      case "IDAT":
        let header = ImageHeader(
          format: .png, storedSize: PixelSize(width: width, height: height),
          colorChannels: colorType == 0 || colorType == 4 ? 1 : 3, hasAlpha: hasAlpha,
          bitsPerChannel: depth == 16 ? 16 : 8, isProgressive: interlace != 0, isBuffered: interlace != 0,
          metadata: metadata, blocks: blocks,
          embeddedThumbnail: thumbnail, warnings: warnings,
          embeddedProfile: colors.embeddedProfile,
          profileBytes: colors.embeddedProfile?.maximumBytes(limits) ?? 0, calibration: colors.calibration)
        return Parsed(header: header, exifBlock: exifBlock, xmpPacket: xmpPacket, isAnimated: isAnimated)
      case "tRNS": hasAlpha = true
      // §11.3.6.1: the number of frames, then that of repetitions.
      case "acTL" where length == 8:
        isAnimated = try reader.wholeBytes(at: content, count: 4).bigEndian(at: 0, bytes: 4) > 1
      case "IEND": throw .malformed("a PNG without pixels", offset: position)
      // libpng holds a complete chunk in memory before it examines it.
      case _ where length > limits.profileBytes:
        throw .limitExceeded("the size of a chunk", limit: limits.profileBytes, found: length)
      case "eXIf" where length <= EXIFSummary.maximumBytes:
        // PNG third edition §11.3.5.4: the TIFF block, without the signature that precedes it in a JPEG.
        let block = try reader.bytes(at: content, count: length)
        blocks.append(MetadataBlock(.exif, ByteRange(offset: content, length: length)))
        exifBlock = block
        let parsed = EXIFSummary.parse(block)
        metadata = parsed.summary
        warnings = parsed.warnings
        thumbnail = parsed.thumbnail.map { ByteRange(offset: content + Int64($0.lowerBound), length: $0.count) }
      case "iTXt", "tEXt", "zTXt":
        let head = try reader.bytes(at: content, count: min(length, PNGText.maximumHeadBytes))
        guard let block = PNGText.block(type, head, at: content, length: length) else { break }
        blocks.append(block)
        if block.kind == .xmp, xmpPacket == nil {
          xmpPacket = try reader.bytes(at: block.range.offset, count: min(block.range.length, XMPPacket.maximumBytes))
        }
      default: try colors.take(type, at: content, length: length, &reader)
      }
      position = content + Int64(length) + 4
    }
    throw .limitExceeded(
      "the number of header segments", limit: limits.headerSegments, found: limits.headerSegments + 1)
  }
}
