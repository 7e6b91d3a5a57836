// All entries of an EXIF block by name. libexif finds the directories and their entries; this file interprets the
// values.

import CLibExif
import Primitives

/// The sections of a metadata dictionary that come from an EXIF block.
struct EXIFDictionary {
  private(set) var sections: [String: [String: MetadataValue]] = [:]
  private(set) var warnings: CodecWarnings?

  static let exifSection = "EXIF"
  static let gpsSection = "GPS"
  static let appleSection = "MakerApple"

  private static let directories: [(ifd: ExifIfd, section: String)] = [
    (EXIF_IFD_0, "TIFF"), (EXIF_IFD_EXIF, exifSection), (EXIF_IFD_GPS, gpsSection),
    (EXIF_IFD_INTEROPERABILITY, "Interoperability"), (EXIF_IFD_1, "Thumbnail"),
  ]

  /// - Parameter block: the block from its TIFF header.
  init(_ block: ArraySlice<UInt8>) {
    guard let data = exif_data_new() else { return }
    defer { exif_data_unref(data) }
    let errorLog = EXIFErrorLog()
    errorLog.listen(to: data)
    exif_data_unset_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION)
    exif_data_unset_option(data, EXIF_DATA_OPTION_IGNORE_UNKNOWN_TAGS)
    let bytes = EXIFSummary.signature + block.prefix(EXIFSummary.maximumBytes)
    exif_data_load_data(data, bytes, UInt32(bytes.count))
    warnings = errorLog.warnings
    let isBigEndian = exif_data_get_byte_order(data) == EXIF_BYTE_ORDER_MOTOROLA
    // `ifd` is a C array, which Swift sees as a tuple of as many pointers.
    withUnsafeBytes(of: &data.pointee.ifd) { pointers in
      let contents = pointers.bindMemory(to: UnsafeMutablePointer<ExifContent>?.self)
      for (ifd, section) in Self.directories {
        guard Int(ifd.rawValue) < contents.count, let content = contents[Int(ifd.rawValue)] else { continue }
        for i in 0..<Int(content.pointee.count) {
          guard let entry = content.pointee.entries[i] else { continue }
          take(entry.pointee, ifd, section, isBigEndian: isBigEndian)
        }
      }
    }
  }

  private mutating func take(_ entry: ExifEntry, _ ifd: ExifIfd, _ section: String, isBigEndian: Bool) {
    guard let data = entry.data else { return }
    let tag = Int(entry.tag.rawValue)
    let bytes = Array(UnsafeBufferPointer(start: data, count: Int(entry.size)))
    let value = TIFFValue(type: Int(entry.format.rawValue), bytes: bytes[...], isBigEndian: isBigEndian)
    if tag == Self.makerNote, ifd == EXIF_IFD_EXIF, let note = AppleMakerNote(bytes[...]) {
      sections[Self.appleSection] = note.dictionary
      return
    }
    sections[section, default: [:]][EXIFNames.name(tag, in: ifd)] = Self.meaning(of: value, tag, ifd)
  }

  private static let makerNote = 0x927C

  /// Interprets a value whose meaning the standard defines beyond its type (DC-008 §4.6).
  private static func meaning(of value: TIFFValue, _ tag: Int, _ ifd: ExifIfd) -> MetadataValue {
    switch (ifd, tag) {
    case (EXIF_IFD_GPS, 0x0002), (EXIF_IFD_GPS, 0x0004), (EXIF_IFD_GPS, 0x0014), (EXIF_IFD_GPS, 0x0016):
      return angle(value)
    case (EXIF_IFD_GPS, 0x0007): return time(value)
    case (EXIF_IFD_GPS, 0x001B), (EXIF_IFD_GPS, 0x001C), (EXIF_IFD_EXIF, 0x9286):
      guard value.type == TIFFValue.undefined else { return value.metadataValue }
      return .text(EXIFText.coded(value.bytes, isBigEndian: value.isBigEndian))
    // Photographer and editor, each up to its NUL.
    case (_, 0x8298) where value.type == TIFFValue.text:
      let parts = value.bytes.split(separator: 0).map { MetadataText.decoded($0) }.filter { !$0.isEmpty }
      return .text(parts.joined(separator: "\n"))
    // Windows' own tags, in UTF-16.
    case (_, 0x9C9B...0x9C9F): return .text(MetadataText.utf16(value.bytes, isBigEndian: false))
    case (_, makerNote): return note(value.bytes)
    case (_, 0xA302): return pattern(value)
    // Blocks of other kinds, padding, and data in private formats.
    case (_, 0x02BC), (_, 0x83BB), (_, 0x8649), (_, 0x8773), (_, 0xC4A5), (_, 0xEA1C): return .bytes(value.bytes.count)
    default: return value.metadataValue
    }
  }

  /// Degrees, minutes and seconds as degrees, rounded to about a millimetre.
  private static func angle(_ value: TIFFValue) -> MetadataValue {
    let parts = value.decimals
    guard !parts.isEmpty else { return value.metadataValue }
    guard let degrees = parts[0] else { return .null }
    let minutes = parts.count > 1 ? parts[1] ?? 0 : 0
    let seconds = parts.count > 2 ? parts[2] ?? 0 : 0
    return .decimal(((degrees + minutes / 60 + seconds / 3600) * 1e8).rounded() / 1e8)
  }

  /// Hours, minutes and seconds in UTC: `14:05:06.25`.
  private static func time(_ value: TIFFValue) -> MetadataValue {
    let parts = value.decimals.compactMap(\.self)
    guard parts.count == 3, parts.allSatisfy({ (0..<100).contains($0) }) else { return value.metadataValue }
    // A part may have a fraction that belongs to the next one.
    let milliseconds = Int(((parts[0] * 3600 + parts[1] * 60 + parts[2]) * 1000).rounded())
    var text = [milliseconds / 3_600_000, milliseconds / 60_000 % 60, milliseconds / 1000 % 60]
      .map { $0.zeroPadded(2) }.joined(separator: ":")
    if milliseconds % 1000 > 0 {
      var digits = (milliseconds % 1000).zeroPadded(3)
      while digits.last == "0" { digits.removeLast() }
      text += "." + digits
    }
    return .text(text)
  }

  /// A colour filter's columns, rows and colours. Cameras don't agree on the byte order of the first two.
  private static func pattern(_ value: TIFFValue) -> MetadataValue {
    guard value.type == TIFFValue.undefined, (5...MetadataLimits.entryNumbers).contains(value.count) else {
      return value.metadataValue
    }
    let colors = value.bytes.dropFirst(4).map { MetadataValue.integer(Int($0)) }
    for isBigEndian in [value.isBigEndian, !value.isBigEndian] {
      let sides = TIFFValue(type: 3, bytes: value.bytes.prefix(4), isBigEndian: isBigEndian).decimals.compactMap(\.self)
      if sides.count == 2, sides[0] * sides[1] == Double(colors.count) {
        return .array(sides.map { .integer(Int($0)) } + colors)
      }
    }
    return value.metadataValue
  }

  /// A maker note of an unknown format: its length, and its first bytes if they are a name.
  private static func note(_ bytes: ArraySlice<UInt8>) -> MetadataValue {
    let name = bytes.prefix(20).prefix { (0x20...0x7E).contains($0) }
    guard name.count >= 4 else { return .bytes(bytes.count) }
    return .object([
      "length": .integer(bytes.count), "signature": .text(MetadataText.trimmed(String(decoding: name, as: UTF8.self))),
    ])
  }
}
