import MediaMetadata
import PhotoModel

/// Reads metadata blocks, wherever a container stores them.
extension MediaHeader {
  /// Records an XMP packet at a position in the file, and extracts the catalogue's values from it.
  mutating func parse(xmp range: Range<Int64>, _ reader: inout HeaderReader) throws(CodecError) {
    let range = range.clamped(to: 0..<reader.size)
    guard !range.isEmpty, !blocks.contains(where: { $0.kind == .xmp }) else { return }
    blocks.append(MetadataBlock(.xmp, ByteRange(range)))
    let packet = try reader.bytes(at: range.lowerBound, count: min(range.count, XMPPacket.maximumBytes))
    facts.read(xmp: packet)
    facts.readDescription(xmp: packet, besides: exif)
  }

  /// Records IPTC datasets at a position in the file, and extracts the catalogue's values from them.
  mutating func parse(iptc range: Range<Int64>, _ reader: inout HeaderReader) throws(CodecError) {
    let range = range.clamped(to: 0..<reader.size)
    guard !range.isEmpty else { return }
    blocks.append(MetadataBlock(.iptc, ByteRange(range)))
    facts.readDescription(
      iptc: try reader.bytes(
        at: range.lowerBound, count: min(range.count, DescriptiveMetadata.maximumIPTCBytes)))
  }

  /// Copies the metadata of a JPEG in the file, for a RAW file that has no metadata of its own.
  mutating func parse(
    metadataOf jpeg: ByteRange, in source: any ByteSource, limits: CodecLimits
  ) throws(CodecError) {
    let header = try MediaHeader.read(from: ByteSourceSlice(source, jpeg), limits: limits)
    exif = header.exif
    orientation = header.orientation
    facts = header.facts
    warnings = header.warnings
    func inFile(_ range: ByteRange) -> ByteRange {
      ByteRange(offset: jpeg.offset + range.offset, length: range.length)
    }
    blocks = header.blocks.map { MetadataBlock($0.kind, inFile($0.range)) }
    thumbnail = header.thumbnail.map(inFile)
  }

  /// Records an EXIF block of the file, and extracts the catalogue's values from it.
  ///
  /// - Parameters:
  ///   - block: starts with its TIFF header, or with the signature that precedes it in a JPEG.
  ///   - offset: the block's position in the file; `nil` if it is not in one piece.
  mutating func parse(exif block: ArraySlice<UInt8>, at offset: Int64?, length: Int) {
    guard exif.isEmpty else { return }
    let skipped = block.starts(with: EXIFSummary.signature) ? EXIFSummary.signature.count : 0
    let block = block.dropFirst(skipped).prefix(EXIFSummary.maximumBytes - EXIFSummary.signature.count)
    let parsed = EXIFSummary.parse(block)
    exif = parsed.summary
    warnings = parsed.warnings
    facts.add(MediaFacts(exifBlock: block, xmpPacket: nil))
    guard let offset else { return }
    let start = offset + Int64(skipped)
    blocks.append(MetadataBlock(.exif, ByteRange(offset: start, length: length - skipped)))
    if thumbnail == nil, let found = parsed.thumbnail {
      thumbnail = ByteRange(offset: start + Int64(found.lowerBound), length: found.count)
    }
  }
}

extension MediaFacts {
  /// Adds facts from another block. Known values are kept.
  mutating func add(_ other: MediaFacts) {
    subtypes.formUnion(other.subtypes)
    isSelfPortrait = isSelfPortrait || other.isSelfPortrait
    isLongExposure = isLongExposure || other.isLongExposure
    isAnimated = isAnimated || other.isAnimated
    burstIdentifier = burstIdentifier ?? other.burstIdentifier
    contentIdentifier = contentIdentifier ?? other.contentIdentifier
    rating = rating ?? other.rating
    descriptions.add(other.descriptions)
    capture.add(other.capture)
    regions.add(other.regions)
    edit = edit ?? other.edit
  }
}

extension ByteRange {
  init(_ range: Range<Int64>) {
    self.init(offset: range.lowerBound, length: Int(range.upperBound - range.lowerBound))
  }
}
