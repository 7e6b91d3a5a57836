import MediaMetadata
import Primitives

extension EXIFDate {
  /// Seconds from the start of 1904 to the start of 1970.
  private static let movieEpoch = 2_082_844_800

  /// A movie's or track's creation time: seconds since 1904-01-01T00:00:00Z (ISO/IEC 14496-12 §8.2.2.3); some cameras
  /// count from 1970 instead. `nil` for 0.
  init?(movieTime: Int) {
    guard movieTime > 0, movieTime < 1 << 36 else { return nil }
    self.init(secondsSince1970: movieTime >= Self.movieEpoch ? movieTime - Self.movieEpoch : movieTime)
  }

  /// In UTC. `nil` after the year 9999.
  private init?(secondsSince1970 seconds: Int) {
    let date = UTCDateTime(secondsSince1970: Int64(seconds))
    guard date.year <= 9999 else { return nil }
    self.init(
      year: date.year, month: date.month, day: date.day, hour: date.hour, minute: date.minute, second: date.second,
      offsetMinutes: 0, isUTC: true)
  }

  /// The date as text: `2019-08-13T14:05:06.250+02:00`.
  var movieText: String {
    let day = "\(year.zeroPadded(4))-\(month.zeroPadded(2))-\(self.day.zeroPadded(2))"
    let time = "\(hour.zeroPadded(2)):\(minute.zeroPadded(2)):\(second.zeroPadded(2))"
    let fraction = hasFraction ? ".\(millisecond.zeroPadded(3))" : ""
    guard let offsetMinutes else { return "\(day)T\(time)\(fraction)" }
    let (hours, minutes) = abs(offsetMinutes).quotientAndRemainder(dividingBy: 60)
    let offset = "\(offsetMinutes < 0 ? "-" : "+")\(hours.zeroPadded(2)):\(minutes.zeroPadded(2))"
    return "\(day)T\(time)\(fraction)\(offset)"
  }

  /// Parses QuickTime's text: `2019-08-13T14:05:06+0200`, optionally with a fraction of a second, a colon in the
  /// offset, `Z`, or no offset. `nil` for a date without a time, or an invalid date.
  init?(movieText text: String) {
    var rest = Substring(text)
    func digits(_ count: Int) -> Int? {
      let part = rest.prefix(count)
      guard part.utf8.count == count, part.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      rest = rest.dropFirst(count)
      return Int(part)
    }
    func skip(_ characters: String) -> Character? {
      guard let first = rest.first, characters.contains(first) else { return nil }
      return rest.removeFirst()
    }
    guard let year = digits(4), year > 0, skip("-:") != nil, let month = digits(2), (1...12).contains(month),
      skip("-:") != nil, let day = digits(2), (1...CivilDate.dayCount(month: month, year: year)).contains(day),
      skip("T ") != nil,
      let hour = digits(2), hour < 24, skip(":") != nil, let minute = digits(2), minute < 60, skip(":") != nil,
      let second = digits(2), second <= 60
    else { return nil }
    var millisecond = 0
    var hasFraction = false
    if skip(".") != nil {
      let fraction = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest.dropFirst(fraction.count)
      millisecond = Int((fraction + "000").prefix(3)) ?? 0
      hasFraction = !fraction.isEmpty
    }
    var offset: Int?
    var isUTC = false
    if skip("Z") != nil {
      (offset, isUTC) = (0, true)
    } else if let sign = skip("+-"), let hours = digits(2), hours < 16 {
      _ = skip(":")
      let minutes = digits(2) ?? 0
      guard minutes < 60 else { return nil }
      offset = (hours * 60 + minutes) * (sign == "-" ? -1 : 1)
    }
    self.init(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second, millisecond: millisecond,
      hasFraction: hasFraction, offsetMinutes: offset, isUTC: isUTC)
  }
}
