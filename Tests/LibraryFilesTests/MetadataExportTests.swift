import Foundation
import LibraryFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

@Suite("Export of metadata to sidecars")
struct MetadataExportTests {
  private let library: DescribedLibrary
  private var target: String { library.folder.data + "/export" }

  init() throws {
    library = try DescribedLibrary()
    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
  }

  private func export(
    to folder: String? = nil, _ change: (inout MetadataExport.Options) -> Void = { _ in }
  ) throws -> (summary: MetadataExport.Summary, failures: [String: MetadataExport.Failure]) {
    var options = MetadataExport.Options()
    change(&options)
    var failures: [String: MetadataExport.Failure] = [:]
    let export = try MetadataExport(
      catalogue: library.catalogue, to: folder ?? target, library: library.folder.root, options: options)
    let summary = try export.run { failures[String(decoding: $0, as: UTF8.self)] = $1 }
    return (summary, failures)
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  @Test("only assets with values get a sidecar, at their path; a second export writes nothing")
  func mirror() throws {
    try library.put("", "plain.jpg")
    try library.put("<dc:title>Sea</dc:title>", "2024/x/a.jpg")
    try library.put("", "b.png.jpg")
    try library.scan()
    try library.update("b.png.jpg") { $0.isFavorite = true }
    let originals = try ["plain.jpg", "2024/x/a.jpg", "b.png.jpg"].map {
      try Data(contentsOf: URL(filePath: library.folder.root + "/" + $0))
    }
    let result = try export()
    #expect(result.summary.written == 2 && result.summary.failed == 0 && result.failures.isEmpty)
    #expect(library.folder.allFiles(in: target) == ["2024/x/a.jpg.xmp", "b.png.jpg.xmp"])
    #expect(try text(target + "/2024/x/a.jpg.xmp").contains("x-default\">Sea<"))
    #expect(try text(target + "/b.png.jpg.xmp").contains("<xmp:Label>Favorite</xmp:Label>"))
    let again = try export().summary
    #expect(again.written == 0 && again.unchanged == 2)
    try library.update("b.png.jpg") { $0.rating = .some(4) }
    #expect(try export().summary.written == 1)
    // Beside the originals, which stay as they are, and which the next scan still knows.
    #expect(try export(to: library.folder.root).summary.written == 2)
    #expect(try text(library.folder.root + "/b.png.jpg.xmp").contains("<xmp:Rating>4</xmp:Rating>"))
    #expect(
      try ["plain.jpg", "2024/x/a.jpg", "b.png.jpg"].map {
        try Data(contentsOf: URL(filePath: library.folder.root + "/" + $0))
      } == originals)
    try library.scan()
    #expect(try library.catalogue.everything().count == 3)
  }

  @Test("--only-edited leaves out assets whose values are those of their files")
  func edited() throws {
    for name in ["file.jpg", "title.jpg", "date.jpg", "place.jpg"] { try library.put("<dc:title>F</dc:title>", name) }
    try library.scan()
    try library.update("title.jpg") { $0.title = .some("U") }
    try library.update("date.jpg") { $0.creationDate = Timestamp(milliseconds: 0) }
    try library.update("place.jpg") { $0.location = .some(Location(latitude: 1, longitude: 2)) }
    _ = try export { $0.includesOnlyEdited = true }
    #expect(library.folder.allFiles(in: target) == ["date.jpg.xmp", "title.jpg.xmp"])
    #expect(try text(target + "/date.jpg.xmp").contains(">1970-01-01T00:00:00+00:00<"))
    _ = try export {
      $0.includesOnlyEdited = true
      $0.includesLocations = true
    }
    #expect(library.folder.allFiles(in: target) == ["date.jpg.xmp", "place.jpg.xmp", "title.jpg.xmp"])
  }

  @Test(
    "a date that a user set is written as the local time with its offset, or with that of the library's zone",
    arguments: [
      (-210, 1_583_033_399_123, "2020-02-29T23:59:59.123-03:30"), (120, 0, "1970-01-01T02:00:00+02:00"),
      (0, 0, "1970-01-01T00:00:00+00:00"), (nil, 0, "1970-01-01T01:00:00+01:00"),
      (nil, 1_688_202_000_000, "2023-07-01T11:00:00+02:00"),
    ] as [(Int?, Int64, String)])
  func localTime(_ utcOffset: Int?, _ milliseconds: Int64, _ written: String) throws {
    try library.put("", "a.jpg")
    try library.folder.scan(library.catalogue, timeZone: "Europe/Vienna")
    try library.update("a.jpg") {
      $0.creationDate = Timestamp(milliseconds: milliseconds)
      $0.utcOffset = utcOffset
    }
    _ = try export()
    let sidecar = try text(target + "/a.jpg.xmp")
    for name in ["photoshop:DateCreated", "exif:DateTimeOriginal"] {
      #expect(sidecar.contains("<\(name)>\(written)</\(name)>"))
    }
  }

  @Test("places are exported only on request")
  func places() throws {
    try library.put("<dc:title>T</dc:title><photoshop:City>Oslo</photoshop:City>", "a.jpg")
    try library.put("<dc:title>T</dc:title>", "b.jpg")
    try library.scan()
    try library.update("b.jpg") {
      $0.location = .some(Location(latitude: -41.292483, longitude: 174.778142, altitude: -2.5))
    }
    _ = try export()
    for name in ["a", "b"] {
      let sidecar = try text(target + "/\(name).jpg.xmp")
      #expect(!sidecar.contains("Oslo") && !sidecar.contains("<exif:GPS") && !sidecar.contains("41,17"))
    }
    _ = try export { $0.includesLocations = true }
    #expect(try text(target + "/a.jpg.xmp").contains("<photoshop:City>Oslo</photoshop:City>"))
    let b = try text(target + "/b.jpg.xmp")
    #expect(b.contains("<exif:GPSLatitude>41,17.548980S</exif:GPSLatitude>"))
    #expect(b.contains("<exif:GPSLongitude>174,46.688520E</exif:GPSLongitude>"))
    #expect(b.contains("<exif:GPSAltitude>2500/1000</exif:GPSAltitude>") && b.contains("AltitudeRef>1<"))
  }

  @Test("a foreign sidecar is kept unless asked otherwise, and a file that is not XMP always")
  func foreign() throws {
    for name in ["a.jpg", "b.jpg"] { try library.put("<dc:title>T</dc:title>", name) }
    try library.scan()
    let foreign = "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\" x:xmptk=\"XMP Core\"/>"
    try Data(foreign.utf8).write(to: URL(filePath: target + "/a.jpg.xmp"))
    try Data([0xFF, 0xD8, 0xFF]).write(to: URL(filePath: target + "/b.jpg.xmp"))
    let kept = try export()
    #expect(kept.summary.kept == 2 && kept.summary.written == 0)
    #expect(kept.failures == ["a.jpg.xmp": .foreign, "b.jpg.xmp": .notXMP])
    #expect(try text(target + "/a.jpg.xmp") == foreign)
    let replaced = try export { $0.replacesForeign = true }
    #expect(replaced.summary.written == 1 && replaced.failures == ["b.jpg.xmp": .notXMP])
    #expect(try text(target + "/a.jpg.xmp").contains("x:xmptk=\"photod\""))
    #expect(try Data(contentsOf: URL(filePath: target + "/b.jpg.xmp")) == Data([0xFF, 0xD8, 0xFF]))
  }

  @Test("in the library's own folder, nothing is written below the mount point of a missing disk")
  func missingDisk() throws {
    for name in ["here.jpg", "disk/a.jpg"] { try library.put("<dc:title>T</dc:title>", name) }
    try library.scan()
    // A recorded file system that no folder has.
    try library.catalogue.recordMounts([KnownMount(path: Array("disk".utf8), fileSystem: .hidden)])
    try FileManager.default.removeItem(atPath: library.folder.root + "/disk")
    let beside = try export(to: library.folder.root)
    #expect(beside.summary.written == 1 && beside.summary.failed == 1)
    #expect(beside.failures == ["disk/a.jpg.xmp": .diskMissing])
    #expect(library.folder.allFiles == ["here.jpg", "here.jpg.xmp"])
    #expect(try export().summary.written == 2, "another folder has no disks")
  }

  @Test("nothing is written in the place of the disk with all originals while it is missing", arguments: ["", "disk"])
  func onlyDiskMissing(_ disk: String) throws {
    let path = disk.isEmpty ? "a.jpg" : disk + "/a.jpg"
    try library.put("<dc:title>T</dc:title>", path)
    try library.scan()
    try library.catalogue.recordMounts([KnownMount(path: Array(disk.utf8), fileSystem: .hidden)])
    try FileManager.default.removeItem(atPath: library.folder.root + "/" + (disk.isEmpty ? path : disk))
    // Also under another name of the library's folder.
    let link = library.folder.data + "/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: library.folder.root)
    for folder in [library.folder.root, link] {
      #expect(try export(to: folder).failures == [path + ".xmp": .diskMissing])
      #expect(library.folder.allFiles.isEmpty)
    }
  }

  @Test("a sidecar whose name is too long fails alone, and leaves no temporary file")
  func tooLong() throws {
    let long = String(repeating: "n", count: 249) + ".jpg"
    for name in [long, "a.jpg"] { try library.put("<dc:title>T</dc:title>", name) }
    try library.scan()
    let result = try export()
    #expect(result.summary.written == 1 && result.summary.failed == 1)
    #expect(result.failures.keys.map { $0 } == [long + ".xmp"])
    #expect(library.folder.allFiles(in: target) == ["a.jpg.xmp"])
  }
}
