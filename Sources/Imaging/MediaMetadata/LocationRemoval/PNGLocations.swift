import CZlib

/// Finds the locations in a PNG's metadata chunks (PNG third edition §11.3.3 and §11.3.5.4).
package enum PNGLocations {
  /// The change of a chunk. Its checksum changes too.
  package enum Change: Sendable, Hashable {
    case nothing
    /// Patches of its content; embedded pictures are in `pictures`.
    case patches(LocationBlocks.Directories)
    /// It becomes ``privateType``, filled with zeros: it holds a location and is compressed or signed, so it can't be
    /// edited in place; or its kind is not known, so it may hold one.
    case removal
  }

  /// The type that takes the place of a removed chunk: ancillary, private, safe to copy (§5.4).
  package static let privateType: [UInt8] = Array("plZz".utf8)

  /// The chunk types that hold nothing but the picture, its frames, colours and measures (PNG third edition §11.2 and
  /// §11.3, with the names `mDCv` and `cLLi` of its drafts; PNG extensions 1.5.0, and those of Apple and ImageMagick).
  /// They are not examined.
  package static let pictureTypes: Set<String> = [
    "IHDR", "PLTE", "IDAT", "IEND", "CgBI", "acTL", "fcTL", "fdAT", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB",
    "cICP", "mDCV", "mDCv", "cLLI", "cLLi", "gmAP", "bKGD", "hIST", "pHYs", "sPLT", "tIME", "oFFs", "pCAL", "sCAL",
    "sTER", "gIFg", "iDOT", "caNv", "vpAg", "orNT",
  ]

  /// The chunk types with metadata that ``change(of:_:removing:)`` can read: EXIF, text, a signed manifest, and a gain
  /// map, which is a file of its own.
  package static let metadataTypes: Set<String> = ["eXIf", "tEXt", "zTXt", "iTXt", "caBX", "gdAT"]

  /// The checksum of a chunk (§5.5).
  package static func checksum(type: [UInt8], _ content: [UInt8]) -> [UInt8] {
    let sum = crc32(crc32(0, type, uInt(type.count)), content, uInt(content.count))
    return bigEndian(sum)
  }

  /// The checksum of a chunk that holds this many zeros. They are not in memory together.
  package static func checksum(type: [UInt8], zeros count: Int) -> [UInt8] {
    let zeros = [UInt8](repeating: 0, count: 65_536)
    var sum = crc32(0, type, uInt(type.count))
    var rest = count
    while rest > 0 {
      let length = min(rest, zeros.count)
      sum = crc32(sum, zeros, uInt(length))
      rest -= length
    }
    return bigEndian(sum)
  }

  private static func bigEndian(_ sum: uLong) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * uLong($0))) }
  }

  /// - Parameters:
  ///   - type: not one of ``pictureTypes``. Of a type that is not one of ``metadataTypes``, nothing is known.
  ///   - content: the chunk's whole content.
  package static func change(
    of type: String, _ content: ArraySlice<UInt8>, removing facts: PrivateFacts = .locations
  ) throws(LocationRemovalError) -> Change {
    switch type {
    case "eXIf": return Change(try exif(content, facts))
    case "tEXt", "zTXt", "iTXt": return try textChunk(type, content, facts)
    case "caBX": return ManifestLocations.patches(content).isEmpty ? .nothing : .removal
    case "gdAT": return content.isEmpty ? .nothing : .patches(LocationBlocks.Directories(pictures: [0..<content.count]))
    default:
      let isRemoved = type.utf8.elementsEqual(privateType) && content.allSatisfy { $0 == 0 }
      return isRemoved ? .nothing : .removal
    }
  }

  private static func textChunk(
    _ type: String, _ content: ArraySlice<UInt8>, _ facts: PrivateFacts
  ) throws(LocationRemovalError) -> Change {
    guard let end = content.firstIndex(of: 0) else { return .nothing }
    let keyword = String(decoding: content[..<end], as: UTF8.self)
    var rest = content[(end + 1)...]
    var isDeflated = type == "zTXt"
    if type == "zTXt" { rest = rest.dropFirst() }
    if type == "iTXt" {
      isDeflated = rest.first == 1
      // The flag and the method; then the language and the translated keyword, each up to a NUL.
      rest = rest.dropFirst(2)
      for _ in 0..<2 {
        guard let end = rest.firstIndex(of: 0) else { return .nothing }
        rest = rest[(end + 1)...]
      }
    }
    if isDeflated { return try deflated(keyword, rest, facts) }
    var found = try text(keyword, rest, facts)
    let start = rest.startIndex - content.startIndex
    found.patches = found.patches.map { BlockPatch(offset: $0.offset + start, bytes: $0.bytes) }
    found.pictures = found.pictures.map { $0.lowerBound + start..<$0.upperBound + start }
    return Change(found)
  }

  private static func deflated(
    _ keyword: String, _ stream: ArraySlice<UInt8>, _ facts: PrivateFacts
  ) throws(LocationRemovalError) -> Change {
    guard isMetadata(keyword) || LocationFilter.isLocationKey(keyword) else {
      // Free text, unless it is a coordinate.
      let text = RawProfile.inflated(stream, limit: MetadataLimits.textBytes)
      return text.map { isCoordinate($0[...]) } == true ? .removal : .nothing
    }
    // Text that can't be inflated can't be examined.
    guard let text = RawProfile.inflated(stream, limit: MetadataLimits.packetBytes) else { return .removal }
    let found = try self.text(keyword, text[...], facts)
    return found.patches.isEmpty && found.pictures.isEmpty ? .nothing : .removal
  }

  /// The changes of a text, relative to its first byte.
  private static func text(
    _ keyword: String, _ text: ArraySlice<UInt8>, _ facts: PrivateFacts
  ) throws(LocationRemovalError) -> LocationBlocks.Directories {
    var found = LocationBlocks.Directories()
    if keyword == XMPPacket.keyword {
      found.patches = XMPLocations.patches(text, removing: facts)
    } else if isMetadata(keyword) {
      found.patches = try profile(text, facts)
    } else if LocationFilter.isLocationKey(keyword) || isCoordinate(text) {
      found.patches = spaces(text)
    }
    return found
  }

  private static func isMetadata(_ keyword: String) -> Bool {
    keyword == XMPPacket.keyword || keyword.utf8.starts(with: RawProfile.keyword)
  }

  private static func isCoordinate(_ text: ArraySlice<UInt8>) -> Bool {
    LocationFilter.isLocation(text: String(decoding: text.drop { $0 <= 0x20 }.prefix(8), as: UTF8.self))
  }

  private static func spaces(_ text: ArraySlice<UInt8>) -> [BlockPatch] {
    BlockPatch.differences(from: text, to: [UInt8](repeating: UInt8(ascii: " "), count: text.count))
  }

  /// Edits the hexadecimal digits of a block that ImageMagick or ExifTool wrote as text: see ``RawProfile``. One that
  /// should hold metadata but can't be read becomes spaces.
  private static func profile(
    _ text: ArraySlice<UInt8>, _ facts: PrivateFacts
  ) throws(LocationRemovalError) -> [BlockPatch] {
    let lines = text.split(maxSplits: 2) { $0 == 0x0A }
    let name = String(decoding: (lines.first ?? []).prefix { $0 > 0x20 }, as: UTF8.self).lowercased()
    guard ["exif", "app1", "xmp", "iptc", "8bim"].contains(name) else { return [] }
    guard lines.count == 3, let block = RawProfile.bytes(lines[2]),
      let found = try profile(name, block, facts)
    else { return spaces(text) }
    let digits = lines[2].indices.filter { text[$0] > 0x20 }
    var edited = Array(text)
    for patch in found.patches {
      for (i, byte) in patch.bytes.enumerated() {
        let position = (patch.offset + i) * 2
        edited[digits[position] - text.startIndex] = digit(byte >> 4)
        edited[digits[position + 1] - text.startIndex] = digit(byte & 15)
      }
    }
    try checkPictures(found.pictures, of: block)
    return BlockPatch.differences(from: text, to: edited)
  }

  /// The change of a profile; `nil` if its kind is not known.
  private static func profile(
    _ name: String, _ block: [UInt8], _ facts: PrivateFacts
  ) throws(LocationRemovalError) -> LocationBlocks.Directories? {
    var found = LocationBlocks.Directories()
    if block.starts(with: XMPPacket.signature) {
      let start = XMPPacket.signature.count
      found.patches = XMPLocations.patches(block[start...], removing: facts).map {
        BlockPatch(offset: $0.offset + start, bytes: $0.bytes)
      }
    } else if name == "xmp" {
      found.patches = XMPLocations.patches(block[...], removing: facts)
    } else if name == "iptc" || name == "8bim" {
      guard block.first == 0x1C || block.starts(with: "8BIM".utf8) else { return nil }
      if block.first != 0x1C { return try ImageResourceLocations.find(in: block[...], removing: facts) }
      found.patches = IPTCLocations.patches(block[...])
    } else {
      guard TIFFBlock(block.starts(with: EXIFSummary.signature) ? block.dropFirst(6) : block[...]) != nil else {
        return nil
      }
      return try exif(block[...], facts)
    }
    return found
  }

  /// A thumbnail in hexadecimal digits can't be examined as a file; one with metadata is refused.
  private static func checkPictures(
    _ pictures: [Range<Int>], of block: [UInt8]
  ) throws(LocationRemovalError) {
    for picture in pictures {
      let bytes = block[picture]
      let hasMetadata = zip(bytes, bytes.dropFirst()).contains { $0 == 0xFF && ($1 == 0xE1 || $1 == 0xED) }
      if hasMetadata { throw .unsupported("a thumbnail with metadata in a PNG's text") }
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func exif(
    _ content: ArraySlice<UInt8>, _ facts: PrivateFacts
  ) throws(LocationRemovalError) -> LocationBlocks.Directories {
    // Some writers keep the signature of a JPEG's segment.
    let skipped = content.starts(with: EXIFSummary.signature) ? EXIFSummary.signature.count : 0
    var found = try LocationBlocks.exif(content.dropFirst(skipped), removing: facts)
    found.patches = found.patches.map { BlockPatch(offset: $0.offset + skipped, bytes: $0.bytes) }
    found.pictures = found.pictures.map { $0.lowerBound + skipped..<$0.upperBound + skipped }
    return found
  }
}

extension PNGLocations.Change {
  fileprivate init(_ found: LocationBlocks.Directories) {
    self = found.patches.isEmpty && found.pictures.isEmpty ? .nothing : .patches(found)
  }
}
