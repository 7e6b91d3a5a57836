import MediaMetadata
import PhotoModel

/// The marker segments of a JPEG up to its first scan (T.81 §B.2).
enum JPEGHeader {
  private static let startOfScan: UInt8 = 0xDA
  private static let endOfImage: UInt8 = 0xD9
  /// What begins an APP2 that tells of a gain map (ISO 21496-1 annex C).
  private static let gainMapSignature: [UInt8] = Array("urn:iso:std:iso:ts:21496:-1".utf8) + [0]
  /// What is read of a picture behind the first to find out what it is.
  private static let auxiliaryBytes = 8192

  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> ImageHeader {
    var frame: JPEGFrame?
    var markers = ColorMarkers()
    var metadata = EXIFSummary()
    var thumbnail: ByteRange?
    var pictures: [MultiPictureIndex.Picture] = []
    var warnings: CodecWarnings?
    var profile = JPEGProfileParts()
    var blocks: [MetadataBlock] = []
    var resources = ImageResources()
    var exifBlock: ArraySlice<UInt8>?
    var xmpPacket: ArraySlice<UInt8>?
    var hasGainMap = false
    var position: Int64 = 2

    for _ in 0..<limits.headerSegments {
      let marker = try self.marker(&reader, &position)
      if marker == startOfScan {
        guard let frame else { throw .malformed("a scan before its frame", offset: position) }
        // T.81 §B.2.3: a scan that does not hold all components is one of several.
        let scanComponents = try reader.wholeBytes(at: position, count: 3).bigEndian(at: 2, bytes: 1)
        let previews = pictures.filter(\.isPreview).prefix(MultiPictureIndex.maximumPreviews).map(\.range)
        var facts = MediaFacts(exifBlock: exifBlock, xmpPacket: xmpPacket)
        try read(pictures, &facts, &reader)
        if hasGainMap { facts.subtypes.insert(.photoHDR) }
        let isBuffered = frame.isProgressive || scanComponents < frame.sampling.count
        return ImageHeader(
          format: .jpeg, storedSize: frame.size, colorChannels: frame.sampling.count, hasAlpha: false,
          bitsPerChannel: 8,
          isProgressive: frame.isProgressive, isBuffered: isBuffered,
          jpegComponents: JPEGComponents(sampling: frame.sampling, isYCbCr: frame.isYCbCr(markers)), metadata: metadata,
          blocks: blocks + resources.blocks, facts: facts,
          embeddedThumbnail: thumbnail, previews: previews, warnings: warnings,
          embeddedProfile: profile.embeddedProfile, profileBytes: profile.bytes,
          calibration: metadata.isAdobeRGB ? .adobeRGB : nil)
      }
      if marker == endOfImage { throw .malformed("a JPEG without a scan", offset: position) }
      // TEM and RSTn stand alone (T.81 table B.1).
      if marker == 0x01 || (0xD0...0xD7).contains(marker) { continue }

      let length = try reader.wholeBytes(at: position, count: 2).bigEndian(at: 0, bytes: 2)
      guard length >= 2 else { throw .malformed("a marker segment shorter than its length", offset: position) }
      let content = position + 2
      let contentLength = length - 2
      switch marker {
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        frame = try JPEGFrame(marker: marker, reader.wholeBytes(at: content, count: contentLength))
      case 0xE0, 0xEE:
        markers.note(marker, try reader.bytes(at: content, count: min(12, contentLength)), length: contentLength)
      case 0xE1:
        let block = try reader.bytes(at: content, count: contentLength)
        if block.starts(with: EXIFSummary.signature) {
          // The first one counts.
          guard metadata.isEmpty else { break }
          blocks.append(Self.block(.exif, at: content, contentLength, behind: EXIFSummary.signature))
          exifBlock = block.dropFirst(EXIFSummary.signature.count)
          let parsed = EXIFSummary.parse(Array(block))
          metadata = parsed.summary
          warnings = parsed.warnings
          thumbnail = parsed.thumbnail.map {
            ByteRange(offset: content + Int64($0.lowerBound), length: $0.count)
          }
        } else if block.starts(with: XMPPacket.signature) {
          guard xmpPacket == nil else { break }
          blocks.append(Self.block(.xmp, at: content, contentLength, behind: XMPPacket.signature))
          xmpPacket = block.dropFirst(XMPPacket.signature.count)
        } else if block.starts(with: XMPPacket.extensionSignature) {
          blocks.append(Self.block(.extendedXMP, at: content, contentLength, behind: XMPPacket.extensionSignature))
        }
      case 0xED:
        let block = try reader.bytes(at: content, count: contentLength)
        if block.starts(with: ImageResources.signature) {
          let start = ImageResources.signature.count
          resources.take(block.dropFirst(start), at: content + Int64(start))
        }
      case 0xE2:
        if try reader.bytes(at: content, count: min(contentLength, gainMapSignature.count)).elementsEqual(
          gainMapSignature)
        {
          hasGainMap = true
          break
        }
        if try takePictures(at: content, length: contentLength, &reader, &blocks, &pictures) { break }
        try profile.take(at: content, length: contentLength, &reader)
      default: break
      }
      position = content + Int64(contentLength)
    }
    throw .limitExceeded(
      "the number of header segments", limit: limits.headerSegments, found: limits.headerSegments + 1)
  }

  /// Takes an APP2 if it is a multi-picture index; false: it is something else.
  private static func takePictures(
    at content: Int64, length: Int, _ reader: inout HeaderReader, _ blocks: inout [MetadataBlock],
    _ pictures: inout [MultiPictureIndex.Picture]
  ) throws(CodecError) -> Bool {
    guard pictures.isEmpty, content + Int64(length) <= MultiPictureIndex.searchedBytes else { return false }
    let block = try reader.bytes(at: content, count: length)
    guard block.starts(with: MultiPictureIndex.signature) else { return false }
    let start = MultiPictureIndex.signature.count
    blocks.append(Self.block(.multiPicture, at: content, length, behind: MultiPictureIndex.signature))
    pictures = MultiPictureIndex.pictures(
      block.dropFirst(start), at: content + Int64(start), fileSize: reader.size)
    return true
  }

  /// What the pictures behind the first say of it: iPhones tell in the gain map's own packet what it is.
  private static func read(
    _ pictures: [MultiPictureIndex.Picture], _ facts: inout MediaFacts, _ reader: inout HeaderReader
  ) throws(CodecError) {
    for picture in pictures {
      if picture.isGainMap { facts.subtypes.insert(.photoHDR) }
      if picture.isUndefined, let packet = try firstPacket(of: picture.range, &reader) { facts.read(xmp: packet) }
    }
  }

  /// The XMP packet of a JPEG that begins somewhere in the file, if it comes early.
  private static func firstPacket(
    of picture: ByteRange, _ reader: inout HeaderReader
  ) throws(CodecError) -> ArraySlice<UInt8>? {
    let head = try reader.bytes(at: picture.offset, count: min(picture.length, auxiliaryBytes))
    guard head.starts(with: [0xFF, 0xD8]) else { return nil }
    var rest = head.dropFirst(2)
    while rest.count > 4, rest.starts(with: [0xFF]), (0xE0...0xEF).contains(rest[rest.startIndex + 1]) {
      let content = rest.dropFirst(4).prefix(max(0, rest.bigEndian(at: 2, bytes: 2) - 2))
      if content.starts(with: XMPPacket.signature) { return content.dropFirst(XMPPacket.signature.count) }
      rest = rest.dropFirst(4 + content.count)
    }
    return nil
  }

  private static func block(
    _ kind: MetadataBlock.Kind, at content: Int64, _ length: Int, behind signature: [UInt8]
  ) -> MetadataBlock {
    MetadataBlock(
      kind, ByteRange(offset: content + Int64(signature.count), length: length - signature.count))
  }

  /// The next marker's code; afterwards `position` is behind it. Any number of fill bytes may come before (§B.1.1.2).
  private static func marker(_ reader: inout HeaderReader, _ position: inout Int64) throws(CodecError) -> UInt8 {
    guard try reader.wholeBytes(at: position, count: 1).first == 0xFF else {
      throw .malformed("no marker where one is due", offset: position)
    }
    var fill = 0
    while true {
      position += 1
      guard let byte = try reader.wholeBytes(at: position, count: 1).first else { continue }
      if byte == 0xFF {
        fill += 1
        if fill > 65_536 { throw .malformed("endless fill bytes", offset: position) }
        continue
      }
      if byte == 0 { throw .malformed("a stuffed byte where a marker is due", offset: position) }
      position += 1
      return byte
    }
  }
}
