import Foundation
import PhotoFixtures
import Testing

/// Days, months and years follow one rule everywhere: the picture's own offset from UTC where the file gives one, else
/// the library's time zone.
@Suite("Pictures of New Year's Eve", .blocking)
struct NewYearTests {
  private typealias Object = [String: Any]

  private static func picture(_ time: String, _ offset: String?) -> [UInt8] {
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = (time, offset) }
    return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
  }

  /// Local times and the year of each, in Vienna's time zone. Each is in the other year by UTC.
  private static let pictures: [(name: String, time: String, offset: String?, year: String)] = [
    ("vienna.jpg", "2025:01:01 00:30:00", nil, "2025"), ("tokyo.jpg", "2025:01:01 08:00:00", "+09:00", "2025"),
    ("new-york.jpg", "2024:12:31 20:00:00", "-05:00", "2024"),
  ]

  @Test("are filed under the local year by buckets, moments, years and paths of uploads")
  func years() throws {
    let daemon = try TestDaemon(
      { files in
        for one in Self.pictures { try files.put(Self.picture(one.time, one.offset), one.name) }
      }, arguments: ["--set", "scan.intervalSeconds=0"],
      launcher: "PHOTOD_TIME_ZONE=Europe/Vienna exec \"$@\"")
    func texts(_ target: String, _ list: String, _ member: String) throws -> [String] {
      (try daemon.get(target).json[list] as? [Object] ?? []).compactMap { $0[member] as? String }
    }
    #expect(try texts("/v1/assets?layout=buckets&by=year", "buckets", "date") == ["2025", "2024"])
    #expect(try texts("/v1/assets?layout=buckets&by=day", "buckets", "date") == ["2025-01-01", "2024-12-31"])
    for (year, names) in [("2025", ["tokyo.jpg", "vienna.jpg"]), ("2024", ["new-york.jpg"])] {
      let path = "/v1/collections/momentListYear.\(year)/assets"
      #expect(try texts(path, "assets", "originalFilename").sorted() == names, "\(year)")
    }
    let moments = try daemon.get("/v1/collections?type=moment").json["collections"] as? [Object] ?? []
    // The pictures of 1 January are within half an hour.
    #expect(moments.count == 2)
    for moment in moments {
      let id = try #require(moment["localIdentifier"] as? String)
      let month = try #require(moment["parent"] as? String)
      for name in try texts("/v1/collections/\(id)/assets", "assets", "originalFilename") {
        let year = Self.pictures.first { $0.name == name }?.year
        #expect(month.contains(year ?? "no year"), "\(name) in \(month)")
      }
    }
    for one in Self.pictures {
      // Other bytes, so that it is a new asset.
      let answer = try daemon.upload(Self.picture(one.time, one.offset) + [0], "?filename=\(one.name)")
      #expect(answer.status == 201, "\(one.name)")
      #expect((answer.json["relativePath"] as? String)?.hasPrefix(one.year + "/") == true, "\(answer.json)")
    }
  }
}
