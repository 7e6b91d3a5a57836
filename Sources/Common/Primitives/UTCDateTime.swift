/// A date and time in UTC, in the Gregorian calendar, without leap seconds.
package struct UTCDateTime: Sendable, Hashable {
  package var year: Int
  /// 1 to 12.
  package var month: Int
  /// 1 to 31.
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int

  /// The components are not checked: a day 31 of a shorter month, or a second 60, counts on into the next unit.
  package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, second)
  }

  package init(secondsSince1970 seconds: Int64) {
    let (days, rest) = seconds.floorDivided(by: Int64(CivilDate.secondsPerDay))
    (year, month, day) = CivilDate.date(ofDay: Int(days))
    (hour, minute, second) = (Int(rest) / 3600, Int(rest) / 60 % 60, Int(rest) % 60)
  }

  package var daysSince1970: Int { CivilDate.daysSince1970(year, month, day) }

  package var secondsSince1970: Int64 {
    Int64(daysSince1970 * CivilDate.secondsPerDay + hour * 3600 + minute * 60 + second)
  }
}
