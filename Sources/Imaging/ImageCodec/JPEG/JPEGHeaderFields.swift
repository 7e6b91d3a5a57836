import MediaMetadata
import PhotoModel

/// The facts in the marker segments of a JPEG, read one after the other up to its first scan.
struct JPEGHeaderFields {
  private(set) var exifBlock: ArraySlice<UInt8>?
  private(set) var xmpPacket: ArraySlice<UInt8>?
  /// IPTC.
  private(set) var datasets: [UInt8] = []
  private(set) var pictures: [MultiPictureIndex.Picture] = []
  private var frame: JPEGFrame?
  private var markers = ColorMarkers()
  private var metadata = EXIFSummary()
  private var warnings: CodecWarnings?
  private var thumbnail: ByteRange?
  private var resources = ImageResources()
  private var blocks: [MetadataBlock] = []
  private var gainMapBlock: ByteRange?
  private var profile = JPEGProfileParts()

  mutating func take(_ segment: JPEGMarkerSegment, _ reader: inout HeaderReader) throws(CodecError) {
    switch segment.marker {
    case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF: try takeFrame(segment, &reader)
    case 0xE0, 0xEE:
      let bytes = try reader.bytes(at: segment.content, count: min(12, segment.length))
      markers.note(segment.marker, bytes, length: segment.length)
    case 0xE1: try takeMetadata(segment, &reader)
    case 0xE2: try takePicturesOrProfile(segment, &reader)
    case 0xED: try takeResources(segment, &reader)
    default: break
    }
  }

  /// The header of the file, whose first scan begins.
  func header(
    beforeScan scan: JPEGMarkerSegment, _ reader: inout HeaderReader
  ) throws(CodecError) -> ImageHeader {
    guard let frame else { throw .malformed("a scan before its frame", offset: scan.content) }
    // T.81 §B.2.3: a scan that does not hold all components is one of several.
    let scanComponents = try reader.wholeBytes(at: scan.content, count: 1).bigEndian(at: 0, bytes: 1)
    let previews = pictures.filter(\.isPreview).prefix(MultiPictureIndex.maximumPreviews).map(\.range)
    let isBuffered = frame.isProgressive || scanComponents < frame.sampling.count
    var header = ImageHeader(
      format: .jpeg, storedSize: frame.size, colorChannels: frame.sampling.count, hasAlpha: false,
      bitsPerChannel: 8,
      isProgressive: frame.isProgressive, isBuffered: isBuffered,
      jpegComponents: JPEGComponents(sampling: frame.sampling, isYCbCr: frame.isYCbCr(markers)), metadata: metadata,
      blocks: blocks + resources.blocks,
      embeddedThumbnail: thumbnail, previews: previews, warnings: warnings,
      embeddedProfile: profile.embeddedProfile,
      calibration: metadata.isAdobeRGB ? .adobeRGB : nil, isWidelyDecodable: frame.isWidelyDecodable)
    header.gainMapBlock = gainMapBlock
    header.gainMapCandidates = pictures.filter { $0.isGainMap || $0.isUndefined }.map(\.range)
    return header
  }

  // MARK: Segments

  private mutating func takeFrame(_ segment: JPEGMarkerSegment, _ reader: inout HeaderReader) throws(CodecError) {
    // T.81 §B.2.1: a frame has one, and libjpeg refuses a second.
    if frame != nil { throw .malformed("a second frame header", offset: segment.content) }
    frame = try JPEGFrame(
      marker: segment.marker, reader.wholeBytes(at: segment.content, count: segment.length))
  }

  /// APP1: EXIF or XMP. The first one of each wins.
  private mutating func takeMetadata(
    _ segment: JPEGMarkerSegment, _ reader: inout HeaderReader
  ) throws(CodecError) {
    let block = try reader.bytes(at: segment.content, count: segment.length)
    if block.starts(with: EXIFSummary.signature) {
      guard metadata.isEmpty else { return }
      blocks.append(Self.block(.exif, segment, after: EXIFSummary.signature))
      let exif = block.dropFirst(EXIFSummary.signature.count)
      exifBlock = exif
      let parsed = EXIFSummary.parse(exif)
      metadata = parsed.summary
      warnings = parsed.warnings
      thumbnail = parsed.thumbnail.map {
        ByteRange(offset: segment.content + Int64(EXIFSummary.signature.count + $0.lowerBound), length: $0.count)
      }
    } else if block.starts(with: XMPPacket.signature) {
      guard xmpPacket == nil else { return }
      blocks.append(Self.block(.xmp, segment, after: XMPPacket.signature))
      xmpPacket = block.dropFirst(XMPPacket.signature.count)
    } else if block.starts(with: XMPPacket.extensionSignature) {
      blocks.append(Self.block(.extendedXMP, segment, after: XMPPacket.extensionSignature))
    }
  }

  /// APP13: Photoshop's resources, of which IPTC is one.
  private mutating func takeResources(
    _ segment: JPEGMarkerSegment, _ reader: inout HeaderReader
  ) throws(CodecError) {
    let block = try reader.bytes(at: segment.content, count: segment.length)
    guard block.starts(with: ImageResources.signature) else { return }
    let start = ImageResources.signature.count
    let known = resources.blocks.count
    resources.take(block.dropFirst(start), at: segment.content + Int64(start))
    for place in resources.blocks[known...] where datasets.count < DescriptiveMetadata.maximumIPTCBytes {
      datasets += block.dropFirst(Int(place.range.offset - segment.content)).prefix(place.range.length)
    }
  }

  /// APP2: the metadata of a gain map, a multi-picture index, or a part of the colour profile.
  private mutating func takePicturesOrProfile(
    _ segment: JPEGMarkerSegment, _ reader: inout HeaderReader
  ) throws(CodecError) {
    let signature = GainMapMetadata.signature
    let start = try reader.bytes(at: segment.content, count: min(segment.length, signature.count))
    if start.elementsEqual(signature) {
      if gainMapBlock == nil { gainMapBlock = Self.range(segment, after: signature) }
      return
    }
    if start.starts(with: MultiPictureIndex.signature) { return try takePictures(segment, &reader) }
    try profile.take(at: segment.content, length: segment.length, &reader)
  }

  /// APP2: the multi-picture index. The first one with pictures wins.
  private mutating func takePictures(
    _ segment: JPEGMarkerSegment, _ reader: inout HeaderReader
  ) throws(CodecError) {
    guard pictures.isEmpty else { return }
    let block = try reader.bytes(at: segment.content, count: segment.length)
    let start = MultiPictureIndex.signature.count
    blocks.append(Self.block(.multiPicture, segment, after: MultiPictureIndex.signature))
    pictures = MultiPictureIndex.pictures(
      block.dropFirst(start), at: segment.content + Int64(start), fileSize: reader.size)
  }

  private static func block(
    _ kind: MetadataBlock.Kind, _ segment: JPEGMarkerSegment, after signature: [UInt8]
  ) -> MetadataBlock {
    MetadataBlock(kind, range(segment, after: signature))
  }

  private static func range(_ segment: JPEGMarkerSegment, after signature: [UInt8]) -> ByteRange {
    ByteRange(offset: segment.content + Int64(signature.count), length: segment.length - signature.count)
  }
}
