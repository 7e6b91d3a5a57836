import Foundation
import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

/// The readers, compared with an independent one: libimage-exiftool-perl, which `scripts/test` installs.
@Suite("Comparison with ExifTool")
struct ExifToolTests {
  private static func run(_ arguments: [String]) throws -> Data {
    Data(try runToEnd("/usr/bin/exiftool", arguments).output)
  }

  /// ExifTool's values for each file, by the file's name: numbers and texts by tag name, the first one of each name.
  private static func read(_ files: [URL]) throws -> [String: [String: String]] {
    let output = try run(["-n", "-j"] + files.map(\.path))
    let objects = try JSONSerialization.jsonObject(with: output) as? [[String: Any]] ?? []
    var all: [String: [String: String]] = [:]
    for object in objects {
      guard let name = object["FileName"] as? String else { continue }
      all[name] = object.mapValues { "\($0)" }
    }
    return all
  }

  private static func withFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "photod-exiftool-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder)
  }

  private static func text(_ date: EXIFDate?) -> String? {
    date.map {
      String(format: "%04d:%02d:%02d %02d:%02d:%02d", $0.year, $0.month, $0.day, $0.hour, $0.minute, $0.second)
    }
  }

  @Test("metadata of all kinds of files equals ExifTool's")
  func samples() throws {
    let said = try Self.withFolder { folder in
      let files = try ContainerSamples.all.map { format, bytes in
        let file = folder.appending(path: format.rawValue)
        try Data(bytes).write(to: file)
        return file
      }
      return try Self.read(files)
    }
    for (format, bytes) in ContainerSamples.all {
      let read = try header(bytes)
      let said = try #require(said[format.rawValue], "\(format)")
      // ExifTool reports the type of the file itself, and the size of a DNG's samples, not of the cropped picture.
      switch format {
      case .dng: #expect(said["DefaultCropSize"] == "4000 3000")
      // It ignores the crop of a HEIC.
      case .heic: #expect(said["ImageSize"] == "64 48" && read.storedSize == PixelSize(width: 60, height: 40))
      case .cr2: #expect(said["ExifImageWidth"] == "\(read.storedSize.width)")
      default: #expect(said["ImageSize"] == "\(read.storedSize.width) \(read.storedSize.height)", "\(format)")
      }
      // It does not read items inside the tables.
      if format != .avif {
        #expect(said["Make"] == read.exif.make, "\(format)")
        #expect(said["Model"] == read.exif.model, "\(format)")
        #expect(said["DateTimeOriginal"] == Self.text(read.exif.date), "\(format)")
        #expect(said["GPSLatitude"].flatMap(Double.init) == read.exif.location?.latitude, "\(format)")
        #expect(said["GPSLongitude"].flatMap(Double.init) == read.exif.location?.longitude, "\(format)")
      }
      if format == .quickTime {
        #expect(said["Duration"].flatMap(Double.init) == read.durationSeconds, "\(format)")
        #expect(said["CreationDate"]?.hasPrefix(Self.text(read.containerDate) ?? "none") == true)
      }
      if format == .webp { #expect(said["Orientation"] == "\(read.orientation.rawValue)") }
    }
  }

  @Test("tags that ExifTool wrote to a movie are read", arguments: ["mov", "mp4"])
  func movie(_ type: String) throws {
    let original = MovieFile {
      if type == "mp4" { ($0.major, $0.compatible) = ("isom", ["mp42"]) }
      $0.samplesFirst = 200
    }.bytes
    let bytes = try Self.withFolder { folder in
      let file = folder.appending(path: "movie.\(type)")
      try Data(original).write(to: file)
      _ = try Self.run([
        "-n", "-overwrite_original", "-Keys:CreationDate=2022:01:02 03:04:05+05:30", "-Keys:Make=Maker",
        "-Keys:Model=Model 1", "-Keys:GPSCoordinates=12.5 -45.25 100", "-XMP:Rating=2", "-Rotation=90",
        "-QuickTime:CreateDate=2020:02:29 23:59:58", file.path,
      ])
      return [UInt8](try Data(contentsOf: file))
    }
    #expect(bytes != original)
    let read = try header(bytes)
    #expect(
      read.containerDate
        == EXIFDate(year: 2022, month: 1, day: 2, hour: 3, minute: 4, second: 5, offsetMinutes: 330))
    #expect(read.exif.make == "Maker" && read.exif.model == "Model 1" && read.facts.rating == 2)
    #expect(read.exif.location == Location(latitude: 12.5, longitude: -45.25, altitude: 100))
    #expect(read.orientation == .rightTop && read.durationSeconds == 2)
  }

  @Test("tags that ExifTool wrote to a picture are read", arguments: ["tif", "dng", "webp", "gif", "heic"])
  func picture(_ type: String) throws {
    let original =
      switch type {
      case "tif": TIFFPicture.tiff(.init()).bytes
      case "dng": TIFFPicture.dng(.init()).bytes
      case "webp": WebPFile(.extended).bytes
      case "heic": HEIFFile { $0.exif = exifBlock { $0.orientation = 1 } }.bytes
      default: GIFFile().bytes
      }
    let hasEXIF = type != "gif"
    let bytes = try Self.withFolder { folder in
      let file = folder.appending(path: "picture.\(type)")
      try Data(original).write(to: file)
      _ = try Self.run(
        ["-n", "-overwrite_original", "-XMP:Rating=4"]
          + (hasEXIF
            ? [
              "-IFD0:Model=Model of exiftool", "-DateTimeOriginal=2021:03:04 05:06:07", "-OffsetTimeOriginal=+01:00",
              "-Orientation=8",
            ] : []) + [file.path])
      return [UInt8](try Data(contentsOf: file))
    }
    #expect(bytes != original)
    let read = try header(bytes)
    #expect(read.facts.rating == 4)
    guard hasEXIF else { return }
    #expect(read.exif.model == "Model of exiftool" && read.exif.orientation == .leftBottom)
    #expect(Self.text(read.exif.date) == "2021:03:04 05:06:07" && read.exif.date?.offsetMinutes == 60)
    #expect(read.orientation == (type == "heic" ? .topLeft : .leftBottom))
  }
}
