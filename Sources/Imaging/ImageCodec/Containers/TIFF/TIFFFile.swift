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
  /// Whether offsets and counts have eight bytes: a BigTIFF (libtiff, "The BigTIFF File Format").
  let isBig: Bool
  private let range: Range<Int64>

  /// - Parameter range: the part of the file to which offsets are relative.
  /// - Throws: `malformed` if it is not a TIFF.
  init(_ reader: inout HeaderReader, in range: Range<Int64>) throws(CodecError) {
    self.range = range
    let head = try reader.wholeBytes(at: range.lowerBound, count: 8)
    guard let order = Self.order(head) ?? Self.variant(head)?.isBigEndian else {
      throw .malformed("a TIFF without its header", offset: range.lowerBound)
    }
    isBigEndian = order
    let version = order ? head.bigEndian(at: 2, bytes: 2) : head.littleEndian(at: 2, bytes: 2)
    isBig = version == 43
    guard isBig else {
      firstOffset = order ? head.bigEndian(at: 4, bytes: 4) : head.littleEndian(at: 4, bytes: 4)
      return
    }
    guard (order ? head.bigEndian(at: 4, bytes: 2) : head.littleEndian(at: 4, bytes: 2)) == 8 else {
      throw .malformed("a BigTIFF whose offsets do not have eight bytes", offset: range.lowerBound + 4)
    }
    firstOffset = Self.number(try reader.wholeBytes(at: range.lowerBound + 8, count: 8), order, at: 0, 8)
  }

  /// Directories without a TIFF's header, such as those of a maker note.
  ///
  /// - Parameter firstOffset: counts from the start of the range.
  init(in range: Range<Int64>, isBigEndian: Bool, firstOffset: Int) {
    self.range = range
    self.isBigEndian = isBigEndian
    self.firstOffset = firstOffset
    isBig = false
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
    // An entry has a tag and a type of two bytes each, a count, and a value or its offset.
    let (countBytes, fieldBytes) = isBig ? (8, 8) : (2, 4)
    let entryBytes = 4 + 2 * fieldBytes
    guard offset >= 8, let start = place(offset, countBytes) else { return nil }
    let count = number(try reader.bytes(at: start.lowerBound, count: countBytes), at: 0, countBytes)
    if count > ContainerLimits.entries {
      throw .limitExceeded("the number of a directory's entries", limit: ContainerLimits.entries, found: count)
    }
    guard place(offset + countBytes, count * entryBytes) != nil else { return nil }
    // The last bytes may be missing; there is then no further directory.
    let bytes = try reader.bytes(at: start.upperBound, count: count * entryBytes + fieldBytes)
    guard bytes.count >= count * entryBytes else { return nil }
    let entries = (0..<count).map { i -> Entry in
      let entry = i * entryBytes
      let type = number(bytes, at: entry + 2, 2)
      let values = number(bytes, at: entry + 4, fieldBytes)
      let (length, overflows) = values.multipliedReportingOverflow(by: typeBytes(type) ?? 0)
      let field = entry + 4 + fieldBytes
      let inline = start.upperBound + Int64(field)
      let value: Range<Int64>? =
        if length == 0 || overflows {
          nil
        } else if length <= fieldBytes {
          inline..<inline + Int64(length)
        } else {
          place(number(bytes, at: field, fieldBytes), length)
        }
      return Entry(tag: number(bytes, at: entry, 2), type: type, count: values, value: value)
    }
    return Directory(offset: offset, entries: entries, next: number(bytes, at: count * entryBytes, fieldBytes))
  }

  /// The length of a value; BigTIFF adds three types of eight bytes.
  func typeBytes(_ type: Int) -> Int? { isBig && 16...18 ~= type ? 8 : TIFFBlock.typeBytes(type) }

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
    guard let entry, let value = entry.value, let size = typeBytes(entry.type) else { return [] }
    let count = min(entry.count, limit)
    let bytes = try reader.bytes(at: value.lowerBound, count: count * size)
    guard bytes.count == count * size else { return [] }
    return (0..<count).compactMap { i in
      switch entry.type {
      case 1, 3, 4, 13, 16, 18: return number(bytes, at: i * size, size)
      case 5:
        let denominator = number(bytes, at: i * 8 + 4, 4)
        return denominator == 0 ? nil : (number(bytes, at: i * 8, 4) + denominator / 2) / denominator
      default: return nil
      }
    }
  }

  /// The first rationals of an entry, at most `limit`; empty for an entry of another type, or if one of them has the
  /// denominator 0.
  func rationals(of entry: Entry?, atMost limit: Int, _ reader: inout HeaderReader) throws(CodecError) -> [Double] {
    guard let entry, entry.type == 5, let value = entry.value else { return [] }
    let count = min(entry.count, limit)
    let bytes = try reader.bytes(at: value.lowerBound, count: count * 8)
    let denominators = (0..<count).map { number(bytes, at: $0 * 8 + 4, 4) }
    guard bytes.count == count * 8, !denominators.contains(0) else { return [] }
    return (0..<count).map { Double(number(bytes, at: $0 * 8, 4)) / Double(denominators[$0]) }
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
    let whole = range.upperBound - range.lowerBound
    guard offset >= 0, length >= 0, Int64(length) <= whole, Int64(offset) <= whole - Int64(length) else { return nil }
    return range.lowerBound + Int64(offset)..<range.lowerBound + Int64(offset) + Int64(length)
  }

  private func number(_ bytes: ArraySlice<UInt8>, at position: Int, _ count: Int) -> Int {
    Self.number(bytes, isBigEndian, at: position, count)
  }

  /// 0 if the bytes are missing; numbers of eight bytes that do not fit become the largest one.
  private static func number(_ bytes: ArraySlice<UInt8>, _ isBigEndian: Bool, at position: Int, _ count: Int) -> Int {
    guard bytes.count >= position + count else { return 0 }
    let number =
      isBigEndian ? bytes.bigEndian(at: position, bytes: count) : bytes.littleEndian(at: position, bytes: count)
    return number < 0 ? .max : number
  }
}

/// Tags of directories; from TIFF 6.0 unless noted otherwise.
enum TIFFTag: Int {
  case newSubfileType = 254
  case imageWidth = 256
  case imageLength = 257
  case bitsPerSample = 258
  case compression = 259
  case photometricInterpretation = 262
  case fillOrder = 266
  case make = 271
  case stripOffsets = 273
  case orientation = 274
  case samplesPerPixel = 277
  case rowsPerStrip = 278
  case stripByteCounts = 279
  case planarConfiguration = 284
  case predictor = 317
  case colorMap = 320
  case tileWidth = 322
  case tileLength = 323
  case tileOffsets = 324
  case tileByteCounts = 325
  /// TIFF Technical Note 1.
  case subIFDs = 330
  case inkSet = 332
  case extraSamples = 338
  case sampleFormat = 339
  /// TIFF Technical Note 2.
  case jpegTables = 347
  case jpegOffset = 513
  case jpegLength = 514
  case yCbCrCoefficients = 529
  case yCbCrSubsampling = 530
  case referenceBlackWhite = 532
  /// XMP specification part 3 §1.1.7.
  case xmp = 700
  /// TIFF/EP (ISO 12234-2); the EXIF and GPS directories are from CIPA DC-008 §4.6.3.
  case iptc = 33_723
  case exifDirectory = 34_665
  case gpsDirectory = 34_853
  /// ICC.1 annex B.3.
  case profile = 34_675
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
/// sensor, a JPEG of the picture, and where the sensor data begin.
enum PanasonicTag: Int {
  case top = 4
  case left = 5
  case bottom = 6
  case right = 7
  case jpeg = 46
  case dataOffset = 280
}

/// Tags of Olympus' maker note, and of its directory of camera settings (ExifTool, "Olympus Tags").
enum OlympusTag: Int {
  case cameraSettings = 0x2020
  case previewOffset = 0x0101
  case previewLength = 0x0102
}
