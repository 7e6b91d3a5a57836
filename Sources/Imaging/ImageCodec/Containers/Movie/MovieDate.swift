import MediaMetadata

extension EXIFDate {
  /// Seconds from the start of 1904 to the start of 1970.
  private static let movieEpoch = 2_082_844_800

  /// A movie's or track's creation time: seconds since 1904-01-01T00:00:00Z (ISO/IEC 14496-12 §8.2.2.3); some cameras
  /// count from 1970 instead. `nil` for 0.
  init?(movieTime: Int) {
    guard movieTime > 0, movieTime < 1 << 36 else { return nil }
    self.init(secondsSince1970: movieTime >= Self.movieEpoch ? movieTime - Self.movieEpoch : movieTime)
  }

  /// In UTC, in the Gregorian calendar. Days are counted from a first of March, so that a leap day is the last day of
  /// its year.
  private init?(secondsSince1970 seconds: Int) {
    let days = seconds / 86_400 + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let year = era * 400 + yearOfEra + (month >= 10 ? 1 : 0)
    guard year <= 9999 else { return nil }
    let second = seconds % 86_400
    self.init(
      year: year, month: month >= 10 ? month - 9 : month + 3, day: dayOfYear - (153 * month + 2) / 5 + 1,
      hour: second / 3600, minute: second / 60 % 60, second: second % 60, offsetMinutes: 0)
  }

  /// The date as text: `2019-08-13T14:05:06.250+02:00`.
  var movieText: String {
    func digits(_ number: Int, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let day = "\(digits(year, 4))-\(digits(month, 2))-\(digits(self.day, 2))"
    let time = "\(digits(hour, 2)):\(digits(minute, 2)):\(digits(second, 2))"
    let fraction = hasFraction ? ".\(digits(millisecond, 3))" : ""
    guard let offsetMinutes else { return "\(day)T\(time)\(fraction)" }
    let offset = abs(offsetMinutes)
    return
      "\(day)T\(time)\(fraction)\(offsetMinutes < 0 ? "-" : "+")\(digits(offset / 60, 2)):\(digits(offset % 60, 2))"
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
      skip("-:") != nil, let day = digits(2), (1...31).contains(day), skip("T ") != nil,
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
    if skip("Z") != nil {
      offset = 0
    } else if let sign = skip("+-"), let hours = digits(2), hours < 16 {
      _ = skip(":")
      let minutes = digits(2) ?? 0
      guard minutes < 60 else { return nil }
      offset = (hours * 60 + minutes) * (sign == "-" ? -1 : 1)
    }
    self.init(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second, millisecond: millisecond,
      hasFraction: hasFraction, offsetMinutes: offset)
  }
}
