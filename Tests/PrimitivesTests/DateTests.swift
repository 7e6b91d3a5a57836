import Primitives
import Testing

@Suite("Dates and times")
struct DateTests {
  @Test(
    "days are counted from 1970-01-01",
    arguments: [
      (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2024, 3, 1, 19_783), (0, 1, 1, -719_528),
      (-1, 12, 31, -719_529), (9999, 12, 31, 2_932_896),
    ])
  func days(_ year: Int, _ month: Int, _ day: Int, _ days: Int) {
    #expect(CivilDate.daysSince1970(year, month, day) == days)
    let date = CivilDate.date(ofDay: days)
    #expect(date.year == year && date.month == month && date.day == day)
    let first = CivilDate.month(ofDay: days)
    #expect(first.year == year && first.month == month)
  }

  @Test("each day of 800 years follows the day before")
  func everyDay() {
    var day = CivilDate.daysSince1970(1600, 1, 1)
    for year in 1600..<2400 {
      for month in 1...12 {
        for dayOfMonth in 1...CivilDate.dayCount(month: month, year: year) {
          guard CivilDate.daysSince1970(year, month, dayOfMonth) == day,
            CivilDate.date(ofDay: day) == (year, month, dayOfMonth)
          else {
            Issue.record("\(year)-\(month)-\(dayOfMonth) is not day \(day)")
            return
          }
          day += 1
        }
      }
    }
  }

  @Test(
    "the day of a moment is rounded down, also before 1970",
    arguments: [
      (0, 0), (86_399_999, 0), (86_400_000, 1), (-1, -1), (-86_400_000, -1), (-86_400_001, -2),
    ] as [(Int64, Int)])
  func dayOfMoment(_ milliseconds: Int64, _ day: Int) { #expect(CivilDate.day(ofMilliseconds: milliseconds) == day) }

  @Test(
    "seconds since 1970 become a date and time, and back",
    arguments: [
      (0, UTCDateTime(year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0)),
      (-1, UTCDateTime(year: 1969, month: 12, day: 31, hour: 23, minute: 59, second: 59)),
      (784_111_777, UTCDateTime(year: 1994, month: 11, day: 6, hour: 8, minute: 49, second: 37)),
      (-62_167_219_200, UTCDateTime(year: 0, month: 1, day: 1, hour: 0, minute: 0, second: 0)),
    ] as [(Int64, UTCDateTime)])
  func moments(_ seconds: Int64, _ time: UTCDateTime) {
    #expect(UTCDateTime(secondsSince1970: seconds) == time)
    #expect(time.secondsSince1970 == seconds)
  }

  @Test(
    "RFC 3339 texts have milliseconds if they are not zero or always",
    arguments: [
      (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
      (-1, "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
      (1_714_979_289_050, "2024-05-06T07:08:09.050Z", "2024-05-06T07:08:09.050Z"),
      (RFC3339.millisecondsRange.lowerBound, "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
      (RFC3339.millisecondsRange.upperBound, "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ] as [(Int64, String, String)])
  func rfc3339(_ milliseconds: Int64, _ short: String, _ long: String) throws {
    #expect(RFC3339.text(millisecondsSince1970: milliseconds) == short)
    #expect(RFC3339.text(millisecondsSince1970: milliseconds, fraction: .always) == long)
    #expect(try RFC3339.milliseconds(short) == milliseconds)
    #expect(try RFC3339.milliseconds(long) == milliseconds)
  }

  /// The modification date of a file may be any number.
  @Test(
    "moments outside the years 0 to 9999 are written with a sign or more digits",
    arguments: [
      (RFC3339.millisecondsRange.lowerBound - 1, "-0001-12-31T23:59:59.999Z"),
      (RFC3339.millisecondsRange.upperBound + 1, "10000-01-01T00:00:00Z"),
      (.max, "292278994-08-17T07:12:55.807Z"), (.min, "-292275055-05-16T16:47:04.192Z"),
    ] as [(Int64, String)])
  func distant(_ milliseconds: Int64, _ text: String) {
    #expect(RFC3339.text(millisecondsSince1970: milliseconds) == text)
  }

  @Test(
    "a parsed date keeps its offset; Z and -00:00 mean that none is known",
    arguments: [
      ("Z", nil, 1_704_065_400_000), ("-00:00", nil, 1_704_065_400_000), ("+00:00", 0, 1_704_065_400_000),
      ("+01:00", 60, 1_704_061_800_000), ("-03:30", -210, 1_704_078_000_000),
    ] as [(String, Int?, Int64)])
  func offsets(_ offset: String, _ minutes: Int?, _ milliseconds: Int64) throws {
    let date = try RFC3339.dateTime("2023-12-31T23:30:00\(offset)")
    #expect(date.offsetMinutes == minutes && date.milliseconds == milliseconds)
  }
}
