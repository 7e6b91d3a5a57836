extension Int {
  /// The digits, with zeros in front up to a count of `digits`. A number that needs more digits is not truncated; the
  /// sign of a negative number is not counted.
  package func zeroPadded(_ digits: Int, radix: Int = 10) -> String {
    let text = String(magnitude, radix: radix)
    return (self < 0 ? "-" : "") + String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }
}

extension UInt64 {
  /// 16 lowercase hexadecimal digits.
  package var hexadecimal: String {
    let text = String(self, radix: 16)
    return String(repeating: "0", count: 16 - text.utf8.count) + text
  }

  /// This number of nanoseconds as milliseconds with three decimal places: `1.250` for 1,250,999.
  package var nanosecondsAsMilliseconds: String {
    let microseconds = self / 1000
    return "\(microseconds / 1000).\(Int(microseconds % 1000).zeroPadded(3))"
  }
}
