extension RFC3339 {
  /// Parses a date-time with any offset and fraction (RFC 3339 §5.6); `T` and `Z` in either case, or a space for the
  /// `T`.
  ///
  /// Fractions of a millisecond are truncated. A leap second becomes the first second of the next minute.
  ///
  /// - Returns: milliseconds since 1970.
  package static func milliseconds(_ text: String) throws(MalformedRFC3339) -> Int64 {
    try dateTime(text).milliseconds
  }

  /// Parses like ``milliseconds(_:)``, and keeps the offset.
  ///
  /// - Returns: milliseconds since 1970, and minutes east of UTC. `Z` and `-00:00` mean that the local offset is not
  ///   known (RFC 9557 §2.2), `+00:00` that it is 0.
  package static func dateTime(
    _ text: String
  ) throws(MalformedRFC3339) -> (milliseconds: Int64, offsetMinutes: Int?) {
    var reader = Reader(bytes: Array(text.utf8))
    let year = try reader.number(digits: 4, in: 0...9999)
    try reader.one(of: "-")
    let month = try reader.number(digits: 2, in: 1...12)
    try reader.one(of: "-")
    let day = try reader.number(digits: 2, in: 1...CivilDate.dayCount(month: month, year: year))
    try reader.one(of: "Tt ")
    let hour = try reader.number(digits: 2, in: 0...23)
    try reader.one(of: ":")
    let minute = try reader.number(digits: 2, in: 0...59)
    try reader.one(of: ":")
    let second = try reader.number(digits: 2, in: 0...60)
    let fraction = try reader.fraction()
    let offset = try reader.offset()
    guard reader.isAtEnd else { throw reader.fault }
    let local = UTCDateTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    let milliseconds = (local.secondsSince1970 - Int64(offset ?? 0) * 60) * 1000 + Int64(fraction)
    // The offset may lead to another year.
    guard millisecondsRange.contains(milliseconds) else { throw MalformedRFC3339(position: 0) }
    return (milliseconds, offset)
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

    /// Minutes east of UTC; `nil` for `Z` and `-00:00`.
    mutating func offset() throws(MalformedRFC3339) -> Int? {
      let sign = try one(of: "Zz+-")
      guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
      let hours = try number(digits: 2, in: 0...23)
      try one(of: ":")
      let minutes = try number(digits: 2, in: 0...59)
      if sign == UInt8(ascii: "-"), hours == 0, minutes == 0 { return nil }
      return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
  }
}
