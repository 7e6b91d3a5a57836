import Foundation
import LibraryCatalogue
import MediaMetadata
import PhotoModel
import Primitives

/// Converts a local date and time to a timestamp.
package struct EXIFDateResolver: Sendable {
  /// The zone of dates without an offset.
  let timeZone: TimeZone
  private let isUTC: Bool
  private let calendar: LocalCalendar

  package init(timeZone: TimeZone) {
    self.timeZone = timeZone
    isUTC = timeZone.identifier == "UTC" || timeZone.identifier == "GMT"
    calendar = LocalCalendar(timeZone: timeZone)
  }

  /// - Parameter source: the source of a date with an offset; a date without one is recorded as being in the library
  ///   zone.
  /// - Returns: `nil` if the date, or the day to which its asset would belong, is in no year from 0 to 9999, so that
  ///   RFC 3339 can't express it.
  package func date(_ date: EXIFDate, source: DateSource) -> CreationDate? {
    let local = UTCDateTime(
      year: date.year, month: date.month, day: date.day, hour: date.hour, minute: date.minute, second: date.second)
    let wall = Int(local.secondsSince1970)
    let seconds = date.offsetMinutes.map { wall - $0 * 60 } ?? wall - offset(atWall: wall)
    let moment = Timestamp(milliseconds: Int64(seconds) * 1000 + Int64(date.millisecond))
    guard Timestamp.rfc3339Range.contains(moment) else { return nil }
    let utcOffset = date.isUTC ? nil : date.offsetMinutes
    let day = calendar.day(of: moment, utcOffset: utcOffset)
    guard LocalCalendar.days.contains(day) else { return nil }
    return CreationDate(
      moment: moment, source: date.offsetMinutes == nil ? .metadataInLibraryZone : source,
      hasFraction: date.hasFraction, utcOffset: utcOffset)
  }

  /// The offset of the zone at a local time, in seconds. A local time that is skipped or repeated by a clock change
  /// gets the offset before the change.
  private func offset(atWall seconds: Int) -> Int {
    if isUTC { return 0 }
    func offset(at moment: Int) -> Int {
      timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment)))
    }
    let before = offset(at: seconds - CivilDate.secondsPerDay)
    let after = offset(at: seconds - before)
    if after == before { return before }
    // A skipped time does not exist with the offset after the change either.
    return offset(at: seconds - after) == after ? after : before
  }
}
