// Timestamps in JSON and predicates. Years are 0000...9999 in the Gregorian calendar throughout, as in RFC 3339 §1; the
// conversion between days and dates is exact for all of them.

/// The position where a text is not a valid RFC 3339 date-time.
package struct MalformedRFC3339: Error, Sendable, Hashable {
  /// The index of the first invalid byte; the length of the text if it ends too early.
  package let position: Int

  package init(position: Int) {
    self.position = position
  }
}

extension Timestamp {
  /// 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z: the range of RFC 3339.
  package static let rfc3339Range =
    Timestamp(milliseconds: -62_167_219_200_000)...Timestamp(milliseconds: 253_402_300_799_999)

  /// Parses a date-time with any offset and fraction (RFC 3339 §5.6); `T` and `Z` in either case, or a space for the
  /// `T`.
  ///
  /// Fractions of a millisecond are truncated. A leap second becomes the first second of the next minute.
  package init(rfc3339 text: String) throws(MalformedRFC3339) {
    var reader = Reader(bytes: Array(text.utf8))
    let year = try reader.number(digits: 4, in: 0...9999)
    try reader.one(of: "-")
    let month = try reader.number(digits: 2, in: 1...12)
    try reader.one(of: "-")
    let day = try reader.number(digits: 2, in: 1...Self.dayCount(month: month, year: year))
    try reader.one(of: "Tt ")
    let hour = try reader.number(digits: 2, in: 0...23)
    try reader.one(of: ":")
    let minute = try reader.number(digits: 2, in: 0...59)
    try reader.one(of: ":")
    let second = try reader.number(digits: 2, in: 0...60)
    let fraction = try reader.fraction()
    let offset = try reader.offset()
    guard reader.isAtEnd else { throw reader.fault }
    let seconds = CivilDate.daysSince1970(year, month, day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second
    milliseconds = Int64(seconds * 1000 + fraction)
  }

  /// The text in UTC, with milliseconds if they are not 0. Only within ``rfc3339Range``.
  package var rfc3339: String {
    precondition(Self.rfc3339Range.contains(self), "the year does not have four digits")
    let (seconds, rest) = Self.floorDivided(Int(milliseconds), by: 1000)
    let (days, second) = Self.floorDivided(seconds, by: 86_400)
    let date = CivilDate.date(ofDay: days)
    return "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))"
      + "T\(Self.padded(second / 3600, 2)):\(Self.padded(second / 60 % 60, 2)):\(Self.padded(second % 60, 2))"
      + (rest == 0 ? "Z" : ".\(Self.padded(rest, 3))Z")
  }

  private struct Reader {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }
    var fault: MalformedRFC3339 { MalformedRFC3339(position: position) }
    private var digit: Int? {
      guard position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) else {
        return nil
      }
      return Int(bytes[position] - UInt8(ascii: "0"))
    }

    mutating func number(digits: Int, in range: ClosedRange<Int>) throws(MalformedRFC3339) -> Int {
      let start = position
      var number = 0
      for _ in 0..<digits {
        guard let digit else { throw fault }
        number = number * 10 + digit
        position += 1
      }
      guard range.contains(number) else { throw MalformedRFC3339(position: start) }
      return number
    }

    @discardableResult
    mutating func one(of characters: String) throws(MalformedRFC3339) -> UInt8 {
      guard position < bytes.count, characters.utf8.contains(bytes[position]) else { throw fault }
      position += 1
      return bytes[position - 1]
    }

    /// Milliseconds.
    mutating func fraction() throws(MalformedRFC3339) -> Int {
      guard position < bytes.count, bytes[position] == UInt8(ascii: ".") else { return 0 }
      position += 1
      guard digit != nil else { throw fault }
      var (milliseconds, unit) = (0, 100)
      while let digit {
        milliseconds += digit * unit
        unit /= 10
        position += 1
      }
      return milliseconds
    }

    /// Minutes east of UTC.
    mutating func offset() throws(MalformedRFC3339) -> Int {
      let sign = try one(of: "Zz+-")
      guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return 0 }
      let hours = try number(digits: 2, in: 0...23)
      try one(of: ":")
      let minutes = try number(digits: 2, in: 0...59)
      return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
  }

  private static func dayCount(month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func floorDivided(_ value: Int, by divisor: Int) -> (quotient: Int, rest: Int) {
    let (quotient, rest) = value.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
