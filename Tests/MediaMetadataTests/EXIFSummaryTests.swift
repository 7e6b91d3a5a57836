import Foundation
import MediaMetadata
import PhotoModel
import Testing

/// The values of EXIF that scans and renders read, by our own walk of the directories.
@Suite("EXIF summary")
struct EXIFSummaryTests {
  private static func photograph(isBigEndian: Bool = false) -> TIFFFixture {
    var fixture = TIFFFixture(isBigEndian: isBigEndian)
    fixture.first = [
      (0x010F, .ascii(" Maker  ")), (0x0110, .ascii("Model")), (0x0112, .short(6)),
      (0x0132, .ascii("2025:01:01 00:00:00")),
    ]
    fixture.exif = [
      (0x9003, .ascii("2024:05:06 07:08:09")), (0x9011, .ascii("-02:30")), (0x9291, .ascii("25 ")),
      (0xA001, .short(1)),
    ]
    fixture.gps = [
      (0x0001, .ascii("S")), (0x0002, .rationals([(33, 1), (30, 1), (36, 1)])), (0x0003, .ascii("w")),
      (0x0004, .rationals([(70, 1), (0, 1), (0, 1)])), (0x0005, .bytes([1])), (0x0006, .rationals([(25, 10)])),
    ]
    return fixture
  }

  @Test("orientation, camera, date with fraction and offset, and place, in both byte orders", arguments: [false, true])
  func values(isBigEndian: Bool) {
    let parsed = EXIFSummary.parse(Self.photograph(isBigEndian: isBigEndian).bytes[...])
    let summary = parsed.summary
    #expect(!summary.isEmpty && parsed.warnings == nil && parsed.thumbnail == nil)
    #expect(summary.orientation == .rightTop && summary.make == "Maker" && summary.model == "Model")
    #expect(
      summary.date
        == EXIFDate(
          year: 2024, month: 5, day: 6, hour: 7, minute: 8, second: 9, millisecond: 250, offsetMinutes: -150))
    #expect(summary.location == Location(latitude: -33.51, longitude: -70, altitude: -2.5))
    // The index of an optional colour space without its directory.
    #expect(!summary.isAdobeRGB)
  }

  @Test(
    "a date needs numbers that exist in a calendar, and no gaps",
    arguments: [
      ("2024:05:06 07:08:09", true), ("2024:05:06 24:00:00", false), ("2024:13:06 07:08:09", false),
      ("2024: 5: 6  7: 8: 9", true), ("    :  :     :  :  ", false), ("0000:00:00 00:00:00", false),
      ("2024:05:06 07:08:0x", false), ("999999999999:05:06 07:08:09", false), ("2024:05", false),
      ("2024:05:   07:08:09", false), ("2024:05:06   :08:09", false), ("2024:05:06 07", false), ("2024-05-32", false),
      ("2024:05:06 -7:08:09", false), ("2024:02:30", false),
      ("2024T05:06 07:08:09", false), ("2024:05:06TT07:08:09", false), ("2024:05:06 07:08:09.", false),
      ("2024:05:06 07:08:09.5x", false), ("2024:05:06 07:08.5", false), ("2024:05:06.5", false),
    ])
  func dates(_ text: String, _ isDate: Bool) {
    var fixture = TIFFFixture()
    fixture.exif = [(0x9003, .ascii(text))]
    #expect((EXIFSummary.parse(fixture.bytes[...]).summary.date != nil) == isDate)
  }

  @Test(
    "dates in the forms of other programs are read, and an offset in the date precedes that of its own tag",
    arguments: [
      ("2020:05:06 07:08:09", 7, 8, 9, 250, 60), ("2020-05-06 07:08:09", 7, 8, 9, 250, 60),
      ("2020:05:06 07:08", 7, 8, 0, 0, 60), ("2020-05-06 07:08", 7, 8, 0, 0, 60), ("2020:05:06", 12, 0, 0, 0, 60),
      ("2020-05-06", 12, 0, 0, 0, 60), ("2020:05:06   :  :  ", 12, 0, 0, 0, 60),
      ("2020:05:06 07:08:09+02:00", 7, 8, 9, 250, 120), ("2020:05:06 07:08:09-0330", 7, 8, 9, 250, -210),
      ("2020-05-06 07:08-03:30", 7, 8, 0, 0, -210), ("2020:05:06 07:08:09 +00:00", 7, 8, 9, 250, 0),
      ("2020:05:06 07:08:09Z", 7, 8, 9, 250, 0), ("2020-05-06T07:08:09", 7, 8, 9, 250, 60),
      ("2020-05-06T07:08:09.5", 7, 8, 9, 500, 60), ("2020:05:06 07:08:09.1259+02:00", 7, 8, 9, 125, 120),
      ("2020-05-06T07:08Z", 7, 8, 0, 0, 0), ("2020-05-06T07:08:09.5 Z", 7, 8, 9, 500, 0),
      ("2020:05:06 07:08:09 a.m.", 7, 8, 9, 250, 60), ("2020:05:06 07:08:09 p. m.", 7, 8, 9, 250, 60),
      ("2020:05:06 07:08:09 MEZ", 7, 8, 9, 250, 60), ("2020:05:06 07:08:09 v1.2", 7, 8, 9, 250, 60),
    ] as [(String, Int, Int, Int, Int, Int)])
  func forms(_ text: String, _ hour: Int, _ minute: Int, _ second: Int, _ millisecond: Int, _ offset: Int) {
    for written in ["+01:00", "+0100"] {
      var fixture = TIFFFixture()
      fixture.exif = [(0x9003, .ascii(text)), (0x9011, .ascii(written)), (0x9291, .ascii("25"))]
      let date = EXIFSummary.parse(fixture.bytes[...]).summary.date
      #expect(
        date
          == EXIFDate(
            year: 2020, month: 5, day: 6, hour: hour, minute: minute, second: second, millisecond: millisecond,
            offsetMinutes: offset))
    }
  }

  @Test(
    "an offset has hours and minutes, with or without a colon",
    arguments: [
      ("+02:00", 120), ("+0200", 120), ("-0930", -570), ("Z", 0), ("+02", nil), ("0200", nil), ("+020", nil),
      ("+02000", nil), ("+0260", nil), ("+1600", nil), ("+02:", nil),
    ] as [(String, Int?)])
  func offsets(_ text: String, _ minutes: Int?) {
    var fixture = TIFFFixture()
    fixture.exif = [(0x9003, .ascii("2020:05:06 07:08:09")), (0x9011, .ascii(text))]
    #expect(EXIFSummary.parse(fixture.bytes[...]).summary.date?.offsetMinutes == minutes)
  }

  @Test("without the date of the photograph, that of digitizing counts, and then that of the file")
  func fallbacks() {
    var fixture = Self.photograph()
    #expect(EXIFSummary.parse(fixture.bytes[...]).summary.date?.year == 2024)
    fixture.exif = [(0x9003, .ascii("    :  :     :  :  ")), (0x9004, .ascii("2023:05:06 07:08:09"))]
    #expect(EXIFSummary.parse(fixture.bytes[...]).summary.date?.year == 2023)
    fixture.exif = []
    #expect(EXIFSummary.parse(fixture.bytes[...]).summary.date?.year == 2025)
  }

  @Test("a place needs both angles, and an unknown part makes an angle unknown")
  func places() {
    for changed: (Int, TIFFFixture.Value) in [
      (0x0002, .rationals([(33, 1), (30, 0), (36, 1)])), (0x0001, .ascii("")), (0x0004, .rationals([(181, 1)])),
      (0x0002, .ascii("33 30 36")),
    ] {
      var fixture = Self.photograph()
      fixture.gps = fixture.gps.map { $0.0 == changed.0 ? changed : $0 }
      #expect(EXIFSummary.parse(fixture.bytes[...]).summary.location == nil, "\(changed)")
    }
  }

  @Test(
    "the reference of the altitude decides its sign",
    arguments: [(0, 2.5), (1, -2.5), (2, 2.5), (3, -2.5)] as [(UInt8, Double)])
  func altitudes(_ reference: UInt8, _ altitude: Double) {
    var fixture = Self.photograph()
    let changed: (Int, TIFFFixture.Value) = (0x0005, .bytes([reference]))
    fixture.gps = fixture.gps.map { $0.0 == changed.0 ? changed : $0 }
    #expect(EXIFSummary.parse(fixture.bytes[...]).summary.location?.altitude == altitude)
  }

  @Test("the first of two entries counts, and an entry outside of the block does not")
  func entries() {
    var fixture = TIFFFixture()
    fixture.first = [(0x010F, .ascii("First maker")), (0x010F, .ascii("Second maker"))]
    #expect(EXIFSummary.parse(fixture.bytes[...]).summary.make == "First maker")
    // The offset of the first entry's value.
    var block = fixture.bytes
    block.replaceSubrange(18..<22, with: [0, 0, 0, 1])
    let parsed = EXIFSummary.parse(block[...])
    #expect(parsed.summary.make == "Second maker")
    #expect(parsed.warnings?.library == "EXIF" && parsed.warnings?.count == 1)
  }

  @Test("directories that point to each other are read once")
  func cycle() {
    // The EXIF directory points to the GPS directory and that back to it; neither has another entry.
    let entry: (UInt8, UInt8) -> [UInt8] = { [$0, 0x87 + ($0 == 0x25 ? 1 : 0), 4, 0, 1, 0, 0, 0, $1, 0, 0, 0] }
    let directory: ([UInt8]) -> [UInt8] = { [1, 0] + $0 + [0, 0, 0, 0] }
    let block: [UInt8] =
      Array("II".utf8) + [42, 0, 8, 0, 0, 0] + directory(entry(0x69, 26)) + directory(entry(0x25, 44))
      + directory(entry(0x69, 26))
    let parsed = EXIFSummary.parse(block[...])
    #expect(parsed.summary.date == nil && parsed.warnings?.count == 1)
  }

  @Test("a block that is cut off anywhere has the values that libexif finds in it")
  func truncated() {
    for isBigEndian in [false, true] {
      let block = Self.photograph(isBigEndian: isBigEndian).bytes
      for length in 0...block.count {
        let part = block[..<length]
        let summary = EXIFSummary.parse(part).summary
        let sections = MetadataDictionary([.init(.exif, part)], includesLocations: true).sections
        func text(_ section: String, _ name: String) -> String? {
          guard case .text(let text)? = sections[section]?[name] else { return nil }
          return text
        }
        let (make, model) = (text("TIFF", "Make"), text("TIFF", "Model"))
        #expect(summary.make == make?.trimmingCharacters(in: .whitespaces) && summary.model == model, "\(length)")
        let date = text("EXIF", "DateTimeOriginal") ?? text("TIFF", "DateTime")
        #expect(summary.date?.year == date.flatMap { Int($0.prefix(4)) }, "\(length)")
        if case .integer(let number)? = sections["TIFF"]?["Orientation"] {
          #expect(summary.orientation.rawValue == number, "\(length)")
        } else {
          #expect(summary.orientation == .topLeft, "\(length)")
        }
      }
    }
  }
}
