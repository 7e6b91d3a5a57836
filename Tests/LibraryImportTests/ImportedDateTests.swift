import Foundation
import LibraryCatalogue
import PhotoModel
import Primitives
import Testing

@testable import LibraryImport

@Suite("Dates of exports")
struct ImportedDateTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let source: DateSource
    /// The file's date, with its offset if it has one.
    let known: String
    var knownOffset: Int?
    let exported: String
    var utcOffset: Int?
    var isLocalTime = false
    /// The date that the asset gets; `nil`: it keeps its own.
    let expected: String?
    var expectedOffset: Int?
  }

  /// The library is in Berlin: 2020-07-01T10:00:00Z is noon.
  static let cases = [
    Case(
      testDescription: "of the modification time", source: .file, known: "2020-07-01T10:00:00Z",
      exported: "2020-07-01T10:00:00Z", utcOffset: 60, expected: "2020-07-01T10:00:00Z", expectedOffset: 60),
    Case(
      testDescription: "set by a user", source: .user, known: "2020-07-01T10:00:00Z", exported: "2021-07-01T10:00:00Z",
      expected: nil),
    Case(
      testDescription: "the same moment", source: .metadata, known: "2020-07-01T10:00:00Z", knownOffset: 120,
      exported: "2020-07-01T10:00:04Z", expected: nil),
    Case(
      testDescription: "corrected by an hour", source: .metadata, known: "2020-07-01T10:00:00Z", knownOffset: 120,
      exported: "2020-07-01T11:00:00Z", expected: "2020-07-01T11:00:00Z"),
    Case(
      testDescription: "the local time as if in UTC", source: .metadata, known: "2020-07-01T10:00:00Z",
      knownOffset: 180, exported: "2020-07-01T13:00:00Z", expected: nil),
    Case(
      testDescription: "of a movie, with a new offset", source: .container, known: "2020-07-01T10:00:00Z",
      exported: "2020-07-01T10:00:00Z", utcOffset: -240, expected: "2020-07-01T10:00:00Z", expectedOffset: -240),
    Case(
      testDescription: "of a movie, corrected by a day", source: .container, known: "2020-07-01T10:00:00Z",
      exported: "2020-07-02T10:00:00Z", expected: "2020-07-02T10:00:00Z"),
    Case(
      testDescription: "a local time, in the library's zone", source: .metadataInLibraryZone,
      known: "2020-07-01T10:00:00Z", exported: "2020-07-01T10:00:00Z", expected: nil),
    Case(
      testDescription: "a local time, read in New York", source: .metadataInLibraryZone, known: "2020-07-01T10:00:00Z",
      exported: "2020-07-01T16:00:00Z", expected: "2020-07-01T16:00:00Z", expectedOffset: -240),
    Case(
      testDescription: "a local time, read in UTC because the zone is unknown", source: .metadataInLibraryZone,
      known: "2020-07-01T10:00:00Z", exported: "2020-07-01T12:00:00Z", expected: nil),
    Case(
      testDescription: "a local time, with the export's offset", source: .metadataInLibraryZone,
      known: "2020-07-01T10:00:00Z", exported: "2020-07-01T16:00:00Z", utcOffset: -240,
      expected: "2020-07-01T16:00:00Z", expectedOffset: -240),
    Case(
      testDescription: "a local time, corrected by some minutes", source: .metadataInLibraryZone,
      known: "2020-07-01T10:00:00Z", exported: "2020-07-01T10:07:00Z", expected: "2020-07-01T10:07:00Z"),
    Case(
      testDescription: "a local time, corrected by a day", source: .metadataInLibraryZone,
      known: "2020-07-01T10:00:00Z",
      exported: "2020-07-02T10:00:00Z", expected: "2020-07-02T10:00:00Z"),
    Case(
      testDescription: "the same local time in both", source: .metadata, known: "2020-07-01T16:00:00Z",
      knownOffset: -240, exported: "2020-07-01T10:00:00Z", isLocalTime: true, expected: nil),
  ]

  private static func moment(_ text: String) throws -> Int64 { try RFC3339.milliseconds(text) }

  @Test("a file's date gives way to a correction, and not to another reading of the same clock", arguments: cases)
  func replacement(_ example: Case) throws {
    var known = KnownProperties(
      ProbedMedia.picture(at: Timestamp(milliseconds: try Self.moment(example.known)), source: example.source))
    known.utcOffset = example.knownOffset
    var date = try #require(ImportedDate(exported: Self.moment(example.exported), utcOffset: example.utcOffset))
    date.isLocalTime = example.isLocalTime
    let found = date.replacement(of: known, in: try #require(TimeZone(identifier: "Europe/Berlin")))
    #expect(found?.date.rfc3339 == example.expected && found?.utcOffset == example.expectedOffset)
  }

  @Test(
    "dates of XMP in each form",
    arguments: [
      ("2020-07-01T12:00:00+02:00", "2020-07-01T10:00:00Z"), ("2020-07-01T12:00+02:00", "2020-07-01T10:00:00Z"),
      ("2020-07-01T12:00:00.5Z", "2020-07-01T12:00:00.500Z"), ("2020-07-01T12:00:00", "2020-07-01T10:00:00Z"),
      ("1960-01-01T12:00:00.25", "1960-01-01T11:00:00.250Z"),
      ("2020-12-01 12:00", "2020-12-01T11:00:00Z"), ("2020-07-01", "2020-07-01T10:00:00Z"), ("2020-07", nil),
      ("2020-13-01", nil), ("today", nil), ("2020-07-01T12:00:00+2", nil),
    ])
  func xmp(_ text: String, _ expected: String?) throws {
    let date = ImportedDate(xmp: text, in: try #require(TimeZone(identifier: "Europe/Berlin")))
    #expect(date?.moment.rfc3339 == expected)
    #expect(date?.isLocalTime ?? false == (expected != nil && !text.contains("+") && !text.hasSuffix("Z")))
  }
}

extension ProbedMedia {
  static func picture(at moment: Timestamp, source: DateSource) -> ProbedMedia {
    ProbedMedia(
      uniformTypeIdentifier: "public.jpeg", mediaType: .image, mediaSubtypes: [], isRAW: false,
      pixelSize: PixelSize(width: 4, height: 3), orientation: .topLeft, hasAlpha: false, durationSeconds: 0,
      date: CreationDate(moment: moment, source: source), modificationDate: moment, location: nil, cameraMake: nil,
      cameraModel: nil, thumbnail: nil, contentIdentifier: nil, burst: nil)
  }
}
