// Date-times of RFC 3339 as milliseconds since 1970. Years are 0000...9999 in the Gregorian calendar throughout (§1);
// the conversion between days and dates is exact for all of them.

/// The position where a text is not a valid RFC 3339 date-time.
package struct MalformedRFC3339: Error, Sendable, Hashable {
  /// The index of the first invalid byte; the length of the text if it ends too early.
  package let position: Int

  package init(position: Int) {
    self.position = position
  }
}

package enum RFC3339 {
  /// 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z: the range of RFC 3339, in milliseconds since 1970.
  package static let millisecondsRange: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// When a text has milliseconds.
  package enum Fraction: Sendable {
    case ifNotZero
    case always
  }

  /// The text in UTC. Outside ``millisecondsRange`` the year has a sign or more than four digits, and the text is not
  /// valid RFC 3339.
  package static func text(millisecondsSince1970 milliseconds: Int64, fraction: Fraction = .ifNotZero) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(24)
    append(millisecondsSince1970: milliseconds, fraction: fraction, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the text in UTF-8, like ``text(millisecondsSince1970:fraction:)``. Allocates nothing if `bytes` has room
  /// for 24 more.
  package static func append(
    millisecondsSince1970 milliseconds: Int64, fraction: Fraction = .ifNotZero, to bytes: inout [UInt8]
  ) {
    let (seconds, rest) = milliseconds.floorDivided(by: 1000)
    let time = UTCDateTime(secondsSince1970: seconds)
    append(time.year, digits: 4, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    append(time.month, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    append(time.day, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: "T"))
    append(time.hour, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    append(time.minute, digits: 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    append(time.second, digits: 2, to: &bytes)
    if rest != 0 || fraction == .always {
      bytes.append(UInt8(ascii: "."))
      append(Int(rest), digits: 3, to: &bytes)
    }
    bytes.append(UInt8(ascii: "Z"))
  }

  private static func append(_ number: Int, digits: Int, to bytes: inout [UInt8]) {
    var unit = 1
    for _ in 1..<digits { unit *= 10 }
    guard number >= 0, number < unit * 10 else {
      bytes.append(contentsOf: number.zeroPadded(digits).utf8)
      return
    }
    while unit > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / unit % 10))
      unit /= 10
    }
  }
}
