import Foundation
import LibraryScan
import MediaMetadata
import PhotoModel

extension ImportedDate {
  private static let minute: Int64 = 60_000
  private static let day: Int64 = 86_400_000

  /// A date of XMP. A date without a time is noon. `nil` for a year or a month, and for text that is not a date.
  ///
  /// - Parameter zone: the zone of a time without an offset.
  init?(xmp text: String, in zone: TimeZone) {
    guard let stated = XMPDate(text),
      let date = EXIFDateResolver(timeZone: zone).date(stated.date, source: .metadata)
    else { return nil }
    self.init(exported: date.moment.milliseconds, utcOffset: date.utcOffset)
    isLocalTime = stated.date.offsetMinutes == nil
    switch stated.precision {
    case .day: tolerance = Self.day / 2
    case .minute: tolerance = Self.minute
    case .second: break
    }
  }
}
