// The part of EXIF (CIPA DC-008) that the catalogue and the renderer need. A scan reads it of every file, so it comes
// from our own walk of the directories: libexif copies each entry and looks up its name, and reads maker notes.

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
  /// The stated dates, in this order: when the photograph was taken, when it was digitised, when the file was changed.
  /// Whether a date is within the valid years may depend on the library's time zone.
  package var dates: [EXIFDate] = []
  package var make: String?
  package var model: String?
  package var location: Location?
  /// The pixels are in DCF's optional colour space (DC-009 §5.1.2: the interoperability index is R03), which is Adobe
  /// RGB.
  package var isAdobeRGB = false
  /// No EXIF block was found.
  package var isEmpty = true

  package init() {}

  /// The first of ``dates``.
  package var date: EXIFDate? { dates.first }

  /// Whether one of ``dates`` is usable in every time zone, so that no other block need state one. The last days of the
  /// year 9999 are after it in some.
  package var hasCertainDate: Bool { dates.contains { $0.year < 9999 } }

  /// The bytes before the TIFF header in a JPEG's APP1 (DC-008 §4.7.2).
  package static let signature: [UInt8] = Array("Exif".utf8) + [0, 0]

  /// The length that is read: a JPEG's block can't be larger, and a PNG's has no reason to be.
  package static let maximumBytes = 65_536

  /// The result of reading a block.
  package struct ParseResult {
    package var summary: EXIFSummary
    /// The range of the thumbnail's bytes, from the TIFF header.
    package var thumbnail: Range<Int>?
    package var warnings: CodecWarnings?
  }

  /// Reads a block. Never fails: damaged entries count as absent and cause a warning.
  ///
  /// - Parameter block: from its TIFF header.
  package static func parse(_ block: ArraySlice<UInt8>) -> ParseResult {
    var summary = EXIFSummary()
    summary.isEmpty = false
    let entries: EXIFEntries
    do throws(EXIFEntries.Damage) {
      entries = try EXIFEntries(block)
    } catch {
      return ParseResult(
        summary: summary, thumbnail: nil, warnings: CodecWarnings(library: "EXIF", count: 1, first: error.reason))
    }
    summary.orientation = entries.short(.first, 0x0112).flatMap { Orientation(rawValue: $0) } ?? .topLeft
    summary.make = entries.text(.first, 0x010F)
    summary.model = entries.text(.first, 0x0110)
    // DateTimeOriginal, DateTimeDigitized, DateTime; each with its fraction and its offset.
    let dates: [EXIFDate?] = [
      entries.date(.exif, 0x9003, fraction: 0x9291, offset: 0x9011),
      entries.date(.exif, 0x9004, fraction: 0x9292, offset: 0x9012),
      entries.date(.first, 0x0132, fraction: 0x9290, offset: 0x9010),
    ]
    summary.dates = dates.compactMap { $0 }
    summary.location = entries.location
    // A program that converted the pixels sets ColorSpace (1 is sRGB), and may have left the index unchanged.
    summary.isAdobeRGB =
      entries.text(.interoperability, 0x0001) == "R03" && entries.short(.exif, 0xA001) != 1
    return ParseResult(summary: summary, thumbnail: entries.block.thumbnail, warnings: entries.warnings)
  }
}
