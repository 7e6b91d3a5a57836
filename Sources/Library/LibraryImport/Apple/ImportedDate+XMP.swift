import Foundation
import LibraryScan
import MediaMetadata
import PhotoModel
import Primitives

extension ImportedDate {
  private static let minute: Int64 = 60_000
  private static let day: Int64 = 86_400_000

  /// A date of XMP: `YYYY-MM-DD`, then possibly `Thh:mm`, seconds with a fraction, and an offset (XMP specification part 1
  /// §8.2.1.1). A date without a time is noon. `nil` for a year or a month, and for what is no date.
  ///
  /// - Parameter zone: the zone of a time without an offset.
  init?(xmp text: String, in zone: TimeZone) {
    let form =
      /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?)?/
    guard let match = try? form.wholeMatch(in: text.trimmingCharacters(in: .whitespaces))?.output else { return nil }
    func part(_ part: Substring?, or missing: String) -> String { part.map(String.init) ?? missing }
    var offset = part(match.8, or: "Z")
    if offset.count == 5 { offset.insert(":", at: offset.index(offset.startIndex, offsetBy: 3)) }
    let fraction = match.7.map { ".\($0.prefix(3))" } ?? ""
    let full =
      "\(match.1)-\(match.2)-\(match.3)T\(part(match.4, or: "12")):\(part(match.5, or: "00")):"
      + "\(part(match.6, or: "00"))\(fraction)\(offset)"
    guard let (milliseconds, minutes) = try? RFC3339.dateTime(full) else { return nil }
    let hasOffset = match.8 != nil
    self.init(
      exported: hasOffset ? milliseconds : Self.moment(ofWall: milliseconds, in: zone),
      utcOffset: hasOffset ? minutes : nil)
    isLocalTime = !hasOffset
    if match.4 == nil { tolerance = Self.day / 2 } else if match.6 == nil { tolerance = Self.minute }
  }

  /// The moment of a local time, given as if it were in UTC; both in milliseconds.
  private static func moment(ofWall wall: Int64, in zone: TimeZone) -> Int64 {
    let millisecond = (wall % 1000 + 1000) % 1000
    let local = UTCDateTime(secondsSince1970: (wall - millisecond) / 1000)
    let date = EXIFDate(
      year: local.year, month: local.month, day: local.day, hour: local.hour, minute: local.minute,
      second: local.second, millisecond: Int(millisecond))
    return EXIFDateResolver(timeZone: zone).date(date, source: .metadata).moment.milliseconds
  }
}
