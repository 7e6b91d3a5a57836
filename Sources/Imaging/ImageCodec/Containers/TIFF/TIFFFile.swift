import MediaMetadata

/// A TIFF whose directories may be anywhere in a file, or in a part of one (TIFF 6.0 §2). It is read entry by entry,
/// because a RAW picture may have its directories after megabytes of samples. Every offset comes from the file, so
/// every access is checked.
struct TIFFFile {
  struct Entry {
    let tag: Int
    /// TIFF 6.0 §2, "Types".
    let type: Int
    let count: Int
    /// The position of the value in the file, possibly in the entry itself; `nil` if it is not within the part.
    let value: Range<Int64>?
  }

  struct Directory {
    let offset: Int
    let entries: [Entry]
    /// The offset of the next directory; 0 if there is none.
    let next: Int

    subscript(tag: TIFFTag) -> Entry? { self[tag.rawValue] }
    subscript(tag: PanasonicTag) -> Entry? { self[tag.rawValue] }
    subscript(tag: OlympusTag) -> Entry? { self[tag.rawValue] }

    private subscript(number: Int) -> Entry? { entries.first { $0.tag == number } }
  }

  let isBigEndian: Bool
  let firstOffset: Int
  private let range: Range<Int64>

  /// - Parameter range: the part of the file to which offsets are relative.
  /// - Throws: `malformed` if it is not a TIFF, `unsupported` for a BigTIFF.
  init(_ reader: inout HeaderReader, in range: Range<Int64>) throws(CodecError) {
    self.range = range
    let head = try reader.wholeBytes(at: range.lowerBound, count: 8)
    guard let order = Self.order(head) ?? Self.variant(head)?.isBigEndian else {
      throw .malformed("a TIFF without its header", offset: range.lowerBound)
    }
    isBigEndian = order
    let version = order ? head.bigEndian(at: 2, bytes: 2) : head.littleEndian(at: 2, bytes: 2)
    if version == 43 { throw .unsupported("a BigTIFF picture") }
    firstOffset = order ? head.bigEndian(at: 4, bytes: 4) : head.littleEndian(at: 4, bytes: 4)
  }

  /// Directories without a TIFF's header, such as those of a maker note.
  ///
  /// - Parameter firstOffset: counts from the start of the range.
  init(in range: Range<Int64>, isBigEndian: Bool, firstOffset: Int) {
    self.range = range
    self.isBigEndian = isBigEndian
    self.firstOffset = firstOffset
  }

  /// The RAW format of a TIFF with a version number of its own, and whether its byte order is big-endian; `nil` for
  /// other files. ORF is Olympus' format, RW2 Panasonic's.
  static func variant(_ bytes: ArraySlice<UInt8>) -> (format: MediaFormat, isBigEndian: Bool)? {
    switch Array(bytes.prefix(4)) {
    case Array("IIRO".utf8), Array("IIRS".utf8): (.orf, false)
    case Array("MMOR".utf8): (.orf, true)
    case [0x49, 0x49, 0x55, 0]: (.rw2, false)
    default: nil
    }
  }

  /// Whether the byte order is big-endian; `nil` if these bytes do not start a TIFF.
  static func order(_ bytes: ArraySlice<UInt8>) -> Bool? {
    switch Array(bytes.prefix(4)) {
    case [0x49, 0x49, 42, 0], [0x49, 0x49, 43, 0]: false
    case [0x4D, 0x4D, 0, 42], [0x4D, 0x4D, 0, 43]: true
    default: nil
    }
  }

  /// The directory at an offset; `nil` if it is not completely within the part.
  func directory(at offset: Int, _ reader: inout HeaderReader) throws(CodecError) -> Directory? {
    guard offset >= 8, let start = place(offset, 2) else { return nil }
    let count = number(try reader.bytes(at: start.lowerBound, count: 2), at: 0, 2)
    if count > ContainerLimits.entries {
      throw .limitExceeded("the number of a directory's entries", limit: ContainerLimits.entries, found: count)
    }
    guard place(offset + 2, count * 12) != nil else { return nil }
    // The last four bytes may be missing; there is then no further directory.
    let bytes = try reader.bytes(at: start.lowerBound + 2, count: count * 12 + 4)
    guard bytes.count >= count * 12 else { return nil }
    let entries = (0..<count).map { i -> Entry in
      let type = number(bytes, at: i * 12 + 2, 2)
      let values = number(bytes, at: i * 12 + 4, 4)
      let length = values * (TIFFBlock.typeBytes(type) ?? 0)
      let inline = start.lowerBound + 2 + Int64(i * 12 + 8)
      let value =
        length == 0
        ? nil : length <= 4 ? inline..<inline + Int64(length) : place(number(bytes, at: i * 12 + 8, 4), length)
      return Entry(tag: number(bytes, at: i * 12, 2), type: type, count: values, value: value)
    }
    return Directory(offset: offset, entries: entries, next: number(bytes, at: count * 12, 4))
  }

  /// An entry's bytes, if they are at most `limit`.
  func bytes(
    of entry: Entry, atMost limit: Int, _ reader: inout HeaderReader
  ) throws(CodecError) -> ArraySlice<UInt8>? {
    guard let value = entry.value, value.count <= limit else { return nil }
    let bytes = try reader.bytes(at: value.lowerBound, count: value.count)
    return bytes.count == value.count ? bytes : nil
  }

  /// The first integers of an entry, at most `limit`; rationals are rounded. Empty for an entry of another type.
  func numbers(of entry: Entry?, atMost limit: Int, _ reader: inout HeaderReader) throws(CodecError) -> [Int] {
    guard let entry, let value = entry.value, let size = TIFFBlock.typeBytes(entry.type) else { return [] }
    let count = min(entry.count, limit)
    let bytes = try reader.bytes(at: value.lowerBound, count: count * size)
    guard bytes.count == count * size else { return [] }
    return (0..<count).compactMap { i in
      switch entry.type {
      case 1, 3, 4, 13: return number(bytes, at: i * size, size)
      case 5:
        let denominator = number(bytes, at: i * 8 + 4, 4)
        return denominator == 0 ? nil : (number(bytes, at: i * 8, 4) + denominator / 2) / denominator
      default: return nil
      }
    }
  }

  func number(of entry: Entry?, _ reader: inout HeaderReader) throws(CodecError) -> Int? {
    try numbers(of: entry, atMost: 1, &reader).first
  }

  /// An entry's text up to its NUL, within the length limit.
  func text(of entry: Entry?, _ reader: inout HeaderReader) throws(CodecError) -> String? {
    guard let entry, entry.type == 2, let bytes = try bytes(of: entry, atMost: ContainerLimits.valueBytes, &reader)
    else {
      return nil
    }
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  /// The position in the file of `length` bytes at an offset; `nil` if they are not within the part.
  func place(_ offset: Int, _ length: Int) -> Range<Int64>? {
    guard offset >= 0, length >= 0, Int64(offset) + Int64(length) <= range.upperBound - range.lowerBound else {
      return nil
    }
    return range.lowerBound + Int64(offset)..<range.lowerBound + Int64(offset) + Int64(length)
  }

  private func number(_ bytes: ArraySlice<UInt8>, at position: Int, _ count: Int) -> Int {
    guard bytes.count >= position + count else { return 0 }
    return isBigEndian ? bytes.bigEndian(at: position, bytes: count) : bytes.littleEndian(at: position, bytes: count)
  }
}

/// Tags of directories; from TIFF 6.0 unless noted otherwise.
enum TIFFTag: Int {
  case newSubfileType = 254
  case imageWidth = 256
  case imageLength = 257
  case compression = 259
  case photometricInterpretation = 262
  case make = 271
  case stripOffsets = 273
  case stripByteCounts = 279
  /// TIFF Technical Note 1.
  case subIFDs = 330
  case extraSamples = 338
  case jpegOffset = 513
  case jpegLength = 514
  /// XMP specification part 3 §1.1.7.
  case xmp = 700
  /// TIFF/EP (ISO 12234-2); the EXIF and GPS directories are from CIPA DC-008 §4.6.3.
  case iptc = 33_723
  case exifDirectory = 34_665
  case gpsDirectory = 34_853
  case makerNote = 37_500
  case colorSpace = 40_961
  case pixelXDimension = 40_962
  case pixelYDimension = 40_963
  case interoperability = 40_965
  /// In the interoperability directory (DC-009 §5.1.2).
  case interoperabilityIndex = 1
  /// DNG specification.
  case dngVersion = 50_706
  case defaultCropSize = 50_720
}

/// Tags of the first directory of Panasonic's RW2 (ExifTool, "PanasonicRaw Tags"): the borders of the picture on the
/// sensor, and a JPEG of the picture.
enum PanasonicTag: Int {
  case top = 4
  case left = 5
  case bottom = 6
  case right = 7
  case jpeg = 46
}

/// Tags of Olympus' maker note, and of its directory of camera settings (ExifTool, "Olympus Tags").
enum OlympusTag: Int {
  case cameraSettings = 0x2020
  case previewOffset = 0x0101
  case previewLength = 0x0102
}
