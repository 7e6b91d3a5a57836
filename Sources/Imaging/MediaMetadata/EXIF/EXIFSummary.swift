// The part of EXIF (CIPA DC-008) that the catalogue and the renderer need, read by libexif from a block in memory.

import CLibExif
import PhotoModel

/// A date as EXIF stores it: local time, with an offset from UTC only if the camera knew it.
package struct EXIFDate: Sendable, Hashable {
  package var year, month, day, hour, minute, second: Int
  package var millisecond: Int
  /// Whether the file states a fraction of the second, even if it is 0.
  package var hasFraction: Bool
  /// Minutes east of UTC.
  package var offsetMinutes: Int?
  /// The date is converted to UTC, so its offset of 0 is not that of the place.
  package var isUTC: Bool

  package init(
    year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, millisecond: Int = 0,
    hasFraction: Bool? = nil, offsetMinutes: Int? = nil, isUTC: Bool = false
  ) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
    self.millisecond = millisecond
    self.hasFraction = hasFraction ?? (millisecond != 0)
    self.offsetMinutes = offsetMinutes
    self.isUTC = isUTC
  }
}

package struct EXIFSummary: Sendable, Hashable {
  package var orientation = Orientation.topLeft
  package var date: EXIFDate?
  package var make: String?
  package var model: String?
  package var location: Location?
  /// The pixels are in DCF's optional colour space (DC-009 §5.1.2: the interoperability index is R03), which is Adobe RGB.
  package var isAdobeRGB = false
  /// No EXIF block was found.
  package var isEmpty = true

  package init() {}

  /// The bytes before the TIFF header in a JPEG's APP1 (DC-008 §4.7.2).
  package static let signature: [UInt8] = Array("Exif".utf8) + [0, 0]

  /// The length that is read: a JPEG's block can't be larger, and a PNG's has no reason to be.
  package static let maximumBytes = 65_536

  /// The result of reading a block.
  package struct Parsed {
    package var summary: EXIFSummary
    /// The range of the thumbnail's bytes in the block.
    package var thumbnail: Range<Int>?
    package var warnings: CodecWarnings?
  }

  /// Reads a block that begins with the signature. Never fails: damaged entries count as absent and cause a warning.
  package static func parse(_ block: [UInt8]) -> Parsed {
    var summary = EXIFSummary()
    summary.isEmpty = false
    guard let data = exif_data_new() else { return Parsed(summary: summary) }
    defer { exif_data_unref(data) }
    let errorLog = EXIFErrorLog()
    errorLog.listen(to: data)
    exif_data_unset_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION)
    exif_data_load_data(data, block, UInt32(block.count))
    let reader = EXIFReader(data: data)

    summary.orientation =
      reader.short(EXIF_IFD_0, EXIF_TAG_ORIENTATION).flatMap { Orientation(rawValue: Int($0)) } ?? .topLeft
    summary.make = reader.text(EXIF_IFD_0, EXIF_TAG_MAKE)
    summary.model = reader.text(EXIF_IFD_0, EXIF_TAG_MODEL)
    summary.date =
      reader.date(EXIF_IFD_EXIF, EXIF_TAG_DATE_TIME_ORIGINAL, 0x9291, 0x9011)
      ?? reader.date(EXIF_IFD_EXIF, EXIF_TAG_DATE_TIME_DIGITIZED, 0x9292, 0x9012)
      ?? reader.date(EXIF_IFD_0, EXIF_TAG_DATE_TIME, 0x9290, 0x9010)
    summary.location = reader.location()
    // A program that converted the pixels sets ColorSpace (1 is sRGB), and may have left the index unchanged.
    summary.isAdobeRGB =
      reader.text(EXIF_IFD_INTEROPERABILITY, EXIF_TAG_INTEROPERABILITY_INDEX) == "R03"
      && reader.short(EXIF_IFD_EXIF, EXIF_TAG_COLOR_SPACE) != 1
    // libexif copies the thumbnail and does not say where it was.
    let thumbnail = TIFFBlock(block[signature.count...])?.thumbnail
    return Parsed(
      summary: summary,
      thumbnail: thumbnail.map { $0.lowerBound + signature.count..<$0.upperBound + signature.count },
      warnings: errorLog.warnings)
  }
}

/// Typed access to the entries that libexif found.
private struct EXIFReader {
  let data: UnsafeMutablePointer<ExifData>

  func short(_ ifd: ExifIfd, _ tag: ExifTag) -> UInt16? {
    guard let entry = entry(ifd, tag), entry.pointee.format == EXIF_FORMAT_SHORT, entry.pointee.size >= 2 else {
      return nil
    }
    return exif_get_short(entry.pointee.data, exif_data_get_byte_order(data))
  }

  /// An ASCII entry up to its first NUL, without the padding spaces of cameras; `nil` if nothing is left.
  func text(_ ifd: ExifIfd, _ tag: ExifTag) -> String? {
    guard let entry = entry(ifd, tag), entry.pointee.format == EXIF_FORMAT_ASCII, let bytes = entry.pointee.data else {
      return nil
    }
    let raw = UnsafeBufferPointer(start: bytes, count: Int(entry.pointee.size)).prefix { $0 != 0 }
    let text = String(decoding: raw, as: UTF8.self)
    var trimmed = Substring(text)
    while trimmed.last == " " { trimmed.removeLast() }
    while trimmed.first == " " { trimmed.removeFirst() }
    return trimmed.isEmpty ? nil : String(trimmed)
  }

  /// `YYYY:MM:DD HH:MM:SS` with its fraction (SubSecTime…) and offset (`+01:00`, OffsetTime…), DC-008 §4.6.5.F.
  func date(_ ifd: ExifIfd, _ tag: ExifTag, _ fractionTag: UInt32, _ offsetTag: UInt32) -> EXIFDate? {
    guard let text = text(ifd, tag) else { return nil }
    let numbers = text.split(whereSeparator: { $0 == ":" || $0 == " " }).map { Int($0) }
    guard numbers.count >= 6, let year = numbers[0], let month = numbers[1], let day = numbers[2],
      let hour = numbers[3], let minute = numbers[4], let second = numbers[5],
      (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day),
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    let digits = self.text(EXIF_IFD_EXIF, ExifTag(rawValue: fractionTag))?.prefix { $0.isASCII && $0.isNumber } ?? ""
    let millisecond = Int(String((digits + "000").prefix(3))) ?? 0
    return EXIFDate(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second, millisecond: millisecond,
      hasFraction: !digits.isEmpty,
      offsetMinutes: self.text(EXIF_IFD_EXIF, ExifTag(rawValue: offsetTag)).flatMap(Self.offsetMinutes))
  }

  /// Latitude, longitude and altitude of the GPS IFD (DC-008 §4.6.6); `nil` unless both angles are valid.
  func location() -> Location? {
    guard let latitude = angle(0x0002, reference: 0x0001, negative: "S"), abs(latitude) <= 90,
      let longitude = angle(0x0004, reference: 0x0003, negative: "W"), abs(longitude) <= 180
    else { return nil }
    var altitude = rationals(0x0006)?.first
    if let reference = entry(EXIF_IFD_GPS, ExifTag(rawValue: 0x0005)), reference.pointee.size >= 1,
      reference.pointee.data[0] == 1
    {
      altitude = altitude.map { -$0 }
    }
    return Location(latitude: latitude, longitude: longitude, altitude: altitude)
  }

  private static func offsetMinutes(_ text: String) -> Int? {
    if text == "Z" { return 0 }
    guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
    let parts = text.dropFirst().split(separator: ":").map { Int($0) }
    guard parts.count == 2, let hours = parts[0], let minutes = parts[1], (0...15).contains(hours),
      (0...59).contains(minutes)
    else { return nil }
    return (hours * 60 + minutes) * (sign == "-" ? -1 : 1)
  }

  /// Degrees, minutes and seconds as one number.
  private func angle(_ tag: UInt32, reference: UInt32, negative: String) -> Double? {
    guard let parts = rationals(tag), let degrees = parts.first,
      let side = text(EXIF_IFD_GPS, ExifTag(rawValue: reference))
    else { return nil }
    let value = degrees + (parts.count > 1 ? parts[1] / 60 : 0) + (parts.count > 2 ? parts[2] / 3600 : 0)
    // Rounded to about a millimetre: further digits come from adding fractions, not from the receiver.
    let rounded = (value * 1e8).rounded() / 1e8
    return side.uppercased().hasPrefix(negative) ? -rounded : rounded
  }

  private func rationals(_ tag: UInt32) -> [Double]? {
    guard let entry = entry(EXIF_IFD_GPS, ExifTag(rawValue: tag)), entry.pointee.format == EXIF_FORMAT_RATIONAL else {
      return nil
    }
    let count = min(Int(entry.pointee.components), Int(entry.pointee.size) / 8)
    let order = exif_data_get_byte_order(data)
    var values: [Double] = []
    for i in 0..<count {
      let rational = exif_get_rational(entry.pointee.data + i * 8, order)
      if rational.denominator == 0 { return nil }
      values.append(Double(rational.numerator) / Double(rational.denominator))
    }
    return values.isEmpty ? nil : values
  }

  private func entry(_ ifd: ExifIfd, _ tag: ExifTag) -> UnsafeMutablePointer<ExifEntry>? {
    // `ifd` is a C array, which Swift imports as a tuple of pointers.
    withUnsafeBytes(of: &data.pointee.ifd) { bytes in
      let contents = bytes.bindMemory(to: UnsafeMutablePointer<ExifContent>?.self)
      guard Int(ifd.rawValue) < contents.count, let content = contents[Int(ifd.rawValue)] else { return nil }
      return exif_content_get_entry(content, tag)
    }
  }
}
