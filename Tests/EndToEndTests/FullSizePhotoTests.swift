import Foundation
import PhotoFixtures
import Testing

/// The data of edited pictures: full-size renders in files, with the original's EXIF.
@Suite("Full-size renders", .blocking)
struct FullSizePhotoTests {
  private static let scene = Scene(seed: 6, grain: 4).pixels(width: 640, height: 480)
  private static let turn = #"{"operations": [{"type": "rotate", "quarterTurns": 1}, {"type": "exposure", "ev": 0.5}]}"#
  private static let original = JPEGFile {
    $0.quality = 95
    $0.exif = EXIFBlock {
      ($0.make, $0.model, $0.orientation) = ("Canon", "EOS 5D", 6)
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      ($0.latitude, $0.longitude) = (41.3, 174.7)
      $0.thumbnail = JPEGFile().encoded(Scene(seed: 1).pixels(width: 160, height: 120))
    }
  }.encoded(scene)

  private static func renders(_ folders: TestDaemon.Folders) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folders.data + "/renders")) ?? []
  }

  private static func library() throws -> TestDaemon.Folders {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(original, "IMG_1.jpg")
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data])
    return folders
  }

  /// The metadata of a file, as the daemon reads it.
  private static func metadata(of file: [UInt8]) throws -> [String: Any] {
    let daemon = try TestDaemon { try $0.put(file, "a.jpg") }
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    return try daemon.get(asset + "/metadata").json
  }

  @Test("the render has the photograph's EXIF, upright and of its own size, without the place unless asked")
  func exif() throws {
    let folders = try Self.library()
    let daemon = try TestDaemon(serving: folders)
    let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
    #expect(try daemon.post(asset + "/adjustments", Self.turn, method: "PUT").status == 200)
    let plain = try daemon.get(asset + "/data")
    let placed = try daemon.get(asset + "/data?includeLocation=true")
    #expect(plain.status == 200 && placed.status == 200 && plain["ETag"] != placed["ETag"])
    #expect(Self.renders(folders).count == 2)
    for (answer, hasPlace) in [(plain, false), (placed, true)] {
      let pixels = try #require(Pixels.decoded(answer.body)).pixels
      #expect(pixels.width == 640 && pixels.height == 480)
      let metadata = try Self.metadata(of: answer.body)
      let tiff = metadata["TIFF"] as? [String: Any] ?? [:]
      #expect(tiff["Make"] as? String == "Canon" && tiff["Orientation"] as? Int == 1, "\(tiff)")
      let exif = metadata["EXIF"] as? [String: Any] ?? [:]
      #expect(exif["DateTimeOriginal"] as? String == "2024:05:06 07:08:09", "\(exif)")
      #expect((metadata["GPS"] != nil) == hasPlace)
      #expect(metadata["Thumbnail"] == nil && (metadata["incomplete"] as? [Any])?.isEmpty == true, "\(metadata)")
    }
  }

  @Test(
    "a 16-bit picture with alpha keeps its bits when it is turned, and has 8 when its colours are changed",
    arguments: [(#"{"type": "rotate", "quarterTurns": 1}"#, 16), (#"{"type": "exposure", "ev": 0.5}"#, 8)])
  func deep(_ operation: String, _ bits: Int) throws {
    let source = DeepPixels(width: 40, height: 30, channels: 4) { x, y, channel in
      channel == 3 ? 65_535 - UInt16(y) : UInt16(x * 1501 + y * 7)
    }
    let daemon = try TestDaemon { try $0.put(source.png(), "deep.png") }
    let asset = "/v1/assets/\(try daemon.identifier("deep.png"))"
    let edit = #"{"operations": [\#(operation)]}"#
    #expect(try daemon.post(asset + "/adjustments", edit, method: "PUT").status == 200)
    let answer = try daemon.get(asset + "/data")
    #expect(answer.status == 200 && answer["Content-Type"] == "image/png")
    #expect(try #require(DeepPixels.decoded(answer.body)).bits == bits)
  }

  @Test("it is stored once, sent from its file by ranges, and found again after a restart and a revert")
  func stored() throws {
    let folders = try Self.library()
    let (asset, first) = try {
      let daemon = try TestDaemon(serving: folders)
      let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
      #expect(try daemon.post(asset + "/adjustments", Self.turn, method: "PUT").status == 200)
      let head = try daemon.get(asset + "/data", method: "HEAD")
      #expect(head.status == 200 && Self.renders(folders).isEmpty, "HEAD renders nothing")
      let first = try daemon.get(asset + "/data")
      #expect(first["ETag"] == head["ETag"])
      #expect(try daemon.get(asset + "/data", ["Range: bytes=0-0"]).status == 206)
      let known = try daemon.get(asset + "/data", method: "HEAD")
      #expect(known["Content-Length"] == String(first.body.count))
      return (asset, first)
    }()
    let files = Self.renders(folders)
    #expect(files.count == 1)
    // Left behind by a process that was killed while it wrote.
    try Data([1]).write(to: URL(filePath: "\(folders.data)/renders/\(files[0]).1.1.tmp"))
    let daemon = try TestDaemon(serving: folders)
    #expect(Self.renders(folders) == files)
    let part = try daemon.get(asset + "/data", ["Range: bytes=100-299,-5", "If-Range: \(first["ETag"] ?? "")"])
    #expect(part.status == 206 && part["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
    let last = try daemon.get(asset + "/data", ["Range: bytes=-5"])
    #expect(last.body == Array(first.body.suffix(5)))
    #expect(try daemon.get(asset + "/data", ["Range: bytes=\(first.body.count)-"]).status == 416)
    #expect(try daemon.get(asset + "/adjustments", method: "DELETE").status == 204)
    #expect(try daemon.get(asset + "/data").body != first.body)
    #expect(try daemon.post(asset + "/adjustments", Self.turn, method: "PUT").status == 200)
    let again = try daemon.get(asset + "/data")
    #expect(again["ETag"] == first["ETag"] && again.body == first.body)
    #expect(Self.renders(folders) == files)
  }

  @Test("a damaged file, or that of another picture, is never sent")
  func damagedFile() throws {
    let folders = try Self.library()
    try TestDaemon.Files(root: folders.library).put(
      JPEGFile { $0.quality = 95 }.encoded(Scene(seed: 7).pixels(width: 640, height: 480)), "IMG_2.jpg")
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data])
    let daemon = try TestDaemon(serving: folders)
    let assets = try ["IMG_1.jpg", "IMG_2.jpg"].map { "/v1/assets/\(try daemon.identifier($0))" }
    for asset in assets { #expect(try daemon.post(asset + "/adjustments", Self.turn, method: "PUT").status == 200) }
    let whole = try assets.map { try daemon.get($0 + "/data").body }
    let paths = Self.renders(folders).map { "\(folders.data)/renders/\($0)" }
    try #require(paths.count == 2 && whole[0] != whole[1])
    let stored = try paths.map { try Data(contentsOf: URL(filePath: $0)) }
    for (first, second) in [(stored[1], stored[0]), (stored[0].prefix(1000), stored[1].dropLast(1))] {
      try first.write(to: URL(filePath: paths[0]))
      try second.write(to: URL(filePath: paths[1]))
      #expect(try assets.map { try daemon.get($0 + "/data").body } == whole)
    }
    #expect(try paths.map { try Data(contentsOf: URL(filePath: $0)) } == stored)
  }

  @Test("without room for files the render is sent from memory, the same")
  func notStored() throws {
    let folders = try Self.library()
    func data(_ arguments: [String]) throws -> TestDaemon.Response {
      let daemon = try TestDaemon(serving: folders, arguments: arguments)
      let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
      #expect(try daemon.post(asset + "/adjustments", Self.turn, method: "PUT").status == 200)
      let part = try daemon.get(asset + "/data", ["Range: bytes=10-19"])
      let whole = try daemon.get(asset + "/data")
      #expect(part.status == 206 && part.body == Array(whole.body[10..<20]) && part["ETag"] == whole["ETag"])
      return whole
    }
    let fromMemory = try data(["--set", "cache.renderBytes=0"])
    #expect(Self.renders(folders).isEmpty)
    let fromFile = try data([])
    #expect(fromMemory.body == fromFile.body && fromMemory["ETag"] == fromFile["ETag"])
  }

  @Test("a render that is larger than the response buffer is sent from memory too")
  func large() throws {
    var noise = Pixels(width: 2000, height: 1600, channels: 3)
    var random = Sampling.generator("noise to render")
    for i in noise.bytes.indices { noise.bytes[i] = UInt8.random(in: 0...255, using: &random) }
    let daemon = try TestDaemon(
      { try $0.put(JPEGFile { $0.quality = 95 }.encoded(noise), "a.jpg") },
      arguments: ["--set", "cache.renderBytes=0", "--set", "http.responseBufferBytes=4194304"])
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    _ = try daemon.post(asset + "/adjustments", Self.turn, method: "PUT")
    let data = try daemon.get(asset + "/data")
    #expect(data.status == 200 && data.body.count > 4 << 20, "\(data.status) \(data.body.count)")
  }

  @Test("a damaged original has no render: a file with a strong tag must show the whole picture")
  func damaged() throws {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(Array(Self.original.prefix(Self.original.count / 2)), "a.jpg")
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data])
    let daemon = try TestDaemon(serving: folders)
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    _ = try daemon.post(asset + "/adjustments", Self.turn, method: "PUT")
    #expect(try daemon.get(asset + "/image").result("incomplete") == "?1")
    let data = try daemon.get(asset + "/data")
    #expect(data.status == 422 && data["ETag"] == nil && Self.renders(folders).isEmpty)
  }

  @Test("the OpenAPI document lists the statuses of a picture that can't be rendered", arguments: ["415", "422"])
  func documented(_ status: String) throws {
    let daemon = try TestDaemon(serving: try Self.library())
    let paths = try daemon.get("/openapi.json").json["paths"] as? [String: [String: Any]]
    for path in ["data", "resources/{type}/data"] {
      let operation = paths?["/v1/assets/{localIdentifier}/\(path)"]?["get"] as? [String: Any]
      let responses = operation?["responses"] as? [String: Any]
      #expect(responses?[status] != nil, "\(path)")
    }
  }

  @Test("a picture of 2147483647 pixels a side has no render, also if it is adjusted")
  func gigantic() throws {
    let side = PNGChunks.bigEndian(UInt32(Int32.max))
    var file = PNGChunks.signature
    file += PNGChunks.chunk("IHDR", side + side + [8, 2, 0, 0, 0])
    file += PNGChunks.chunk("IDAT", PNGChunks.deflated(zeros: 1000))
    file += PNGChunks.chunk("IEND", [])
    let picture = file
    let daemon = try TestDaemon { try $0.put(picture, "a.png") }
    let asset = "/v1/assets/\(try daemon.identifier("a.png"))"
    let flip = #"{"operations": [{"type": "flip", "axis": "horizontal"}]}"#
    #expect(try daemon.post(asset + "/adjustments", flip, method: "PUT").status == 200)
    for path in ["/data", "/resources/fullSizePhoto/data", "/image"] {
      let answer = try daemon.get(asset + path)
      #expect(answer.status == 422 && answer.json["type"] as? String == "/problems/image-too-large", "\(path)")
    }
    #expect(try daemon.get("/healthz").status == 200)
  }

  @Test("after adjustments are removed, a client that has the edited picture gets the original")
  func reverted() throws {
    let daemon = try TestDaemon(serving: try Self.library())
    let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
    _ = try daemon.post(asset + "/adjustments", Self.turn, method: "PUT")
    let edited = try #require(try daemon.get(asset + "/data")["Last-Modified"])
    #expect(try daemon.get(asset + "/data", ["If-Modified-Since: \(edited)"]).status == 304)
    // The tag of the original is another one anyway; a date says it only from the next second on.
    try daemon.until("the clock shows the next second") { try daemon.get("/healthz")["Date"] != edited }
    #expect(try daemon.get(asset + "/adjustments", method: "DELETE").status < 300)
    let original = try daemon.get(asset + "/data", ["If-Modified-Since: \(edited)"])
    // Its place is blanked.
    #expect(original.status == 200 && original.body.count == Self.original.count)
  }
}
