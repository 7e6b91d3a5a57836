import MediaMetadata
import PhotoModel
import Testing

@Suite("Dates and places of XMP and IPTC")
struct CaptureTests {
  private static func date(
    _ hour: Int, _ minute: Int, _ second: Int, millisecond: Int = 0, hasFraction: Bool? = nil, offset: Int? = nil,
    isUTC: Bool = false
  ) -> EXIFDate {
    EXIFDate(
      year: 2024, month: 5, day: 6, hour: hour, minute: minute, second: second, millisecond: millisecond,
      hasFraction: hasFraction, offsetMinutes: offset, isUTC: isUTC)
  }

  // MARK: Dates

  static let dates: [(String, EXIFDate?)] = [
    ("2024-05-06", date(12, 0, 0)),
    ("2024-05-06T07:08", date(7, 8, 0)),
    ("2024-05-06T07:08:09", date(7, 8, 9)),
    (" 2024-05-06 07:08:09 ", date(7, 8, 9)),
    ("2024-05-06T07:08:09.25", date(7, 8, 9, millisecond: 250)),
    ("2024-05-06T07:08:09.1239", date(7, 8, 9, millisecond: 123)),
    ("2024-05-06T07:08:09.0", date(7, 8, 9, hasFraction: true)),
    ("2024-05-06T07:08Z", date(7, 8, 0, offset: 0, isUTC: true)),
    ("2024-05-06T07:08:09Z", date(7, 8, 9, offset: 0, isUTC: true)),
    ("2024-05-06T07:08:09-00:00", date(7, 8, 9, offset: 0, isUTC: true)),
    ("2024-05-06T07:08:09+00:00", date(7, 8, 9, offset: 0)),
    ("2024-05-06T07:08:09+02:00", date(7, 8, 9, offset: 120)),
    ("2024-05-06T07:08-03:30", date(7, 8, 0, offset: -210)),
    ("2024-05-06T07:08:09.5+0545", date(7, 8, 9, millisecond: 500, offset: 345)),
    ("2024", nil), ("2024-05", nil), ("2024-00-00", nil), ("2024-13-06", nil), ("2024-05-32", nil),
    ("2023-02-29", nil), ("0000-05-06", nil), ("2024-05-06T", nil), ("2024-05-06T07", nil), ("2024-05-06T24:00", nil),
    ("2024-05-06T07:60", nil), ("2024-05-06T07:08:61", nil), ("2024-05-06T07:08:09.", nil),
    ("2024-05-06T07:08:09+2", nil), ("2024-05-06T07:08:09+16:00", nil), ("2024-05-06T07:08:09Zulu", nil),
    ("2024-05-06Z", nil), ("2024:05:06 07:08:09", nil), ("-024-05-06", nil), ("today", nil), ("", nil),
  ]

  @Test("dates of XMP are read in each form", arguments: dates.map(\.0))
  func dateForms(_ text: String) throws {
    let expected = try #require(Self.dates.first { $0.0 == text }).1
    #expect(XMPDate(text)?.date == expected)
  }

  private static func dataset(_ number: UInt8, _ text: String) -> [UInt8] {
    [0x1C, 2, number, 0, UInt8(text.utf8.count)] + Array(text.utf8)
  }

  static let datasets: [(created: String, time: String?, expected: EXIFDate?)] = [
    ("20240506", nil, date(12, 0, 0)), ("20240506", "070809+0200", date(7, 8, 9, offset: 120)),
    ("20240506", "070809", date(7, 8, 9)), ("20240506", "070809-0330", date(7, 8, 9, offset: -210)),
    ("20240506", "x", date(12, 0, 0)), ("20240506", "070809+02", date(12, 0, 0)), ("20240500", "070809", nil),
    ("20240000", nil, nil), ("2024", nil, nil), ("202405061", nil, nil), ("20230229", nil, nil),
  ]

  @Test("dates of IPTC are read with and without a time", arguments: datasets.indices)
  func iptc(_ index: Int) {
    let example = Self.datasets[index]
    var facts = MediaFacts()
    let bytes = Self.dataset(55, example.created) + (example.time.map { Self.dataset(60, $0) } ?? [])
    facts.readDescription(iptc: bytes[...])
    #expect(facts.capture.date == example.expected, "\(example)")
  }

  private static let original = "exif:DateTimeOriginal=\"2024-05-06T01:00\""
  private static let created = "photoshop:DateCreated=\"2024-05-06T02:00\""
  private static let digitized = "xmp:CreateDate=\"2024-05-06T03:00\""

  @Test(
    "the first date counts that is complete",
    arguments: [
      ("\(digitized) \(created) \(original)", 1), ("\(digitized) \(created)", 2), (digitized, 3), ("", 4),
      ("exif:DateTimeOriginal=\"2024\" \(created)", 2), ("photoshop:DateCreated=\"2024-05\" \(digitized)", 3),
      ("exif:DateTimeOriginal=\"\"", 4), ("xmp:ModifyDate=\"2024-05-06T05:00\"", 4),
    ] as [(String, Int)])
  func order(_ attributes: String, _ hour: Int) {
    var facts = MediaFacts(exifBlock: nil, xmpPacket: xmpPacket(attributes)[...])
    facts.readDescription(iptc: (Self.dataset(55, "20240506") + Self.dataset(60, "040000"))[...])
    #expect(facts.capture.date == Self.date(hour, 0, 0))
  }

  @Test("a date and a place in elements are read like those in attributes")
  func elements() {
    let packet = xmpPacket(
      "",
      """
      <xmp:CreateDate>2024-05-06T07:08:09</xmp:CreateDate><exif:GPSLatitude>48,30N</exif:GPSLatitude>
      <exif:GPSLongitude> 16,15,0W </exif:GPSLongitude>
      """)
    let capture = MediaFacts(exifBlock: nil, xmpPacket: packet[...]).capture
    #expect(capture.date == Self.date(7, 8, 9) && capture.location == Location(latitude: 48.5, longitude: -16.25))
  }

  @Test("XMP is not read for a date and a place that EXIF has")
  func besidesEXIF() {
    let packet = xmpPacket("\(Self.original) exif:GPSLatitude=\"48,30N\" exif:GPSLongitude=\"16,15E\"")
    var summary = EXIFSummary()
    summary.dates = [Self.date(9, 9, 9)]
    let place = MediaFacts(exifBlock: nil, xmpPacket: packet[...], summary: summary).capture
    #expect(place.date == nil && place.location == Location(latitude: 48.5, longitude: 16.25))
    summary.location = Location(latitude: 1, longitude: 2)
    #expect(MediaFacts(exifBlock: nil, xmpPacket: packet[...], summary: summary).capture == CaptureSources())
  }

  // MARK: Places

  @Test(
    "coordinates of XMP are read in each form",
    arguments: [
      ("52,30.0N", 52.5), ("52,30,36S", -52.51), ("13.25", 13.25), ("-13.25", -13.25), ("1,2,3,4N", nil), ("x", nil),
      ("", nil), ("5,-1N", nil), ("7W", -7),
    ] as [(String, Double?)])
  func coordinates(_ text: String, _ expected: Double?) {
    #expect(XMPCoordinates.degrees(text) == expected)
  }

  static let places: [(attributes: String, expected: Location?)] = [
    (latitude("48,51.3N") + longitude("2,21,3E"), Location(latitude: 48.855, longitude: 2.35083333)),
    (latitude("48,51,18N") + longitude("2,21W"), Location(latitude: 48.855, longitude: -2.35)),
    (
      latitude("33,30S") + longitude("18,15E") + altitude("25/2"),
      Location(latitude: -33.5, longitude: 18.25, altitude: 12.5)
    ),
    (
      latitude("1,0N") + longitude("2,0E") + altitude("12") + "exif:GPSAltitudeRef=\"1\"",
      Location(latitude: 1, longitude: 2, altitude: -12)
    ),
    (
      latitude("1,0N") + longitude("2,0E") + altitude("12/1") + "exif:GPSAltitudeRef=\"0\"",
      Location(latitude: 1, longitude: 2, altitude: 12)
    ),
    (latitude("1,0N") + longitude("2,0E") + altitude("1/0"), Location(latitude: 1, longitude: 2)),
    (latitude("48,51.3N"), nil), (longitude("2,21E"), nil), (latitude("91,0N") + longitude("2,0E"), nil),
    (latitude("1,0N") + longitude("180,1E"), nil), (latitude("north") + longitude("2,0E"), nil),
    (altitude("12/1"), nil),
  ]

  private static func latitude(_ text: String) -> String { "exif:GPSLatitude=\"\(text)\" " }
  private static func longitude(_ text: String) -> String { "exif:GPSLongitude=\"\(text)\" " }
  private static func altitude(_ text: String) -> String { "exif:GPSAltitude=\"\(text)\" " }

  @Test("places of XMP are read, with their altitudes", arguments: places.indices)
  func place(_ index: Int) {
    let example = Self.places[index]
    let capture = MediaFacts(exifBlock: nil, xmpPacket: xmpPacket(example.attributes)[...]).capture
    #expect(capture.location == example.expected, "\(example)")
  }

  @Test("a truncated packet gives no other date or place than the whole one")
  func cutOff() {
    let packet = xmpPacket("\(Self.original) \(Self.latitude("48,30N")) \(Self.longitude("16,15E"))")
    let whole = MediaFacts(exifBlock: nil, xmpPacket: packet[...]).capture
    for count in 0..<packet.count {
      let part = MediaFacts(exifBlock: nil, xmpPacket: packet.prefix(count)).capture
      #expect(part == whole || part == CaptureSources())
    }
  }
}
