import Foundation
import PhotoModel
import Primitives

/// Assigns assets to days: by the asset's own offset from UTC if that is known, otherwise by the library's time zone.
package struct LocalCalendar: Sendable {
  /// The days of the years 0 to 9999, in days since 1970: those with a date in RFC 3339.
  package static let days = CivilDate.daysSince1970(0, 1, 1)..<CivilDate.daysSince1970(10_000, 1, 1)

  let timeZone: TimeZone
  private let isUTC: Bool

  package init(timeZone: TimeZone) {
    self.timeZone = timeZone
    isUTC = timeZone.identifier == "UTC" || timeZone.identifier == "GMT"
  }

  /// A time zone's name for messages. The settings and the documentation say UTC, which Foundation calls GMT.
  package static func name(ofTimeZone identifier: String) -> String { identifier == "GMT" ? "UTC" : identifier }

  /// The offset of the library's time zone, in seconds east of UTC.
  func zoneOffset(at moment: Timestamp) -> Int {
    isUTC ? 0 : timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment.milliseconds) / 1000))
  }

  /// The offset that decides the day of a stored date, in seconds east of UTC: that of the library's time zone, or 0 if
  /// the day would then be outside of ``days``. A user may have set such a date while the library had another zone.
  func filingOffset(at moment: Timestamp) -> Int {
    let offset = zoneOffset(at: moment)
    let day = CivilDate.day(ofMilliseconds: moment.milliseconds + Int64(offset) * 1000)
    return Self.days.contains(day) ? offset : 0
  }

  /// The offset that decides the day of a stored date, in whole minutes east of UTC.
  package func utcOffset(at moment: Timestamp) -> Int { filingOffset(at: moment) / 60 }

  /// The day in days since 1970. Equals the column `localDay` of an asset.
  ///
  /// - Parameter utcOffset: minutes east of UTC, if known.
  package func day(of moment: Timestamp, utcOffset: Int?) -> Int {
    let seconds = utcOffset.map { $0 * 60 } ?? zoneOffset(at: moment)
    return CivilDate.day(ofMilliseconds: moment.milliseconds + Int64(seconds) * 1000)
  }

  /// The times that may belong to these days at some offset, in milliseconds since 1970. Offsets are less than a day.
  static func possibleDates(ofDays days: Range<Int>) -> Range<Int64> {
    let day = CivilDate.millisecondsPerDay
    return Int64(days.lowerBound - 1) * day..<Int64(days.upperBound + 1) * day
  }
}
