import Primitives

/// Parses and writes HTTP dates (RFC 9110 §5.6.7) without a formatter, as seconds since 1970 in the proleptic Gregorian
/// calendar.
package enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func string(secondsSince1970 seconds: Int64) -> String {
    let date = UTCDateTime(secondsSince1970: seconds)
    let weekday = days[((date.daysSince1970 % 7) + 7) % 7]
    return "\(weekday), \(date.day.zeroPadded(2)) \(months[date.month - 1]) \(date.year.zeroPadded(4)) "
      + "\(date.hour.zeroPadded(2)):\(date.minute.zeroPadded(2)):\(date.second.zeroPadded(2)) GMT"
  }

  /// Parses IMF-fixdate and the two obsolete forms; `nil` for anything else.
  package static func seconds(_ text: String) -> Int64? {
    let parts = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }).map(String.init)
    let fields: (day: String, month: String, year: String, time: String)
    if parts.count == 6, parts[5] == "GMT" {
      fields = (parts[1], parts[2], parts[3], parts[4])
    } else if parts.count == 5 {
      fields = (parts[2], parts[1], parts[4], parts[3])
    } else {
      return nil
    }
    let clock = fields.time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2...2) }
    guard let month = months.firstIndex(of: fields.month), let day = number(fields.day, digits: 1...2),
      var year = number(fields.year, digits: 2...4), fields.year.utf8.count != 3,
      clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      (1...31).contains(day), (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
    else { return nil }
    // RFC 850 has years of two digits: 00 to 69 are taken as 2000 to 2069. RFC 9110 §5.6.7 instead moves a date more
    // than 50 years ahead to the past century, which needs a clock and differs only for dates after 2069.
    if fields.year.count == 2 { year += year < 70 ? 2000 : 1900 }
    return UTCDateTime(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
      .secondsSince1970
  }

  /// Parses a number with an allowed count of digits. Signs are rejected, and the value can't overflow.
  private static func number(_ text: some StringProtocol, digits: ClosedRange<Int>) -> Int? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy(HTTPGrammar.isDigit) else { return nil }
    return Int(text)
  }
}
