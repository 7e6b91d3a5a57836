import Foundation
import PhotoFixtures
import Testing

/// Compares the metadata resource with exiftool's output for the same files.
@Suite("Metadata of an asset", .blocking)
struct MetadataTests {
  private static let scene = Pixels.orientationCard(width: 64, height: 48)

  private static func jpeg(isBigEndian: Bool = false) -> [UInt8] {
    JPEGFile {
      $0.exif = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.orientation = 6
        $0.make = "Maker"
        $0.latitude = 52.52
        $0.longitude = -13.405
      }
    }.encoded(scene)
  }

  /// Pictures with every tag that exiftool can write, in both byte orders, and IPTC in an undeclared encoding.
  private static func everything(in folder: String) throws {
    let files = TestDaemon.Files(root: folder)
    try files.put(jpeg(), "little.jpg")
    try files.put(jpeg(isBigEndian: true), "big-latin.jpg")
    try files.put(PNGFile(.rgb(depth: 8)).encoded(scene), "chunks.png")
  }

  private static func compare(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let process = Process()
    process.executableURL = root.appending(path: "scripts/compare-exiftool")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["PHOTOD_BINARY": TestDaemon.binary]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  @Test(
    "tags written by ExifTool read the same, except for listed ones; no location without the scope"
  )
  func everything() throws {
    var template = Array((FileManager.default.temporaryDirectory.path + "/photod-metadata-XXXXXX").utf8CString)
    let folder = String(cString: try #require(mkdtemp(&template)))
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.everything(in: folder)
    let (status, output) = try Self.compare([folder, "--write"])
    #expect(status == 0, "\(output)")
    // Many entries of every file were compared.
    let counts = output.split(separator: "\n").last.map { $0.split(separator: " ").compactMap { Int($0) } } ?? []
    #expect(counts.count == 4 && counts.first == 3 && counts.last == 0, "\(output)")
    #expect(counts.count == 4 && counts[1] > 5000 && counts[2] < counts[1] / 20, "\(output)")

    let daemon = try TestDaemon(
      { files in
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
          try files.put([UInt8](try Data(contentsOf: URL(filePath: folder + "/" + name))), name)
        }
      }, arguments: ["--allow-anonymous"])
    for name in ["little.jpg", "big-latin.jpg", "chunks.png"] {
      let target = "/v1/assets/\(try daemon.identifier(name))/metadata"
      let all = try daemon.get(target).json
      let rest = try daemon.get(target, ["X-Forwarded-For: 10.0.0.1"]).json
      #expect(all["GPS"] != nil && rest["GPS"] == nil)
      let texts = Self.texts(rest)
      #expect(texts.count > 1000 && Self.texts(all).count > texts.count + 100)
      // Each text was set to the name of its own tag.
      let places = texts.filter {
        $0.contains(try! Regex("GPS|Latitude|Longitude|Location|City|Country|Province(State)? is|Address|^Berlin"))
      }
      #expect(places.isEmpty, "\(places.prefix(5))")
    }
  }

  /// Every value that is text, however deep.
  private static func texts(_ value: Any) -> [String] {
    switch value {
    case let text as String: [text]
    case let values as [Any]: values.flatMap(texts)
    case let fields as [String: Any]: fields.values.flatMap(texts)
    default: []
    }
  }

  @Test("metadata has sections and an entity tag per caller; a 304 opens no file")
  func resource() throws {
    let daemon = try TestDaemon({ try $0.put(Self.jpeg(), "a.jpg") }, arguments: ["--allow-anonymous"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/metadata"
    let answer = try daemon.get(target)
    #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
    #expect(answer["Cache-Control"] == "private, max-age=0, must-revalidate")
    let image = try #require(answer.json["Image"] as? [String: Any])
    #expect(image["UniformTypeIdentifier"] as? String == "public.jpeg" && image["PixelWidth"] as? Int == 64)
    #expect(image["Orientation"] as? Int == 6 && image["HasAlpha"] as? Bool == false)
    #expect((answer.json["TIFF"] as? [String: Any])?["Make"] as? String == "Maker")
    let place = try #require(answer.json["GPS"] as? [String: Any])
    #expect(place["GPSLatitude"] as? Double == 52.52 && place["GPSLongitudeRef"] as? String == "W")
    let tag = try #require(answer["ETag"])
    let head = try daemon.get(target, method: "HEAD")
    #expect(head.status == 200 && head["ETag"] == tag && head.body.isEmpty)

    let stranger = try daemon.get(target, ["X-Forwarded-For: 10.0.0.1"])
    #expect(stranger.status == 200 && stranger.json["GPS"] == nil && stranger.json["TIFF"] != nil)
    let strangersTag = try #require(stranger["ETag"])
    #expect(strangersTag != tag)
    #expect(try daemon.get(target, ["X-Forwarded-For: 10.0.0.1", "If-None-Match: \(tag)"]).status == 200)

    // The daemon has not scanned this change.
    try FileManager.default.removeItem(atPath: daemon.library + "/a.jpg")
    let again = try daemon.get(target, ["If-None-Match: \(tag)"])
    #expect(again.status == 304 && again["ETag"] == tag && again.body.isEmpty)
    #expect(try daemon.get(target, ["If-None-Match: \"x\", \(tag)"], method: "HEAD").status == 304)
    let gone = try daemon.get(target)
    #expect(gone.status == 404 && gone.json["type"] as? String == "/problems/original-missing")
    try TestDaemon.Files(root: daemon.library).put(Self.jpeg(isBigEndian: true) + [0], "a.jpg")
    let changed = try daemon.get(target)
    #expect(changed.status == 503 && changed.json["type"] as? String == "/problems/original-changed")
    #expect(try daemon.get("/v1/assets/none/metadata").status == 404)
  }

  @Test("long metadata is compressed, and its entity tag is validated without opening the file")
  func packed() throws {
    let packet =
      "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
      + "<rdf:Description rdf:about=\"\" xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" xmp:Label=\""
      + String(repeating: "long ", count: 500) + "\"/></rdf:RDF></x:xmpmeta>"
    let daemon = try TestDaemon { try $0.put(JPEGFile { $0.segments = [.xmp(packet)] }.encoded(Self.scene), "a.jpg") }
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/metadata"
    let packed = try daemon.get(target, ["Accept-Encoding: gzip"])
    #expect(packed["Content-Encoding"] == "gzip" && packed.body.count < 1000)
    let tag = try #require(packed["ETag"])
    try FileManager.default.removeItem(atPath: daemon.library + "/a.jpg")
    #expect(try daemon.get(target, ["Accept-Encoding: gzip", "If-None-Match: \(tag)"]).status == 304)
    #expect(try daemon.get(target, ["If-None-Match: \(tag)"]).status == 404, "the tag of the compressed form")
  }
}
