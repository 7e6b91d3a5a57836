import MediaMetadata
import PhotoModel

/// Reads the marker segments of a JPEG up to its first scan (T.81 §B.2).
enum JPEGHeader {
  /// How many bytes of each picture after the first are read to find its kind.
  private static let auxiliaryBytes = 8192

  /// A header, and the metadata blocks from which its facts are read.
  private struct Parsed {
    let header: ImageHeader
    let exifBlock: ArraySlice<UInt8>?
    let xmpPacket: ArraySlice<UInt8>?
    /// IPTC.
    let datasets: [UInt8]
    let pictures: [MultiPictureIndex.Picture]
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
    if !parsed.datasets.isEmpty { facts.readDescription(iptc: parsed.datasets[...]) }
    try read(parsed.pictures, &facts, &reader, limits)
    if parsed.header.gainMapBlock != nil { facts.subtypes.insert(.photoHDR) }
    return (parsed.header, facts)
  }

  private static func parse(_ reader: inout HeaderReader, _ limits: CodecLimits) throws(CodecError) -> Parsed {
    var frame: JPEGFrame?
    var markers = ColorMarkers()
    var metadata = EXIFSummary()
    var thumbnail: ByteRange?
    var pictures: [MultiPictureIndex.Picture] = []
    var warnings: CodecWarnings?
    var profile = JPEGProfileParts()
    var blocks: [MetadataBlock] = []
    var resources = ImageResources()
    var datasets: [UInt8] = []
    var exifBlock: ArraySlice<UInt8>?
    var xmpPacket: ArraySlice<UInt8>?
    var gainMapBlock: ByteRange?
    var segments = JPEGSegments(limits: limits)

    while true {
      let segment = try segments.next(&reader)
      let (content, contentLength) = (segment.content, segment.length)
      if segment.marker == JPEGSegments.startOfScan {
        guard let frame else { throw .malformed("a scan before its frame", offset: content) }
        // T.81 §B.2.3: a scan that does not hold all components is one of several.
        let scanComponents = try reader.wholeBytes(at: content, count: 1).bigEndian(at: 0, bytes: 1)
        let previews = pictures.filter(\.isPreview).prefix(MultiPictureIndex.maximumPreviews).map(\.range)
        let isBuffered = frame.isProgressive || scanComponents < frame.sampling.count
        var header = ImageHeader(
          format: .jpeg, storedSize: frame.size, colorChannels: frame.sampling.count, hasAlpha: false,
          bitsPerChannel: 8,
          isProgressive: frame.isProgressive, isBuffered: isBuffered,
          jpegComponents: JPEGComponents(sampling: frame.sampling, isYCbCr: frame.isYCbCr(markers)), metadata: metadata,
          blocks: blocks + resources.blocks,
          embeddedThumbnail: thumbnail, previews: previews, warnings: warnings,
          embeddedProfile: profile.embeddedProfile, profileBytes: profile.bytes,
          calibration: metadata.isAdobeRGB ? .adobeRGB : nil, isWidelyDecodable: frame.isWidelyDecodable)
        header.gainMapBlock = gainMapBlock
        header.gainMapCandidates = pictures.filter { $0.isGainMap || $0.isUndefined }.map(\.range)
        return Parsed(
          header: header, exifBlock: exifBlock, xmpPacket: xmpPacket, datasets: datasets, pictures: pictures)
      }
      switch segment.marker {
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        // T.81 §B.2.1: a frame has one, and libjpeg refuses a second.
        if frame != nil { throw .malformed("a second frame header", offset: content) }
        frame = try JPEGFrame(marker: segment.marker, reader.wholeBytes(at: content, count: contentLength))
      case 0xE0, 0xEE:
        markers.note(
          segment.marker, try reader.bytes(at: content, count: min(12, contentLength)), length: contentLength)
      case 0xE1:
        let block = try reader.bytes(at: content, count: contentLength)
        if block.starts(with: EXIFSummary.signature) {
          // The first one wins.
          guard metadata.isEmpty else { break }
          blocks.append(Self.block(.exif, at: content, contentLength, after: EXIFSummary.signature))
          let exif = block.dropFirst(EXIFSummary.signature.count)
          exifBlock = exif
          let parsed = EXIFSummary.parse(exif)
          metadata = parsed.summary
          warnings = parsed.warnings
          thumbnail = parsed.thumbnail.map {
            ByteRange(offset: content + Int64(EXIFSummary.signature.count + $0.lowerBound), length: $0.count)
          }
        } else if block.starts(with: XMPPacket.signature) {
          guard xmpPacket == nil else { break }
          blocks.append(Self.block(.xmp, at: content, contentLength, after: XMPPacket.signature))
          xmpPacket = block.dropFirst(XMPPacket.signature.count)
        } else if block.starts(with: XMPPacket.extensionSignature) {
          blocks.append(Self.block(.extendedXMP, at: content, contentLength, after: XMPPacket.extensionSignature))
        }
      case 0xED:
        let block = try reader.bytes(at: content, count: contentLength)
        if block.starts(with: ImageResources.signature) {
          let start = ImageResources.signature.count
          let known = resources.blocks.count
          resources.take(block.dropFirst(start), at: content + Int64(start))
          for place in resources.blocks[known...] where datasets.count < DescriptiveMetadata.maximumIPTCBytes {
            datasets += block.dropFirst(Int(place.range.offset - content)).prefix(place.range.length)
          }
        }
      case 0xE2:
        let signature = GainMapMetadata.signature
        if try reader.bytes(at: content, count: min(contentLength, signature.count)).elementsEqual(signature) {
          gainMapBlock =
            gainMapBlock
            ?? ByteRange(offset: content + Int64(signature.count), length: contentLength - signature.count)
          break
        }
        if try takePictures(at: content, length: contentLength, &reader, &blocks, &pictures) { break }
        try profile.take(at: content, length: contentLength, &reader)
      default: break
      }
    }
  }

  /// Reads an APP2 segment if it is a multi-picture index; returns false if it is not.
  private static func takePictures(
    at content: Int64, length: Int, _ reader: inout HeaderReader, _ blocks: inout [MetadataBlock],
    _ pictures: inout [MultiPictureIndex.Picture]
  ) throws(CodecError) -> Bool {
    guard pictures.isEmpty, content + Int64(length) <= MultiPictureIndex.searchedBytes else { return false }
    let block = try reader.bytes(at: content, count: length)
    guard block.starts(with: MultiPictureIndex.signature) else { return false }
    let start = MultiPictureIndex.signature.count
    blocks.append(Self.block(.multiPicture, at: content, length, after: MultiPictureIndex.signature))
    pictures = MultiPictureIndex.pictures(
      block.dropFirst(start), at: content + Int64(start), fileSize: reader.size)
    return true
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

  private static func block(
    _ kind: MetadataBlock.Kind, at content: Int64, _ length: Int, after signature: [UInt8]
  ) -> MetadataBlock {
    MetadataBlock(
      kind, ByteRange(offset: content + Int64(signature.count), length: length - signature.count))
  }
}
