import Primitives

/// A date as XMP writes it (XMP specification part 1 §8.2.1.1): `YYYY-MM-DD`, then possibly `Thh:mm`, seconds with a
/// fraction, and an offset from UTC. Programs also write a space for the `T`, and an offset without its colon.
package struct XMPDate: Sendable, Hashable {
  package enum Precision: Sendable {
    case day, minute, second
  }

  /// Noon if the text has no time.
  package private(set) var date: EXIFDate
  package private(set) var precision = Precision.day

  /// `nil` for a year or a month, and for text that is not a date.
  package init?(_ text: String) {
    var reader = DigitReader(text)
    guard let year = reader.number(4, in: 1...9999), reader.skip("-"), let month = reader.number(2, in: 1...12),
      reader.skip("-"), let day = reader.number(2, in: 1...CivilDate.dayCount(month: month, year: year))
    else { return nil }
    date = EXIFDate(year: year, month: month, day: day, hour: 12, minute: 0, second: 0)
    if reader.skip("T ") {
      guard readTime(&reader), reader.readOffset(&date) else { return nil }
    }
    guard reader.isAtEnd else { return nil }
  }

  private mutating func readTime(_ reader: inout DigitReader) -> Bool {
    guard let hour = reader.number(2, in: 0...23), reader.skip(":"), let minute = reader.number(2, in: 0...59) else {
      return false
    }
    date.hour = hour
    date.minute = minute
    precision = .minute
    guard reader.skip(":") else { return true }
    guard let second = reader.number(2, in: 0...60) else { return false }
    date.second = second
    precision = .second
    guard reader.skip(".") else { return true }
    guard let millisecond = reader.milliseconds() else { return false }
    date.millisecond = millisecond
    date.hasFraction = true
    return true
  }
}

extension EXIFDate {
  /// The date of IPTC-IIM datasets: DateCreated (2:55, `CCYYMMDD`) and TimeCreated (2:60, `HHMMSS±HHMM`). A date
  /// without a valid time is noon; `nil` if the month or the day is unknown (`00`).
  init?(iptc datasets: [String: MetadataValue]) {
    guard let text = datasets["DateCreated"]?.firstText else { return nil }
    var reader = DigitReader(text)
    guard let year = reader.number(4, in: 1...9999), let month = reader.number(2, in: 1...12),
      let day = reader.number(2, in: 1...CivilDate.dayCount(month: month, year: year)), reader.isAtEnd
    else { return nil }
    self.init(year: year, month: month, day: day, hour: 12, minute: 0, second: 0)
    reader = DigitReader(datasets["TimeCreated"]?.firstText ?? "")
    var timed = self
    guard let hour = reader.number(2, in: 0...23), let minute = reader.number(2, in: 0...59),
      let second = reader.number(2, in: 0...60), reader.readOffset(&timed), reader.isAtEnd
    else { return }
    timed.hour = hour
    timed.minute = minute
    timed.second = second
    self = timed
  }
}

/// Takes the parts of a date from its text, without white space at both ends.
private struct DigitReader {
  private var rest: ArraySlice<UInt8>

  init(_ text: String) {
    rest = Array(MetadataText.trimmed(text).utf8)[...].drop { $0 <= 0x20 }
  }

  var isAtEnd: Bool { rest.isEmpty }

  private var digit: Int? {
    guard let first = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return nil }
    return Int(first - UInt8(ascii: "0"))
  }

  /// `nil` unless as many digits follow, and their number is in the range.
  mutating func number(_ digits: Int, in range: ClosedRange<Int>) -> Int? {
    var number = 0
    for _ in 0..<digits {
      guard let digit else { return nil }
      number = number * 10 + digit
      rest = rest.dropFirst()
    }
    return range.contains(number) ? number : nil
  }

  /// Whether one of the characters follows; it is then skipped.
  mutating func skip(_ characters: String) -> Bool {
    guard let first = rest.first, characters.utf8.contains(first) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// The digits of a fraction as milliseconds, rounded down; `nil` if there is no digit.
  mutating func milliseconds() -> Int? {
    guard digit != nil else { return nil }
    var (milliseconds, unit) = (0, 100)
    while let digit {
      milliseconds += digit * unit
      unit /= 10
      rest = rest.dropFirst()
    }
    return milliseconds
  }

  /// Reads `Z`, `±hh:mm` or `±hhmm`, if it follows. `Z` and `-00:00` do not state the offset of the place (RFC 9557
  /// §2.2).
  ///
  /// - Returns: false for anything else that begins with a sign.
  mutating func readOffset(_ date: inout EXIFDate) -> Bool {
    if skip("Z") {
      date.offsetMinutes = 0
      date.isUTC = true
      return true
    }
    let isWest = rest.first == UInt8(ascii: "-")
    guard skip("+-") else { return true }
    guard let hours = number(2, in: 0...15) else { return false }
    _ = skip(":")
    guard let minutes = number(2, in: 0...59) else { return false }
    let offset = hours * 60 + minutes
    date.offsetMinutes = isWest ? -offset : offset
    date.isUTC = isWest && offset == 0
    return true
  }
}
