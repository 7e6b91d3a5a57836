import Foundation
import PhotoModel
import Primitives
import Testing

@Suite("RFC 3339 dates")
struct RFC3339Tests {
  @Test(
    "valid dates are parsed, and written in UTC",
    arguments: [
      ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
      ("2024-05-06T07:08:09Z", 1_714_979_289_000, "2024-05-06T07:08:09Z"),
      ("2024-05-06t09:08:09.1z", 1_714_986_489_100, "2024-05-06T09:08:09.100Z"),
      ("2024-05-06 09:08:09.1239999+02:00", 1_714_979_289_123, "2024-05-06T07:08:09.123Z"),
      ("1969-12-31T23:59:59.999Z", -1, "1969-12-31T23:59:59.999Z"),
      ("2000-02-29T00:00:00-23:59", 951_868_740_000, "2000-02-29T23:59:00Z"),
      ("1990-12-31T23:59:60Z", 662_688_000_000, "1991-01-01T00:00:00Z"),
      ("0000-01-01T00:00:00Z", -62_167_219_200_000, "0000-01-01T00:00:00Z"),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
      ("2024-05-06T07:08:09-00:00", 1_714_979_289_000, "2024-05-06T07:08:09Z"),
    ] as [(String, Int64, String)])
  func good(_ text: String, _ milliseconds: Int64, _ written: String) throws {
    let date = try Timestamp(rfc3339: text)
    #expect(date.milliseconds == milliseconds)
    #expect(date.rfc3339 == written)
  }

  @Test(
    "each invalid date gives an error with the position of the fault",
    arguments: [
      ("", 0), ("2024", 4), ("24-05-06T07:08:09Z", 2), ("2024-00-06T07:08:09Z", 5), ("2024-13-06T07:08:09Z", 5),
      ("2024-04-31T07:08:09Z", 8),
      ("2023-02-29T07:08:09Z", 8), ("1900-02-29T07:08:09Z", 8), ("2024-05-00T07:08:09Z", 8), ("2024-05-06", 10),
      ("2024-05-06_07:08:09Z", 10), ("2024-05-06T24:00:00Z", 11),
      ("2024-05-06T07:60:00Z", 14), ("2024-05-06T07:08:61Z", 17), ("2024-05-06T07:08Z", 16),
      ("2024-05-06T07:08:09", 19), ("2024-05-06T07:08:09,5Z", 19), ("2024-05-06T07:08:09.Z", 20),
      ("2024-05-06T07:08:09+0200", 22), ("2024-05-06T07:08:09+24:00", 20), ("2024-05-06T07:08:09+02:60", 23),
      ("2024-05-06T07:08:09Z ", 20), (" 2024-05-06T07:08:09Z", 0),
      ("9999-12-31T23:59:59-23:59", 0), ("0000-01-01T00:00:00+00:01", 0),
      ("-024-05-06T07:08:09Z", 0), ("\u{FF12}024-05-06T07:08:09Z", 0),
    ])
  func bad(_ text: String, _ position: Int) {
    #expect(throws: MalformedRFC3339(position: position)) { try Timestamp(rfc3339: text) }
  }

  /// Years around each kind of century, and both ends of the range.
  @Test("consecutive days are 86,400 seconds apart", arguments: [0...9, 1595...1605, 1890...2110, 9990...9999])
  func everyDay(_ years: ClosedRange<Int>) throws {
    var milliseconds = try Timestamp(rfc3339: Self.padded(years.lowerBound, 4) + "-01-01T00:00:00Z").milliseconds
    for year in years {
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      for (month, days) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
        for day in 1...days {
          let date = "\(Self.padded(year, 4))-\(Self.padded(month + 1, 2))-\(Self.padded(day, 2))"
          #expect(Timestamp(milliseconds: milliseconds).rfc3339 == date + "T00:00:00Z")
          #expect(try Timestamp(rfc3339: date + "T00:00:00Z").milliseconds == milliseconds)
          milliseconds += 86_400_000
        }
      }
    }
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    String(String(number + 100_000).suffix(width))
  }
}
