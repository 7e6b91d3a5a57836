/// Converts between days of the Gregorian calendar and day numbers from 1970-01-01. Exact for every year, also before
/// year 1 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
package enum CivilDate {
  package static let millisecondsPerDay: Int64 = 86_400_000
  package static let secondsPerDay = 86_400

  /// Years begin in March here, so that the leap day is the last day.
  package static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  package static func month(ofDay days: Int) -> (year: Int, month: Int) {
    let date = date(ofDay: days)
    return (date.year, date.month)
  }

  package static func date(ofDay days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  /// Rounds down, also before 1970.
  package static func day(ofMilliseconds milliseconds: Int64) -> Int {
    Int(milliseconds.floorDivided(by: millisecondsPerDay).quotient)
  }

  /// - Parameter month: 1 to 12.
  package static func dayCount(month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int64 {
  /// Division that rounds down, so that the remainder is never negative.
  package func floorDivided(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
