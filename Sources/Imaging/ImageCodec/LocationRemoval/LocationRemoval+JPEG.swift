import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// JPEG: all segments from SOI to the first scan, the pictures that its multi-picture index names, and, for the file
  /// itself, what follows the picture. Segments between the scans of a progressive picture are not found: no program
  /// writes metadata there, and they can't be found without reading the picture.
  static func jpeg(_ range: Range<Int64>, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    var metadata = JPEGLocations()
    let firstScan = try segments(of: range, &metadata, &context)
    try metadata.remove(&context)
    for picture in metadata.pictures {
      let start = try context.head(of: picture, count: 2)
      if start.elementsEqual([0xFF, 0xD8]) { try context.removePicture(in: picture) }
    }
    guard context.isOutermost, let firstScan else { return }
    let tail = JPEGTail(
      file: range, firstScan: firstScan, indexedPictures: metadata.pictures, packets: metadata.packets)
    try self.tail(tail, &context)
    try trailers(range, &context)
  }

  /// Collects the metadata of all segments. The position of the first scan; `nil` if the picture ends before it, which
  /// only an embedded one may.
  private static func segments(
    of range: Range<Int64>, _ metadata: inout JPEGLocations, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64? {
    var limits = CodecLimits()
    limits.headerSegments = context.limits.structures
    var segments = JPEGSegments(limits: limits, at: range.lowerBound)
    while true {
      try context.countStructure()
      let segment: JPEGMarkerSegment
      do throws(CodecError) {
        segment = try segments.next(&context.reader)
      } catch {
        guard !context.isOutermost else { throw LocationRemovalError(error) }
        // An embedded picture may end here: all of its segments have been taken.
        if case .truncated = error { return nil }
        if case .malformed(_, let offset?) = error,
          try context.head(of: offset..<max(offset, range.upperBound), count: 2).elementsEqual([0xFF, 0xD9])
        {
          return nil
        }
        throw LocationRemovalError(error)
      }
      let isMetadata = (0xE0...0xEF).contains(segment.marker)
      // Keep the marker and the length, and the content of segments that the decoder needs.
      context.keep(segment.content - 4..<segment.content + (isMetadata ? 0 : Int64(segment.length)))
      if segment.marker == JPEGSegments.startOfScan { return segment.content }
      let content = segment.content..<segment.content + Int64(segment.length)
      guard content.upperBound <= range.upperBound else {
        if !context.isOutermost { return nil }
        throw .malformed("a segment that ends after the file", offset: segment.content)
      }
      if isMetadata { try metadata.take(segment.marker, content, &context) }
    }
  }
}

/// The metadata of a JPEG's segments. Blocks that may continue in another segment are joined before they are examined.
struct JPEGLocations {
  /// The pictures that the multi-picture index names.
  private(set) var pictures: [Range<Int64>] = []
  /// The XMP packets as they are in the file.
  private(set) var packets: [ArraySlice<UInt8>] = []

  private var exif: [JoinedBlock] = []
  private var resources: [JoinedBlock] = []
  private var thermal = JoinedBlock()
  private var manifest = JoinedBlock()
  private var xmp: [(block: ArraySlice<UInt8>, start: Int64)] = []
  private var extensions: [(part: ArraySlice<UInt8>, start: Int64)] = []

  private static let resourceSignatures = [ImageResources.signature, Array("Adobe_Photoshop2.5:".utf8)]
  private static let thermalSignature = Array("FLIR".utf8) + [0]
  private static let signatureBytes = 64

  /// Reads a segment if it may hold locations.
  mutating func take(
    _ marker: UInt8, _ content: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let head = Array(try context.head(of: content, count: Self.signatureBytes))
    func starts(_ text: String) -> Bool { head.starts(with: Array(text.utf8)) }
    // Some cameras write a few bytes before the signature.
    if let skipped = (0...4).first(where: { head.dropFirst($0).starts(with: "Exif\0".utf8) }), marker != 0xEB {
      return try takeEXIF(content, skipped + EXIFSummary.signature.count, &context)
    }
    switch marker {
    // A thumbnail as a JPEG (JFIF 1.02, extension code 0x10).
    case 0xE0 where starts("JFXX\0\u{10}"):
      if head.dropFirst(6).starts(with: [0xFF, 0xD8]) {
        try context.removePicture(in: content.lowerBound + 6..<content.upperBound)
      }
    case 0xE1:
      if head.starts(with: XMPPacket.extensionSignature) {
        let start = content.lowerBound + Int64(XMPPacket.extensionSignature.count)
        extensions.append((try context.block(start..<content.upperBound), start))
      } else if head.starts(with: Self.thermalSignature) {
        let block = try context.block(content)
        // Signature, one byte, the number of the part and of the last one.
        thermal.append(block.dropFirst(8), at: content.lowerBound + 8)
      } else {
        try takeXMP(content, &context)
      }
    case 0xE2 where starts("MPF\0"): try takeIndex(content, &context)
    // Kodak's and Epson's directories.
    case 0xE3 where starts("Meta\0\0") || starts("META\0\0"), 0xE6 where starts("EPPIM\0"):
      try takeEXIF(content, 6, &context)
    // Ricoh's labels, among them names of places, barcodes and coordinates.
    case 0xE5 where starts("RMETA\0"): try context.zero(content.lowerBound + 6..<content.upperBound)
    // GoPro's telemetry.
    case 0xE6 where starts("GoPro\0"):
      let block = Array(try context.block(content))
      if LocationRemovalContext.find(Array("GPS".utf8), in: block) {
        try context.zero(content.lowerBound + 6..<content.upperBound)
      }
    // Boxes (ISO 19566-5) after `JP`, two bytes of an instance and four of a number: signed manifests.
    case 0xEB where starts("JP"):
      manifest.append(try context.block(content).dropFirst(8), at: content.lowerBound + 8)
    // A camera's settings as text.
    case 0xEC where !starts("Ducky"):
      if LocationWords.areIn(try context.block(content)) { try context.zero(content) }
    case 0xED:
      guard let signature = Self.resourceSignatures.first(where: { head.starts(with: $0) }) else { break }
      let block = try context.block(content).dropFirst(signature.count)
      // A resource may continue in the next segment.
      if resources.isEmpty || block.starts(with: "8BIM".utf8) { resources.append(JoinedBlock()) }
      resources[resources.count - 1].append(block, at: content.lowerBound + Int64(signature.count))
    default: break
    }
  }

  /// Removes the locations in the blocks.
  func remove(_ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    for block in exif {
      try block.replace(LocationBlocks.exif(block.bytes[...], removing: context.facts), &context)
    }
    for block in resources {
      try block.replace(LocationBlocks.imageResources(block.bytes[...], removing: context.facts), &context)
    }
    if !thermal.bytes.isEmpty { try thermal.replace(ThermalRecords.patches(thermal.bytes), &context) }
    try manifest.replace(ManifestLocations.patches(manifest.bytes[...]), &context)
    try removeXMP(&context)
  }

  private mutating func takeEXIF(
    _ content: Range<Int64>, _ skipped: Int, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let block = try context.block(content).dropFirst(skipped)
    let start = content.lowerBound + Int64(skipped)
    // A block of more than one segment repeats the signature, but not the header.
    if exif.isEmpty || block.starts(with: "II".utf8) || block.starts(with: "MM".utf8) { exif.append(JoinedBlock()) }
    exif[exif.count - 1].append(block, at: start)
  }

  /// XMP after its signature, or after another one that some programs write.
  private mutating func takeXMP(
    _ content: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let block = try context.block(content)
    var packet = block.dropFirst(XMPPacket.signature.count)
    if !block.starts(with: XMPPacket.signature) {
      let bytes = Array(block)
      guard
        ["<rdf:", "<x:xmpmeta", "<?xpacket"].contains(where: { LocationRemovalContext.find(Array($0.utf8), in: bytes) })
      else { return }
      packet = block.drop { $0 != UInt8(ascii: "<") }
    }
    packets.append(packet)
    xmp.append((packet, content.lowerBound + Int64(packet.startIndex - block.startIndex)))
  }

  /// The multi-picture index (CIPA DC-007 §5.2.3).
  private mutating func takeIndex(
    _ content: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let start = content.lowerBound + Int64(MultiPictureIndex.signature.count)
    let block = try context.block(content).dropFirst(MultiPictureIndex.signature.count)
    guard let tiff = TIFFBlock(block), let index = tiff.firstDirectory else { return }
    for entry in index.entries where entry.tag == 0xB002 {
      guard let table = tiff.content(entry) else { continue }
      for i in 0..<table.count / 16 {
        try context.countStructure()
        let position = table.startIndex - block.startIndex + i * 16
        guard let size = tiff.number(at: position + 4, bytes: 4), let offset = tiff.number(at: position + 8, bytes: 4),
          // The first picture's offset is 0.
          offset > 0, size >= 4, start + Int64(offset) < context.fileSize
        else { continue }
        let first = start + Int64(offset)
        pictures.append(first..<min(first + Int64(size), context.fileSize))
      }
    }
  }

  /// An extended packet is examined as a whole. Its digest, by which the packet names it, changes with its content.
  private func removeXMP(_ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    var edited: [(old: ArraySlice<UInt8>, new: [UInt8], start: Int64)] = []
    for (block, start) in xmp { edited.append((block, try XMPEdit.edited(block, removing: context.facts), start)) }
    for group in ExtendedPacket.groups(extensions) {
      let new = try group.edited(removing: context.facts)
      if group.isComplete, new == group.bytes { continue }
      try group.replace(new, &context)
      guard group.isComplete else { continue }
      for i in edited.indices { XMPEdit.replace(group.digits, by: MD5.digits(new), in: &edited[i].new) }
    }
    for packet in edited {
      try context.replace(BlockPatch.differences(from: packet.old, to: packet.new), in: packet.start)
    }
  }
}
