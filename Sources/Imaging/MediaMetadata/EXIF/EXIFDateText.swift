import Primitives

/// The text of a date in EXIF: `YYYY:MM:DD HH:MM:SS` (DC-008 §4.6.5.F), or one of the forms that other programs write:
/// with hyphens in the date, a `T` before the time, without seconds, with a fraction of them, without a time (noon, as
/// in XMP), or with an offset after the time.
struct EXIFDateText {
  let year, month, day, hour, minute, second: Int
  /// Whether the text has seconds, so that they may have a fraction.
  let hasSeconds: Bool
  /// The digits of a fraction of the second; `nil` if the text has none.
  let fraction: ArraySlice<UInt8>?
  /// Minutes east of UTC.
  let offsetMinutes: Int?

  private static let colon = UInt8(ascii: ":")
  private static let hyphen = UInt8(ascii: "-")
  private static let plus = UInt8(ascii: "+")
  private static let space = UInt8(ascii: " ")
  private static let point = UInt8(ascii: ".")
  private static let timeMark = UInt8(ascii: "T")
  private static let utcMark = UInt8(ascii: "Z")
  private static let dateLength = "YYYY:MM:DD".utf8.count
  private static let minuteLength = "YYYY:MM:DD HH:MM".utf8.count

  /// `nil` unless the numbers exist in a calendar.
  ///
  /// - Parameter text: without spaces at its ends.
  init?(_ text: ArraySlice<UInt8>) {
    // The sign or the Z of an offset follows the time: signs before it are in the date. A Z that ends a word, as in
    // MEZ, is none.
    let zone = text.indices.dropFirst(Self.minuteLength).first { i in
      if text[i] == Self.plus || text[i] == Self.hyphen { return true }
      guard text[i] == Self.utcMark, i + 1 == text.endIndex else { return false }
      return text[i - 1] == Self.space || Self.digits.contains(text[i - 1])
    }
    var local = Array(text[..<(zone ?? text.endIndex)])
    while local.last == Self.space { local.removeLast() }
    if local.count > Self.dateLength, local[Self.dateLength] == Self.timeMark { local[Self.dateLength] = Self.space }
    var fraction: ArraySlice<UInt8>?
    let isHyphenated = Self.isHyphenated(local)
    let fields = local.split { byte in
      byte == Self.colon || byte == Self.space || (isHyphenated && byte == Self.hyphen)
    }
    var numbers: [Int] = []
    for (index, field) in fields.prefix(6).enumerated() {
      var digits = field
      // Only the seconds have a fraction. Text after them, such as "a.m.", is not part of the date.
      if index == 5, let point = field.firstIndex(of: Self.point) {
        let decimals = field[(point + 1)...]
        guard !decimals.isEmpty, decimals.allSatisfy(Self.digits.contains) else { return nil }
        digits = field[..<point]
        fraction = decimals
      }
      guard let number = Self.number(digits) else { return nil }
      numbers.append(number)
    }
    let hasWholeDate = local.prefix { $0 != Self.space }.count == Self.dateLength
    switch numbers.count {
    case 6: break
    // An unknown part may be blank, but an hour without a minute is not accepted.
    case 5 where hasWholeDate && local.count <= Self.minuteLength + 1: numbers.append(0)
    case 3 where hasWholeDate: numbers += [12, 0, 0]
    default: return nil
    }
    hasSeconds = fields.count >= 6
    self.fraction = fraction
    year = numbers[0]
    month = numbers[1]
    day = numbers[2]
    hour = numbers[3]
    minute = numbers[4]
    second = numbers[5]
    offsetMinutes = zone.flatMap { Self.offsetMinutes(text[$0...]) }
    guard (1...9999).contains(year), (1...12).contains(month) else { return nil }
    guard (1...CivilDate.dayCount(month: month, year: year)).contains(day) else { return nil }
    guard (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second) else { return nil }
  }

  /// Whether the date has the form `YYYY-MM-DD`.
  private static func isHyphenated(_ text: [UInt8]) -> Bool {
    guard text.count >= dateLength else { return false }
    return text[4] == hyphen && text[7] == hyphen
  }

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

  /// A number without a sign; `nil` for other text, or more digits than a date has.
  private static func number(_ text: ArraySlice<UInt8>) -> Int? {
    guard (1...9).contains(text.count), text.allSatisfy(digits.contains) else { return nil }
    return text.reduce(0) { $0 * 10 + Int($1 - 0x30) }
  }

  /// The minutes of an offset from UTC: `+01:00`, `+0100` or `Z`.
  static func offsetMinutes(_ text: ArraySlice<UInt8>) -> Int? {
    if text.elementsEqual("Z".utf8) { return 0 }
    guard let sign = text.first, sign == plus || sign == hyphen else { return nil }
    let digits = text.dropFirst()
    var parts = digits.split(separator: colon)
    if parts.count == 1, digits.count == 4 { parts = [digits.prefix(2), digits.suffix(2)] }
    guard parts.count == 2, let hours = number(parts[0]), let minutes = number(parts[1]) else { return nil }
    guard (0...15).contains(hours), (0...59).contains(minutes) else { return nil }
    return (hours * 60 + minutes) * (sign == hyphen ? -1 : 1)
  }
}
