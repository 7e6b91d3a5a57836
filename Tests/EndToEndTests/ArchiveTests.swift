import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The files of assets as a ZIP archive.
@Suite("Archives", .blocking)
struct ArchiveTests {
  static func picture(_ width: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Pixels.orientationCard(width: width, height: 48))
  }

  /// The picture with a comment of this many bytes, more than the socket buffers of a connection hold.
  static func large(_ size: Int) -> [UInt8] {
    var bytes = Array(picture(64).prefix(2))
    for _ in 0..<size / 65_535 {
      bytes += [0xFF, 0xFE, 0xFF, 0xFF]
      bytes += [UInt8](repeating: 7, count: 65_533)
    }
    return bytes + picture(64).dropFirst(2)
  }

  static let files: [(path: String, name: String, bytes: [UInt8])] = [
    ("a/IMG_1.jpg", "IMG_1.jpg", picture(64)), ("b/img_1.JPG", "img_1 (2).JPG", picture(80)),
    ("c/été: 1.jpg", "été_ 1.jpg", picture(96)),
  ]

  static func put(_ files: TestDaemon.Files) throws {
    for file in Self.files { try files.put(file.bytes, file.path) }
  }

  static let shared: TestDaemon = {
    do { return try TestDaemon(unwatched: put) } catch { fatalError("no daemon: \(error)") }
  }()

  static func target(_ paths: [String], _ daemon: TestDaemon) throws -> String {
    "/v1/archive?assets=" + (try paths.map { try daemon.identifier($0) }.joined(separator: ","))
  }

  static func target(_ daemon: TestDaemon = shared) throws -> String { try target(files.map(\.path), daemon) }

  /// The entries of a small archive by its central directory; checks lengths and CRCs.
  static func entries(_ bytes: [UInt8]) throws -> [(name: String, bytes: [UInt8])] {
    func number(_ offset: Int, _ width: Int) -> Int {
      (0..<width).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    let end = bytes.count - 22
    try #require(end >= 0 && number(end, 4) == 0x0605_4B50)
    var position = number(end + 16, 4)
    #expect(position + number(end + 12, 4) == end)
    var entries: [(String, [UInt8])] = []
    while position < end {
      try #require(number(position, 4) == 0x0201_4B50 && number(position + 10, 2) == 0)
      let (size, offset, nameLength) = (number(position + 24, 4), number(position + 42, 4), number(position + 28, 2))
      let name = String(decoding: bytes[position + 46..<position + 46 + nameLength], as: UTF8.self)
      try #require(number(offset, 4) == 0x0403_4B50)
      let start = offset + 30 + number(offset + 26, 2) + number(offset + 28, 2)
      let content = Array(bytes[start..<start + size])
      let crc = checksum(content)
      #expect(number(position + 16, 4) == crc && number(start + size + 4, 4) == crc, "\(name)")
      entries.append((name, content))
      position += 46 + nameLength + number(position + 30, 2)
    }
    #expect(entries.count == number(end + 10, 2))
    return entries
  }

  /// The CRC-32 bit by bit (ISO 3309).
  private static func checksum(_ bytes: [UInt8]) -> Int {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
      crc ^= UInt32(byte)
      for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
    }
    return Int(~crc)
  }

  @Test("the archive has the files under unique names; HEAD has the same fields and no body")
  func whole() throws {
    let target = try Self.target()
    let answer = try Self.shared.get(target + "&filename=my%20trip")
    #expect(answer.status == 200 && answer["Content-Type"] == "application/zip")
    #expect(answer["Content-Disposition"] == "attachment; filename=\"my trip.zip\"")
    #expect(answer["Accept-Ranges"] == "bytes" && answer["Cache-Control"] == "private, max-age=0, must-revalidate")
    let entries = try Self.entries(answer.body)
    #expect(entries.map(\.name) == Self.files.map(\.name))
    let isEqual = entries.map(\.bytes) == Self.files.map(\.bytes)
    #expect(isEqual)
    let head = try Self.shared.get(target + "&filename=my%20trip", method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty)
    for field in ["Content-Type", "Content-Length", "ETag", "Content-Disposition"] {
      #expect(head[field] == answer[field], "\(field)")
    }
    #expect(try Self.shared.get(target, ["If-None-Match: \(answer["ETag"] ?? "")"]).status == 304)
  }

  @Test(
    "unzip finds no error in the archive",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/unzip")))
  func unzip() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-archive-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "a.zip")
    try Data(try Self.shared.get(Self.target()).body).write(to: file)
    #expect(try runToEnd("/usr/bin/unzip", ["-tq", file.path]).status == 0)
  }

  @Test("a collection and a fetch result give their assets in their order")
  func sources() throws {
    let daemon = try TestDaemon(unwatched: Self.put)
    try daemon.makeAlbum("trip", title: "Trip", ["c/été: 1.jpg", "a/IMG_1.jpg"])
    let album = try Self.entries(daemon.get("/v1/archive?collection=trip").body)
    #expect(album.map(\.name) == ["été_ 1.jpg", "IMG_1.jpg"])
    let body = #"{"sortDescriptors": "-pixelWidth"}"#
    let result = try #require(try daemon.post("/v1/fetchResults", body).json["id"] as? String)
    let sorted = try Self.entries(daemon.get("/v1/archive?fetchResult=\(result)&resources=all").body)
    #expect(sorted.map(\.name) == ["été_ 1.jpg", "img_1.JPG", "IMG_1 (2).jpg"])
  }

  @Test("all files of an asset get one number, so that a sidecar stays with its picture")
  func sidecars() throws {
    let daemon = try TestDaemon(
      unwatched: { files in
        for (folder, width) in [("a", 64), ("b", 80)] {
          try files.put(Self.picture(width), "\(folder)/IMG_1.jpg")
          try files.put(Array("<x/>".utf8), "\(folder)/IMG_1.jpg.xmp")
        }
      })
    let target = try Self.target(["a/IMG_1.jpg", "b/IMG_1.jpg"], daemon) + "&resources=all&includeLocation=true"
    let entries = try Self.entries(daemon.get(target).body)
    #expect(entries.map(\.name) == ["IMG_1.jpg", "IMG_1.jpg.xmp", "IMG_1 (2).jpg", "IMG_1 (2).jpg.xmp"])
  }

  @Test("the local time of a picture without an offset is that of the library's zone")
  func localTime() throws {
    let daemon = try TestDaemon(
      unwatched: { files in
        let exif = EXIFBlock { $0.dateTimeOriginal = "2023:06:01 12:00:00" }
        let card = Pixels.orientationCard(width: 64, height: 48)
        try files.put(JPEGFile { $0.exif = exif }.encoded(card), "a.jpg")
      }, arguments: ["--set", "timeZone=Europe/Vienna"])
    let bytes = try daemon.get(Self.target(["a.jpg"], daemon)).body
    // 12:00 and 1 June 2023 in the local header (APPNOTE §4.4.6).
    #expect(Array(bytes[10..<14]) == [0x00, 0x60, 0xC1, 0x56])
  }

  @Test("a range is that part of the archive, also from a daemon that has sent nothing else of it")
  func ranges() throws {
    let target = try Self.target()
    let whole = try Self.shared.get(target)
    let (bytes, tag) = (whole.body, try #require(whole["ETag"]))
    for start in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 40)) {
      let part = try Self.shared.get(target, ["Range: bytes=\(start)-\(start + 400)", "If-Range: \(tag)"])
      let end = min(bytes.count, start + 401)
      let isPart = part.body == Array(bytes[start..<end])
      #expect(part.status == 206 && isPart, "\(start)")
      #expect(part["Content-Range"] == "bytes \(start)-\(end - 1)/\(bytes.count)")
    }
    // The middle of the first file, with the checksums of all files after it.
    for start in [400, bytes.count - 300] {
      let daemon = try TestDaemon(unwatched: Self.put)
      let target = try Self.target(daemon)
      let rest = try daemon.get(target, ["Range: bytes=\(start)-"])
      let all = try daemon.get(target).body
      let isSuffix = rest.body == Array(all[start...])
      #expect(rest.status == 206 && isSuffix, "\(start)")
    }
    #expect(try Self.shared.get(target, ["If-Range: \"other\"", "Range: bytes=0-3"]).status == 200)
    #expect(try Self.shared.get(target, ["Range: bytes=0-3, 8-9"]).status == 200)
    let beyond = try Self.shared.get(target, ["Range: bytes=\(bytes.count)-"])
    #expect(beyond.status == 416 && beyond["Content-Range"] == "bytes */\(bytes.count)")
  }

  @Test("eight archives are sent at a time; one more gets 503 and may be asked for again")
  func concurrentArchives() throws {
    let daemon = try TestDaemon(unwatched: { try $0.put(Self.large(24 << 20), "a.jpg") })
    let target = try Self.target(["a.jpg"], daemon)
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    var chunk = [UInt8](repeating: 0, count: 1000)
    for _ in 0..<8 {
      let socket = try daemon.connection()
      sockets.append(socket)
      let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      try #require(send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
      let count = recv(socket, &chunk, chunk.count, 0)
      #expect(count > 0 && String(decoding: chunk[..<max(0, count)], as: UTF8.self).hasPrefix("HTTP/1.1 200"))
    }
    let refused = try daemon.get(target)
    #expect(refused.status == 503 && refused["Retry-After"] != nil)
    #expect(refused.json["type"] as? String == "/problems/overloaded")
  }

  @Test("an archive of more files than archives.maximumFiles is refused for every source, with all resources counted")
  func tooManyFiles() throws {
    let daemon = try TestDaemon(
      unwatched: { files in
        try Self.put(files)
        try files.put(Array("<x/>".utf8), "a/IMG_1.xmp")
      }, arguments: ["--set", "archives.maximumFiles=2"])
    try daemon.makeAlbum("two", title: "Two", ["c/été: 1.jpg", "a/IMG_1.jpg"])
    try daemon.makeAlbum("three", title: "Three", Self.files.map(\.path))
    let result = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    for (target, status) in [
      ("collection=two", 200), ("collection=two&resources=all", 400), ("collection=three", 400),
      ("fetchResult=\(result)", 400),
    ] {
      let answer = try daemon.get("/v1/archive?" + target)
      #expect(answer.status == status, "\(target)")
      if status == 400 { #expect(answer.json["type"] as? String == "/problems/archive-too-large", "\(target)") }
    }
    #expect(try daemon.get(Self.target(daemon)).json["type"] as? String == "/problems/archive-too-large")
    #expect(try daemon.get(Self.target(["a/IMG_1.jpg", "b/img_1.JPG"], daemon)).status == 200)
  }

  @Test("an archive whose list of files does not fit into archives.memoryBytes is refused; a smaller one is sent")
  func tooMuchMemory() throws {
    let daemon = try TestDaemon(unwatched: Self.put, arguments: ["--set", "archives.memoryBytes=1000"])
    let refused = try daemon.get(Self.target(daemon))
    #expect(refused.status == 400 && refused.json["type"] as? String == "/problems/archive-too-large")
    for _ in 0..<2 { #expect(try daemon.get(Self.target(["a/IMG_1.jpg"], daemon)).status == 200) }
  }

  @Test("places are removed as in the data of each asset, unless includeLocation is set")
  func places() throws {
    let planted = try #require(try PlantedLocations.files().first)
    let daemon = try TestDaemon(unwatched: { try $0.put(planted.bytes, planted.name) })
    let target = try Self.target([planted.name], daemon)
    let data = try daemon.get("/v1/assets/\(try daemon.identifier(planted.name))/data").body
    let removed = try #require(try Self.entries(daemon.get(target).body).first)
    let whole = try #require(try Self.entries(daemon.get(target + "&includeLocation=true").body).first)
    let isAsData = removed.bytes == data
    let isWhole = whole.bytes == planted.bytes
    let differs = data != planted.bytes
    #expect(isAsData && isWhole && differs)
  }

  /// The body of a POST of these assets, and more members.
  private static func body(_ assets: [String], _ members: String = "") -> String {
    let list = assets.map { "\"\($0)\"" }.joined(separator: ",")
    return "{\"assets\": [\(list)]\(members)}"
  }

  @Test("a body takes 500 assets, which no request line holds, and gives the archive of the same query once")
  func bodies() throws {
    let names = try Self.files.map { try Self.shared.identifier($0.path) }
    let queried = try Self.shared.get(Self.target() + "&filename=trip")
    let answer = try Self.shared.post("/v1/archive", Self.body(names, #", "filename": "trip""#), ["Range: bytes=0-3"])
    let isSame = answer.body == queried.body
    #expect(answer.status == 200 && answer["Content-Type"] == "application/zip" && isSame)
    #expect(answer["Content-Disposition"] == queried["Content-Disposition"])
    #expect(answer["ETag"] == nil && answer["Accept-Ranges"] == nil && answer["Cache-Control"] == "no-store")
    let many = (0..<500).map { names[$0 % names.count] }
    let long = try Self.shared.post("/v1/archive", Self.body(many))
    #expect(long.status == 200)
    #expect(try Self.entries(long.body).count == 500)
    #expect(try Self.shared.get("/v1/archive?assets=" + many.joined(separator: ",")).status == 414)
  }

  @Test(
    "a body without exactly one source, and malformed members, get 400",
    arguments: [
      ("{}", "assets"), (#"{"assets": []}"#, "assets"), (#"{"assets": ["a"], "collection": "b"}"#, "assets"),
      (#"{"assets": ["a"], "filename": ""}"#, "filename"), (#"{"assets": ["a"], "resources": "raw"}"#, "resources"),
      (#"{"collection": "?"}"#, "collection"), (#"{"assets": ["a"], "x": 1}"#, "x"),
      (#"{"assets": ["# + Array(repeating: #""a""#, count: 501).joined(separator: ",") + "]}", "assets"),
    ] as [(String, String)])
  func badBodies(_ body: String, _ parameter: String) throws {
    let answer = try Self.shared.post("/v1/archive", body)
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter)
  }

  @Test(
    "queries without exactly one source, and malformed parameters, get 400",
    arguments: [
      ("", "assets"), ("assets=a&collection=b", "assets"), ("collection=a&fetchResult=b", "assets"),
      ("assets=", "assets"), ("assets=a,,b", "assets"), ("assets=a&filename=%0A", "filename"),
      ("assets=a&resources=raw", "resources"), ("assets=a&x=1", "x"),
      ("assets=" + Array(repeating: "a", count: 501).joined(separator: ","), "assets"),
    ])
  func badQueries(_ query: String, _ parameter: String) throws {
    let answer = try Self.shared.get("/v1/archive?" + query)
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter)
  }

  @Test("sources that don't exist get 404", arguments: ["assets=none", "collection=none", "fetchResult=none"])
  func unknownSources(_ query: String) throws {
    let answer = try Self.shared.get("/v1/archive?" + query)
    #expect(
      answer.status == 404 && answer.json["parameter"] as? String == query.split(separator: "=").first.map(String.init))
  }
}
