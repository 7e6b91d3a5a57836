import Foundation
import MediaMetadata
import PhotoModel

/// Turns what a clock on a wall showed into a moment.
struct WallClock: Sendable {
  /// For dates that name no offset.
  let timeZone: TimeZone
  private let isUTC: Bool

  init(timeZone: TimeZone) {
    self.timeZone = timeZone
    isUTC = timeZone.identifier == "UTC" || timeZone.identifier == "GMT"
  }

  /// - Parameter source: what the date is if it names its offset; without one it is in the library's zone.
  func date(_ date: EXIFDate, source: DateSource) -> CreationDate {
    let wall =
      CivilDate.daysSince1970(date.year, date.month, date.day) * 86_400
      + date.hour * 3600 + date.minute * 60 + date.second
    let seconds = date.offsetMinutes.map { wall - $0 * 60 } ?? wall - offset(atWall: wall)
    return CreationDate(
      moment: Timestamp(milliseconds: Int64(seconds) * 1000 + Int64(date.millisecond)),
      source: date.offsetMinutes == nil ? .metadataInLibraryZone : source, hasFraction: date.hasFraction)
  }

  /// The zone's offset when its clocks show this, in seconds. An hour that is left out or comes twice in the year is taken
  /// as the zone was before.
  private func offset(atWall seconds: Int) -> Int {
    if isUTC { return 0 }
    func offset(at moment: Int) -> Int {
      timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment)))
    }
    let before = offset(at: seconds - offset(at: seconds - 86_400))
    return offset(at: seconds - before) == before ? before : offset(at: seconds - offset(at: seconds - before))
  }
}
