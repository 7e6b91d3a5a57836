/// Timestamps for JSON and logs (RFC 3339), in UTC, with milliseconds if they are not zero.
package enum RFC3339Time {
  package static func string(millisecondsSince1970 milliseconds: Int64) -> String {
    let seconds = Int64((Double(milliseconds) / 1000).rounded(.down))
    let rest = Int(milliseconds - seconds * 1000)
    let date = CalendarDate(secondsSince1970: seconds)
    func padded(_ value: Int, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
      + "T\(padded(date.hour, 2)):\(padded(date.minute, 2)):\(padded(date.second, 2))"
      + (rest == 0 ? "Z" : ".\(padded(rest, 3))Z")
  }
}
