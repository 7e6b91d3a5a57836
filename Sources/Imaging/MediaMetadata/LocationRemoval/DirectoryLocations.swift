// Finds the locations in the directories of a TIFF structure: an EXIF block, a TIFF, or a RAW picture based on TIFF.
//
// A GPS directory keeps its place but loses its entries: the count, the entries and the offset of the next directory
// become zero, and so do the values elsewhere. The entry that points to it stays, because removing it would move the
// others. Blocks in entries (XMP, IPTC, Photoshop's resources, maker notes) are edited in place; embedded pictures are
// reported to the caller.
//
// Offsets come from the file, so a location may share its bytes with something that has to stay: everything that stays
// is noted, and a patch that touches it is an error.

/// Walks the directories from one of them.
package struct DirectoryLocations<Bytes: DirectoryBytes> {
  /// The kind of the first directory.
  package enum Root: Sendable {
    /// The first of a TIFF.
    case picture
    /// A GPS directory, as Canon's CR3 stores it: the only one of its TIFF.
    case gps
    /// Canon's maker note as the only directory of a TIFF.
    case canonNote
    /// The first of Panasonic's RW2, which has a version number of its own.
    case panasonic
    /// The first of Olympus' ORF, which has version numbers of its own, and previews in its maker note.
    case olympus
  }

  enum Kind {
    /// A picture: the next one follows, and others may be inside.
    case picture
    /// EXIF, interoperability, or another one without a next one.
    case inner
    case gps
  }

  static var maximumDirectories: Int { 512 }
  static var maximumPointers: Int { 64 }
  /// Positions of strips or tiles that are noted; a picture usually has fewer.
  static var maximumStrips: Int { 4096 }
  /// The bytes of all values of a GPS directory, or of another location.
  static var maximumValueBytes: Int { 1 << 20 }

  var bytes: Bytes
  var isBigEndian: Bool
  /// The facts to remove.
  let facts: PrivateFacts
  var found = LocationBlocks.Directories()
  /// Ranges that must not change.
  var kept: [Range<Int>] = []
  /// The camera's maker; some maker notes don't say whose they are.
  var make = ""
  private var isPanasonic = false
  private(set) var isOlympus = false
  private var waiting: [(offset: Int, kind: Kind)] = []
  private var seen: [Int: Kind] = [:]

  struct Entry {
    let tag: Int
    let type: Int
    let count: Int
    /// The position of the four bytes that hold the value or its offset.
    let valuePosition: Int
    /// The range of the value; `nil` if its type is unknown or it does not lie within the block.
    let value: Range<Int>?
    var isInline: Bool { value?.lowerBound == valuePosition }
  }

  struct Directory {
    let range: Range<Int>
    let entries: [Entry]
    let next: Int
  }

  private init(_ bytes: Bytes, isBigEndian: Bool, _ facts: PrivateFacts) {
    self.bytes = bytes
    self.facts = facts
    self.isBigEndian = isBigEndian
  }

  /// Finds the locations in a TIFF structure.
  ///
  /// - Parameter bytes: from the TIFF header.
  package static func find(
    in bytes: Bytes, from root: Root = .picture, removing facts: PrivateFacts = .locations
  ) throws(LocationRemovalError) -> LocationBlocks.Directories {
    var bytes = bytes
    guard let head = try bytes.read(at: 0, count: 8) else {
      // Too short for a directory.
      return LocationBlocks.Directories()
    }
    let isBigEndian: Bool
    switch Array(head.prefix(4)) {
    case [0x49, 0x49, 42, 0]: isBigEndian = false
    case [0x49, 0x49, 0x55, 0] where root == .panasonic: isBigEndian = false
    case Array("IIRO".utf8) where root == .olympus, Array("IIRS".utf8) where root == .olympus: isBigEndian = false
    case Array("MMOR".utf8) where root == .olympus: isBigEndian = true
    case [0x4D, 0x4D, 0, 42]: isBigEndian = true
    case [0x49, 0x49, 43, 0], [0x4D, 0x4D, 0, 43]: throw .unsupported("a BigTIFF")
    default: throw .malformed("a TIFF without its header", offset: 0)
    }
    var walk = DirectoryLocations(bytes, isBigEndian: isBigEndian, facts)
    walk.kept.append(0..<8)
    let first = walk.number(head.dropFirst(4))
    switch root {
    case .picture: walk.waiting = [(first, .picture)]
    case .panasonic:
      walk.isPanasonic = true
      walk.waiting = [(first, .picture)]
    case .olympus:
      walk.isOlympus = true
      walk.waiting = [(first, .picture)]
    case .gps: walk.waiting = [(first, .gps)]
    case .canonNote:
      if let directory = try walk.directory(at: first) { try walk.takeCanon(directory) }
    }
    while let (offset, kind) = walk.waiting.popLast() { try walk.take(offset, kind) }
    try walk.checkOverlaps()
    return walk.found
  }

  private mutating func take(_ offset: Int, _ kind: Kind) throws(LocationRemovalError) {
    if let known = seen[offset] {
      // A GPS directory must change, and any other must stay, so one directory can't be both.
      if (known == .gps) != (kind == .gps) { throw .overlap(offset: Int64(offset)) }
      return
    }
    seen[offset] = kind
    if seen.count > Self.maximumDirectories {
      throw .limitExceeded("the number of directories", limit: Self.maximumDirectories, found: seen.count)
    }
    guard let directory = try directory(at: offset) else { return }
    if kind == .gps { return try remove(directory) }
    kept.append(directory.range)
    try take(entriesOf: directory)
    if kind == .picture, directory.next >= 8 { waiting.append((directory.next, .picture)) }
  }

  // MARK: Reading

  /// The directory at an offset; `nil` if there is none. Of a directory that extends beyond the block, the entries
  /// within the block count, as for libexif.
  mutating func directory(at offset: Int, base: Int = 0) throws(LocationRemovalError) -> Directory? {
    guard offset >= 0, let head = try bytes.read(at: offset, count: 2) else { return nil }
    let count = min(number(head), (bytes.count - offset - 2) / 12)
    guard let body = try bytes.read(at: offset + 2, count: count * 12) else { return nil }
    let entries = (0..<count).map { i in
      let entry = body.dropFirst(i * 12).prefix(12)
      let (type, values) = (number(entry.dropFirst(2).prefix(2)), number(entry.dropFirst(4).prefix(4)))
      let position = offset + 2 + i * 12 + 8
      return Entry(
        tag: number(entry.prefix(2)), type: type, count: values, valuePosition: position,
        value: range(
          type: type, count: values, inline: position, offset: base + number(entry.dropFirst(8).prefix(4))))
    }
    let end = offset + 2 + count * 12
    let next = try bytes.read(at: end, count: 4)
    return Directory(
      range: offset..<(next == nil ? end : end + 4), entries: entries, next: next.map { number($0) } ?? 0)
  }

  private func range(type: Int, count: Int, inline: Int, offset: Int) -> Range<Int>? {
    guard let unit = TIFFBlock.typeBytes(type), count > 0 else { return nil }
    let length = unit * count
    if length <= 4 { return inline..<inline + length }
    return offset >= 0 && offset <= bytes.count - length ? offset..<offset + length : nil
  }

  func number(_ bytes: ArraySlice<UInt8>) -> Int {
    let bytes = bytes.prefix(4)
    return isBigEndian ? bytes.reduce(0) { $0 << 8 | Int($1) } : bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// The integers of an entry, SHORT or of four bytes, up to a limit.
  mutating func numbers(of entry: Entry, limit: Int) throws(LocationRemovalError) -> [Int] {
    guard let value = entry.value, let unit = TIFFBlock.typeBytes(entry.type), unit == 2 || unit == 4 else { return [] }
    guard let content = try bytes.read(at: value.lowerBound, count: min(value.count, limit * unit)) else { return [] }
    return stride(from: 0, to: content.count, by: unit).map { number(content.dropFirst($0).prefix(unit)) }
  }

  /// All bytes of a block in an entry.
  mutating func content(_ range: Range<Int>) throws(LocationRemovalError) -> ArraySlice<UInt8> {
    guard let content = try bytes.read(at: range.lowerBound, count: range.count) else {
      throw .malformed("a value beyond its block", offset: Int64(range.lowerBound))
    }
    return content
  }

  // MARK: Entries

  private mutating func take(entriesOf directory: Directory) throws(LocationRemovalError) {
    var thumbnail: (offset: Int?, length: Int?)
    var strips: (offsets: [Int], lengths: [Int], isJPEG: Bool) = ([], [], false)
    for entry in directory.entries {
      switch entry.tag {
      case 0x010F:
        if let value = entry.value, value.count <= 256 { make = MetadataText.decoded(try content(value)) }
        keep(entry)
      case 0x8825: try follow(entry, .gps)
      case 0x8769, 0xA005: try follow(entry, .inner)
      case 0x014A: try follow(entry, .picture)
      case 0x02BC:
        let facts = facts
        try edit(entry) { block throws(LocationRemovalError) in XMPLocations.patches(block, removing: facts) }
      case 0x83BB: try edit(entry) { block throws(LocationRemovalError) in IPTCLocations.patches(block) }
      case 0x8649: try takeResources(entry)
      // A signed manifest of C2PA.
      case 0xCD41: try edit(entry) { block throws(LocationRemovalError) in ManifestLocations.patches(block) }
      case 0x927C where isOlympus: try takeOlympusNote(entry)
      case 0x927C: try takeNote(entry)
      case 0xC634: try takePrivateData(entry)
      // A JPEG with the metadata of the picture (ExifTool, "PanasonicRaw Tags").
      case 0x002E where isPanasonic: try takeJPEG(entry)
      // The original file, compressed.
      case 0xC68C: throw .unsupported("a DNG that contains its original file")
      // GeoTIFF (OGC 19-008r4 §7.1): scale, tie points, transformation, keys and their parameters.
      case 0x830E, 0x8480, 0x8482, 0x85D8, 0x87B0, 0x87B1: if let value = entry.value { try zero(value) }
      // GDAL's metadata, and the rational polynomials of a satellite's picture, which count from its centre.
      case 0xA480, 0xC69C: if let value = entry.value { try zero(value) }
      case 0x87AF: try removeKeys(entry)
      case 0x0201:
        thumbnail.offset = try numbers(of: entry, limit: 1).first
        keep(entry)
      case 0x0202:
        thumbnail.length = try numbers(of: entry, limit: 1).first
        keep(entry)
      case 0x0103:
        strips.isJPEG = try [6, 7].contains(numbers(of: entry, limit: 1).first ?? 0)
        keep(entry)
      case 0x0111, 0x0144:
        strips.offsets += try numbers(of: entry, limit: Self.maximumStrips)
        keep(entry)
      case 0x0117, 0x0145:
        strips.lengths += try numbers(of: entry, limit: Self.maximumStrips)
        keep(entry)
      default: keep(entry)
      }
    }
    if let offset = thumbnail.offset, let length = thumbnail.length { try takePicture(at: offset, length) }
    if strips.isJPEG, strips.offsets.count == 1, let length = strips.lengths.first {
      try takePicture(at: strips.offsets[0], length)
    } else {
      for (offset, length) in zip(strips.offsets, strips.lengths) where offset > 0 && length > 0 {
        kept.append(offset..<offset + length)
      }
    }
  }

  /// Notes that the value of an entry must not change. Inline values are within the range of their directory.
  mutating func keep(_ entry: Entry) {
    if let range = entry.value, !entry.isInline { kept.append(range) }
  }

  /// Follows an entry that points to directories, and has to stay.
  private mutating func follow(_ entry: Entry, _ kind: Kind) throws(LocationRemovalError) {
    keep(entry)
    var offsets = try numbers(of: entry, limit: Self.maximumPointers + 1)
    // Some readers use the four bytes as an offset, regardless of type and count.
    if offsets.count != 1 || entry.type == 3, let four = try bytes.read(at: entry.valuePosition, count: 4),
      kind != .picture || offsets.isEmpty
    {
      offsets.append(number(four))
    }
    if offsets.count > Self.maximumPointers {
      throw .limitExceeded("the number of inner directories", limit: Self.maximumPointers, found: entry.count)
    }
    for offset in offsets {
      if offset >= 8 {
        waiting.append((offset, kind))
      } else if kind == .gps {
        // libexif reads such a directory. It begins in the header, which must stay, and may contain coordinates.
        throw .malformed("a GPS directory in the header", offset: Int64(entry.valuePosition))
      }
    }
  }

  /// Edits a block in the value of an entry.
  private mutating func edit(
    _ entry: Entry, _ patches: (ArraySlice<UInt8>) throws(LocationRemovalError) -> [BlockPatch]
  ) throws(LocationRemovalError) {
    guard let value = entry.value else { return }
    let block = try content(value)
    add(try patches(block), at: value.lowerBound)
  }

  private mutating func takeResources(_ entry: Entry) throws(LocationRemovalError) {
    guard let value = entry.value else { return }
    let block = try content(value)
    let inner = try ImageResourceLocations.find(in: block, removing: facts)
    add(inner.patches, at: value.lowerBound)
    found.pictures += inner.pictures.map { $0.lowerBound + value.lowerBound..<$0.upperBound + value.lowerBound }
  }

  mutating func add(_ patches: [BlockPatch], at start: Int) {
    found.patches += patches.map { BlockPatch(offset: $0.offset + start, bytes: $0.bytes) }
  }

  /// Reports an embedded JPEG. A range that ends beyond the block ends with it.
  mutating func takePicture(at offset: Int, _ length: Int) throws(LocationRemovalError) {
    guard offset > 0, length >= 4, offset < bytes.count, let start = try bytes.read(at: offset, count: 2),
      start.elementsEqual([0xFF, 0xD8])
    else { return }
    found.pictures.append(offset..<min(offset + length, bytes.count))
  }

  /// Reports the JPEG in the value of an entry.
  private mutating func takeJPEG(_ entry: Entry) throws(LocationRemovalError) {
    guard let value = entry.value, value.count >= 4,
      try bytes.read(at: value.lowerBound, count: 2)?.elementsEqual([0xFF, 0xD8]) == true
    else { throw .unsupported("a preview that is not a JPEG") }
    found.pictures.append(value)
  }

  // MARK: Removing

  private mutating func remove(_ directory: Directory) throws(LocationRemovalError) {
    try zero(directory.range)
    var total = 0
    for entry in directory.entries where !entry.isInline {
      guard let value = entry.value else { continue }
      total += value.count
      if total > Self.maximumValueBytes {
        throw .limitExceeded("the size of a GPS directory's values", limit: Self.maximumValueBytes, found: total)
      }
      try zero(value)
    }
  }

  mutating func zero(_ range: Range<Int>) throws(LocationRemovalError) { try fill(range, 0) }

  mutating func fill(_ range: Range<Int>, _ byte: UInt8) throws(LocationRemovalError) {
    if range.count > Self.maximumValueBytes {
      throw .limitExceeded("the number of bytes to erase", limit: Self.maximumValueBytes, found: range.count)
    }
    let old = try content(range)
    add(BlockPatch.differences(from: old, to: [UInt8](repeating: byte, count: range.count)), at: range.lowerBound)
  }

  /// Leaves GeoTIFF's directory of keys without keys.
  private mutating func removeKeys(_ entry: Entry) throws(LocationRemovalError) {
    // Its header: two versions, a revision, the number of keys.
    guard let value = entry.value, value.count > 6 else { return }
    try zero(value.lowerBound + 6..<value.upperBound)
  }

  /// - Throws: `overlap` if a patch touches a range that must not change.
  private func checkOverlaps() throws(LocationRemovalError) {
    guard !found.patches.isEmpty else { return }
    let patches = found.patches.sorted { $0.offset < $1.offset }
    let kept = kept.sorted { $0.lowerBound < $1.lowerBound }
    // The next kept range, and the furthest end of the kept ranges before it.
    var (index, end) = (0, 0)
    for patch in patches {
      let patchEnd = patch.offset + patch.bytes.count
      while index < kept.count, kept[index].lowerBound < patchEnd {
        // Kept ranges may overlap: one that starts earlier may end later.
        end = max(end, kept[index].upperBound)
        index += 1
      }
      if end > patch.offset { throw .overlap(offset: Int64(patch.offset)) }
    }
  }
}
