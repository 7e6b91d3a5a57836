// The entries of an EXIF block that EXIFSummary needs, found by one walk of its directories (DC-008 §4.6).
//
// Like libexif, which reads the same block for the metadata dictionary, it takes of a damaged block what is intact: a
// directory that is cut off has the entries before the cut, and of two entries with the same tag the first valid one
// counts. So both name the same date and camera. The number of steps is limited by the block's length, because each of
// the four directories is read once.

import PhotoModel

/// The directories of an EXIF block, without that of the thumbnail.
struct EXIFEntries {
  enum Directory: Int, CaseIterable {
    case first, exif, gps, interoperability
  }

  /// Why nothing of a block can be read.
  struct Damage: Error {
    let reason: String
  }

  let block: TIFFBlock
  private let length: Int
  /// The valid entries, by directory.
  private var entries: [[TIFFBlock.Entry]] = Array(repeating: [], count: Directory.allCases.count)
  private var isRead = Array(repeating: false, count: Directory.allCases.count)
  private var damages = 0
  private var firstDamage = ""

  /// Entries that did not lie within the block.
  var warnings: CodecWarnings? { CodecWarnings(library: "EXIF", count: damages, first: firstDamage) }

  /// - Parameter bytes: the block from its TIFF header.
  init(_ bytes: ArraySlice<UInt8>) throws(Damage) {
    guard let block = TIFFBlock(bytes) else { throw Damage(reason: "not a TIFF header") }
    self.block = block
    length = bytes.count
    guard let first = block.number(at: 4, bytes: 4) else { throw Damage(reason: "the TIFF header is cut off") }
    read(.first, at: first)
  }

  /// Reads a directory and those that it points to.
  private mutating func read(_ directory: Directory, at offset: Int) {
    let length = length
    if isRead[directory.rawValue] { return note("a second directory of the same kind, at \(offset)") }
    isRead[directory.rawValue] = true
    guard offset >= 8, let count = block.number(at: offset, bytes: 2) else {
      return note("a directory at \(offset) of \(length) bytes")
    }
    let start = offset + 2
    let whole = min(count, (length - start) / Self.entryBytes)
    if whole < count { note("\(count) entries at \(start) of \(length) bytes") }
    entries[directory.rawValue].reserveCapacity(whole)
    var pointers: [(Directory, Int)] = []
    for position in stride(from: start, to: start + whole * Self.entryBytes, by: Self.entryBytes) {
      guard let tag = block.number(at: position, bytes: 2), let type = block.number(at: position + 2, bytes: 2),
        let values = block.number(at: position + 4, bytes: 4)
      else { continue }
      if let target = Self.pointer(tag) {
        if let place = block.number(at: position + 8, bytes: 4) { pointers.append((target, place)) }
        continue
      }
      let entry = TIFFBlock.Entry(tag: tag, type: type, count: values, valuePosition: position + 8)
      guard values > 0, TIFFBlock.typeBytes(type) != nil else { continue }
      if block.contains(entry) {
        entries[directory.rawValue].append(entry)
      } else {
        note("entry \(tag) with \(values) values at \(position) of \(length) bytes")
      }
    }
    for (target, place) in pointers { read(target, at: place) }
  }

  private static let entryBytes = 12

  private static func pointer(_ tag: Int) -> Directory? {
    switch tag {
    case 0x8769: .exif
    case 0x8825: .gps
    case 0xA005: .interoperability
    default: nil
    }
  }

  private mutating func note(_ damage: @autoclosure () -> String) {
    if damages == 0 { firstDamage = damage() }
    damages += 1
  }

  // MARK: Values

  private func entry(_ directory: Directory, _ tag: Int) -> TIFFBlock.Entry? {
    entries[directory.rawValue].first { $0.tag == tag }
  }

  func short(_ directory: Directory, _ tag: Int) -> Int? {
    guard let entry = entry(directory, tag), entry.type == 3, let bytes = block.content(entry) else { return nil }
    return block.isBigEndian
      ? Int(bytes[bytes.startIndex]) << 8 | Int(bytes[bytes.startIndex + 1])
      : Int(bytes[bytes.startIndex + 1]) << 8 | Int(bytes[bytes.startIndex])
  }

  /// The bytes of an ASCII entry up to its first NUL, without spaces at both ends, which cameras write as padding;
  /// `nil` if nothing is left.
  private func letters(_ directory: Directory, _ tag: Int) -> ArraySlice<UInt8>? {
    guard let entry = entry(directory, tag), entry.type == TIFFValue.text, let bytes = block.content(entry) else {
      return nil
    }
    let space = UInt8(ascii: " ")
    var text = bytes.prefix { $0 != 0 }.drop { $0 == space }
    while text.last == space { text.removeLast() }
    return text.isEmpty ? nil : text
  }

  func text(_ directory: Directory, _ tag: Int) -> String? {
    letters(directory, tag).map { String(decoding: $0, as: UTF8.self) }
  }

  /// A date with its fraction (SubSecTime…) and offset (OffsetTime…), DC-008 §4.6.5.F. Fraction and offset are always
  /// in the EXIF directory. A fraction or an offset in the date itself takes precedence.
  func date(_ directory: Directory, _ tag: Int, fraction: Int, offset: Int) -> EXIFDate? {
    guard let text = letters(directory, tag).flatMap({ EXIFDateText($0) }) else { return nil }
    var digits: ArraySlice<UInt8> = []
    if let stated = text.fraction {
      digits = stated
    } else if text.hasSeconds, let written = letters(.exif, fraction) {
      digits = written.prefix { Self.digits.contains($0) }
    }
    var millisecond = 0
    for i in 0..<3 {
      millisecond = millisecond * 10 + (i < digits.count ? Int(digits[digits.startIndex + i] - 0x30) : 0)
    }
    return EXIFDate(
      year: text.year, month: text.month, day: text.day, hour: text.hour, minute: text.minute, second: text.second,
      millisecond: millisecond, hasFraction: !digits.isEmpty,
      offsetMinutes: text.offsetMinutes ?? letters(.exif, offset).flatMap { EXIFDateText.offsetMinutes($0) })
  }

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

  /// Latitude, longitude and altitude of the GPS IFD (DC-008 §4.6.6); `nil` unless both angles are valid.
  var location: Location? {
    guard let latitude = angle(0x0002, reference: 0x0001, negative: "S"), abs(latitude) <= 90,
      let longitude = angle(0x0004, reference: 0x0003, negative: "W"), abs(longitude) <= 180
    else { return nil }
    var altitude = rationals(0x0006)?.first
    // 1, and since EXIF 3.0 also 3: below the reference level.
    let reference = entry(.gps, 0x0005).flatMap { block.content($0) }?.first
    if reference == 1 || reference == 3 { altitude = altitude.map { -$0 } }
    return Location(latitude: latitude, longitude: longitude, altitude: altitude)
  }

  /// Degrees, minutes and seconds as one number.
  private func angle(_ tag: Int, reference: Int, negative: Unicode.Scalar) -> Double? {
    guard let parts = rationals(tag), let degrees = parts.first, let side = letters(.gps, reference)?.first else {
      return nil
    }
    let value = degrees + (parts.count > 1 ? parts[1] / 60 : 0) + (parts.count > 2 ? parts[2] / 3600 : 0)
    // Rounded to about a millimetre: further digits come from adding fractions, not from the receiver.
    let rounded = (value * 1e8).rounded() / 1e8
    // Some programs write small letters.
    return side & ~0x20 == UInt8(ascii: negative) ? -rounded : rounded
  }

  private func rationals(_ tag: Int) -> [Double]? {
    guard let entry = entry(.gps, tag), entry.type == 5, let bytes = block.content(entry) else { return nil }
    let values = TIFFValue(type: entry.type, bytes: bytes, isBigEndian: block.isBigEndian).decimals
    let numbers = values.compactMap(\.self)
    // A denominator of 0 means that the value is unknown.
    return numbers.isEmpty || numbers.count < values.count ? nil : numbers
  }
}
