import MediaMetadata
import PhotoModel

/// Reads the marker segments of a JPEG up to its first scan (T.81 §B.2).
enum JPEGHeader {
  /// How many bytes of each picture after the first are read to find its kind.
  private static let auxiliaryBytes = 8192

  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> ImageHeader {
    try parse(&reader, limits).header
  }

  /// Also reads facts from the metadata beyond its summary, which a render does not need.
  static func readWithFacts(
    _ reader: inout HeaderReader, limits: CodecLimits
  ) throws(CodecError) -> (header: ImageHeader, facts: MediaFacts) {
    let (header, fields) = try parse(&reader, limits)
    var facts = MediaFacts(exifBlock: fields.exifBlock, xmpPacket: fields.xmpPacket, summary: header.metadata)
    if !fields.datasets.isEmpty { facts.readDescription(iptc: fields.datasets[...]) }
    try read(fields.pictures, &facts, &reader, limits)
    if header.gainMapBlock != nil { facts.subtypes.insert(.photoHDR) }
    return (header, facts)
  }

  private static func parse(
    _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) -> (header: ImageHeader, fields: JPEGHeaderFields) {
    var fields = JPEGHeaderFields()
    var segments = JPEGSegments(limits: limits)
    while true {
      let segment = try segments.next(&reader)
      if segment.marker == JPEGSegments.startOfScan {
        let header = try fields.header(beforeScan: segment, &reader)
        return (header, fields)
      }
      try fields.take(segment, &reader)
    }
  }

  /// Reads facts about the first picture from later pictures: iPhones describe the gain map in its own XMP packet.
  private static func read(
    _ pictures: [MultiPictureIndex.Picture], _ facts: inout MediaFacts, _ reader: inout HeaderReader,
    _ limits: CodecLimits
  ) throws(CodecError) {
    for picture in pictures {
      if picture.isGainMap { facts.subtypes.insert(.photoHDR) }
      guard picture.isUndefined else { continue }
      if let packet = try firstPacket(of: picture.range, &reader, limits) { facts.read(xmp: packet) }
    }
  }

  /// The XMP packet of a JPEG that starts at an offset in the file, if the packet comes early.
  private static func firstPacket(
    of picture: ByteRange, _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) -> ArraySlice<UInt8>? {
    let head = Array(try reader.bytes(at: picture.offset, count: min(picture.length, auxiliaryBytes)))
    guard head.starts(with: [0xFF, 0xD8]) else { return nil }
    var part = HeaderReader(source: MemoryByteSource(head))
    var segments = JPEGSegments(limits: limits)
    do throws(CodecError) {
      while true {
        let segment = try segments.next(&part)
        if segment.marker == JPEGSegments.startOfScan { return nil }
        guard segment.marker == 0xE1 else { continue }
        let content = try part.bytes(at: segment.content, count: segment.length)
        if content.starts(with: XMPPacket.signature) { return content.dropFirst(XMPPacket.signature.count) }
      }
    } catch {
      // The picture is damaged, or its header is longer than `auxiliaryBytes`.
      return nil
    }
  }
}
