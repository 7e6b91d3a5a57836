/// A date and time of MS-DOS (APPNOTE §4.4.6): local time in steps of two seconds, from 1980 to 2107. Other times become
/// the nearest one.
struct DOSTime: Sendable, Hashable {
  let time: UInt16
  let date: UInt16

  /// - Parameter utcOffset: minutes east of UTC.
  init(secondsSince1970 seconds: Int64, utcOffset: Int) {
    // From 1980-01-01T00:00:00 to 2107-12-31T23:59:58.
    let local = min(max(315_532_800, seconds.clampedToDates + Int64(utcOffset) * 60), 4_354_819_198)
    let second = local % 86_400
    time = UInt16((second / 3600) << 11 | (second / 60 % 60) << 5 | (second % 60 / 2))
    // Days to a civil date, with years that begin in March, so that the leap day is the last one.
    let days = local / 86_400 + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    date = UInt16((year - 1980) << 9 | month << 5 | day)
  }
}

extension Int64 {
  /// Far from overflow, and still outside of all dates that can be written.
  fileprivate var clampedToDates: Int64 { Swift.min(Swift.max(self, -(1 << 40)), 1 << 40) }
}
