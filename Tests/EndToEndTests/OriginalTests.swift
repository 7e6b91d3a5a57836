import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The files of assets, whole and by ranges.
@Suite("Originals", .blocking)
struct OriginalTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))

  /// The picture with a comment of this many bytes, more than the socket buffers of a connection hold.
  private static func large(_ size: Int, filler: UInt8 = 7) -> [UInt8] {
    var bytes = Array(picture.prefix(2))
    for _ in 0..<size / 65_535 {
      bytes += [0xFF, 0xFE, 0xFF, 0xFF]
      bytes += [UInt8](repeating: filler, count: 65_533)
    }
    return bytes + picture.dropFirst(2)
  }

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon {
        try $0.put(picture, "été \"a\".jpg")
        try $0.put(large(3 << 20), "large.jpg")
      }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func target(_ name: String, _ daemon: TestDaemon = shared) throws -> String {
    "/v1/assets/\(try daemon.identifier(name))/data"
  }

  @Test("the whole file comes with its type, name, validators and orientation; HEAD has the same fields and no body")
  func whole() throws {
    for (name, bytes) in [("été \"a\".jpg", Self.picture), ("large.jpg", Self.large(3 << 20))] {
      let target = try Self.target(name)
      let answer = try Self.shared.get(target)
      let isWhole = answer.body == bytes
      #expect(answer.status == 200 && isWhole)
      #expect(answer["Content-Type"] == "image/jpeg" && answer["Accept-Ranges"] == "bytes")
      #expect(answer["Content-Length"] == "\(bytes.count)")
      #expect(answer["ETag"]?.hasPrefix("\"") == true && answer["Last-Modified"]?.hasSuffix("GMT") == true)
      #expect(answer["Cache-Control"] == "private, max-age=0, must-revalidate")
      #expect(answer["Image-Result"] == "orientation=1, uti=\"public.jpeg\"")
      #expect(answer["X-Content-Type-Options"] == "nosniff")
      let head = try Self.shared.get(target, method: "HEAD")
      #expect(head.status == 200 && head.body.isEmpty)
      for field in ["Content-Type", "Content-Length", "ETag", "Last-Modified", "Content-Disposition"] {
        #expect(head[field] == answer[field], "\(field)")
      }
    }
    #expect(
      try Self.shared.get(Self.target("été \"a\".jpg"))["Content-Disposition"]
        == "inline; filename=\"_t_ _a_.jpg\"; filename*=UTF-8''%C3%A9t%C3%A9%20%22a%22.jpg")
    let saved = try Self.shared.get(Self.target("large.jpg") + "?download=true", method: "HEAD")
    #expect(saved["Content-Disposition"] == "attachment; filename=\"large.jpg\"")
  }

  private struct RangeCase: CustomTestStringConvertible, Sendable {
    let field: String
    /// Negative: from the end. `nil`: to the end.
    let first: Int
    let count: Int?
    var testDescription: String { field }
  }

  @Test(
    "a single range is that part of the file",
    arguments: [
      RangeCase(field: "bytes=0-0", first: 0, count: 1), RangeCase(field: "bytes=-5", first: -5, count: nil),
      RangeCase(field: "bytes=100-", first: 100, count: nil),
      RangeCase(field: "bytes=1048570-1048583", first: 1_048_570, count: 14),
      RangeCase(field: "bytes=2000000-99999999999999999999", first: 2_000_000, count: nil),
      RangeCase(field: "bytes=-99999999999", first: 0, count: nil),
    ])
  private func singleRange(_ test: RangeCase) throws {
    let bytes = Self.large(3 << 20)
    let first = test.first < 0 ? bytes.count + test.first : test.first
    let range = first..<(test.count.map { first + $0 } ?? bytes.count)
    let answer = try Self.shared.get(Self.target("large.jpg"), ["Range: \(test.field)"])
    let isPart = answer.body == Array(bytes[range])
    #expect(answer.status == 206 && isPart)
    #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)")
    #expect(answer["Content-Type"] == "image/jpeg")
  }

  @Test("a file from the future has no Last-Modified, which must not be later than Date")
  func future() throws {
    let daemon = try TestDaemon(unwatched: { files in
      for (name, date) in [
        ("future.jpg", Date.distantFuture), ("past.jpg", Date(timeIntervalSince1970: 1_000_000_000)),
      ] {
        try files.put(Self.picture + Array(name.utf8), name)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(files.root)/\(name)")
      }
    })
    for (name, expected) in [("future.jpg", nil), ("past.jpg", "Sun, 09 Sep 2001 01:46:40 GMT")] {
      let asset = "/v1/assets/\(try daemon.identifier(name))"
      for path in [asset + "/data", asset + "/image?targetSize=20x20"] {
        let answer = try daemon.get(path)
        let tag = try #require(answer["ETag"])
        #expect(answer.status == 200 && answer["Last-Modified"] == expected, "\(path)")
        let later = "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"
        #expect(try daemon.get(path, [later]).status == (expected == nil ? 200 : 304))
        #expect(try daemon.get(path, ["If-None-Match: \(tag)"]).status == 304)
      }
    }
  }

  @Test("several ranges are the parts of a multipart body")
  func severalRanges() throws {
    let bytes = Self.large(3 << 20)
    let answer = try Self.shared.get(Self.target("large.jpg"), ["Range: bytes=0-9, 1048000-1050000, -7"])
    #expect(answer.status == 206)
    let type = try #require(answer["Content-Type"])
    let boundary = try #require(type.components(separatedBy: "boundary=").last)
    #expect(type.hasPrefix("multipart/byteranges; boundary="))
    var expected: [UInt8] = []
    for (index, range) in [0..<10, 1_048_000..<1_050_001, bytes.count - 7..<bytes.count].enumerated() {
      expected += Array("\(index == 0 ? "" : "\r\n")--\(boundary)\r\nContent-Type: image/jpeg\r\n".utf8)
      expected += Array("Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)\r\n\r\n".utf8)
      expected += bytes[range]
    }
    #expect(answer.body == expected + Array("\r\n--\(boundary)--\r\n".utf8))
  }

  @Test("ranges beyond the end get 416; malformed, too many and overlapping ranges get the whole file")
  func badRanges() throws {
    let target = try Self.target("large.jpg")
    let size = Self.large(3 << 20).count
    for field in ["bytes=\(size)-", "bytes=-0", "bytes=99999999999999999999-"] {
      let answer = try Self.shared.get(target, ["Range: \(field)"])
      #expect(answer.status == 416 && answer["Content-Range"] == "bytes */\(size)", "\(field)")
      #expect(answer.json["type"] as? String == "/problems/range-not-satisfiable", "\(field)")
    }
    let many = (0..<1000).map { "\($0)-\($0)" }.joined(separator: ",")
    for field in ["bytes=5-1", "lines=0-1", "bytes=\(many)", "bytes=0-,0-,0-", "bytes=a-b"] {
      let answer = try Self.shared.get(target, ["Range: \(field)"], method: "GET")
      #expect(answer.status == 200 && answer.body.count == size, "\(field)")
    }
  }

  @Test("conditions are evaluated before the file is opened; If-Range decides between a part and the whole")
  func conditions() throws {
    let target = try Self.target("large.jpg")
    let tag = try #require(try Self.shared.get(target, method: "HEAD")["ETag"])
    let unchanged = try Self.shared.get(target, ["If-None-Match: \(tag)"])
    #expect(unchanged.status == 304 && unchanged.body.isEmpty && unchanged["ETag"] == tag)
    #expect(try Self.shared.get(target, ["If-Match: \"other\""]).status == 412)
    #expect(try Self.shared.get(target, ["If-Match: \(tag)", "Range: bytes=0-3"]).status == 206)
    #expect(try Self.shared.get(target, ["If-Range: \(tag)", "Range: bytes=0-3"]).status == 206)
    #expect(try Self.shared.get(target, ["If-Range: \"other\"", "Range: bytes=0-3"]).status == 200)
    let asset = try Self.shared.get(target.replacing("/data", with: "")).json
    let version = try #require(asset["contentVersion"] as? String)
    #expect(
      try Self.shared.get(target + "?v=\(version)")["Cache-Control"] == "private, max-age=31536000, immutable")
    #expect(try Self.shared.get(target + "?v=gone").json["type"] as? String == "/problems/version-gone")
    // With and without places are two representations.
    let whole = try Self.shared.get(target + "?includeLocation=true", method: "HEAD")
    #expect(whole.status == 200 && whole["ETag"] != tag)
  }

  @Test("the list of files names each with its type, and serves it under that type")
  func resources() throws {
    let asset = "/v1/assets/\(try Self.shared.identifier("large.jpg"))"
    let list = try Self.shared.get(asset + "/resources")
    let resources = try #require(list.json["resources"] as? [[String: Any]])
    #expect(list.status == 200 && resources.count == 1)
    #expect(resources[0]["type"] as? String == "photo" && resources[0]["uti"] as? String == "public.jpeg")
    #expect(resources[0]["filename"] as? String == "large.jpg" && resources[0]["isLocal"] as? Bool == true)
    #expect(resources[0]["size"] as? Int == Self.large(3 << 20).count)
    let isWhole = try Self.shared.get(asset + "/resources/photo/data").body == Self.large(3 << 20)
    #expect(isWhole)
    for type in ["pairedVideo", "nothing"] {
      let answer = try Self.shared.get(asset + "/resources/\(type)/data")
      #expect(answer.status == 404 && answer.json["type"] as? String == "/problems/resource-not-found")
    }
  }

  // MARK: Changes during a transfer

  private static let transferBytes = 24 << 20

  /// Asks for a file with a small receive buffer, reads its head and a few bytes, calls `change`, and reads the rest.
  private func transfer(
    launcher: String = "exec \"$@\"", _ change: (TestDaemon) throws -> Void,
    ended: (TestDaemon) throws -> Void = { _ in }
  ) throws -> (length: Int, body: [UInt8]) {
    let daemon = try TestDaemon({ try $0.put(Self.large(Self.transferBytes), "a.jpg") }, launcher: launcher)
    let socket = try daemon.connection()
    defer { close(socket) }
    let request = Array(
      "GET \(try Self.target("a.jpg", daemon)) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    try #require(send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    func read() -> Bool {
      let count = recv(socket, &chunk, chunk.count, 0)
      if count > 0 { received += chunk[..<count] }
      return count > 0
    }
    while received.count < 100_000 { try #require(read()) }
    try change(daemon)
    while read() {}
    try ended(daemon)
    let end = try #require(received.firstRange(of: Array("\r\n\r\n".utf8)))
    let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
    let length = head.components(separatedBy: "Content-Length: ").last?.prefix { $0.isNumber }
    return (try #require(length.flatMap { Int($0) }), Array(received[end.upperBound...]))
  }

  @Test("a file that is replaced under its name is sent to its end as it was")
  func replaced() throws {
    let (length, body) = try transfer { daemon in
      let path = daemon.library + "/a.jpg"
      try Data(Self.large(Self.transferBytes, filler: 9)).write(to: URL(filePath: path + ".new"))
      #expect(rename(path + ".new", path) == 0)
    }
    // Without a difference of 24 MB, should it fail.
    let isWhole = body == Self.large(Self.transferBytes)
    #expect(length == body.count && isWhole)
  }

  @Test(
    "a file that is written to or cut during the transfer ends the transfer early, and the log says why",
    arguments: [true, false])
  func changedInPlace(isCut: Bool) throws {
    let (length, body) = try transfer(launcher: TestDaemon.loggingLauncher()) { daemon in
      let path = daemon.library + "/a.jpg"
      if isCut {
        #expect(truncate(path, 1 << 20) == 0)
      } else {
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seek(toOffset: 20 << 20)
        try handle.write(contentsOf: Data(repeating: 1, count: 1000))
        try handle.close()
      }
    } ended: { daemon in
      try daemon.until("the log has the cause") {
        daemon.log.contains { $0.contains("msg=\"response ended early\"") && $0.contains("error=originalChanged") }
      }
    }
    // What was on its way may already have the new content: the kernel sends the pages of the file. The client sees that
    // the response is incomplete.
    #expect(body.count < length)
  }

  @Test(
    "a file that is open for the next range is not used when it was removed, replaced, written to or touched",
    arguments: ["remove", "replace", "write", "touch"])
  func changedBetweenRanges(_ change: String) throws {
    let daemon = try TestDaemon(unwatched: { try $0.put(Self.picture, "a.jpg") })
    let target = try Self.target("a.jpg", daemon)
    for _ in 0..<2 { #expect(try daemon.get(target, ["Range: bytes=0-9"]).status == 206) }
    #expect(try daemon.openLibraryFiles.contains(daemon.library + "/a.jpg"))
    let path = daemon.library + "/a.jpg"
    switch change {
    case "remove": unlink(path)
    case "replace":
      try Data(Self.picture).write(to: URL(filePath: path + ".new"))
      #expect(rename(path + ".new", path) == 0)
      // Another time than the first file's.
      var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
      utimensat(AT_FDCWD, path, &times, 0)
    case "write":
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data([1]))
      try handle.close()
    default:
      var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
      utimensat(AT_FDCWD, path, &times, 0)
    }
    let answer = try daemon.get(target, ["Range: bytes=0-9"])
    #expect(answer.status == (change == "remove" ? 404 : 503), "\(answer.status)")
  }

  @Test("at most 64 files stay open for the next range, and only for some seconds")
  func openFiles() throws {
    let daemon = try TestDaemon { files in
      for i in 0..<80 {
        try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64 + i, height: 48)), "\(i).jpg")
      }
    }
    for i in 0..<80 { #expect(try daemon.get(Self.target("\(i).jpg", daemon), ["Range: bytes=0-9"]).status == 206) }
    let count = try Set(daemon.openLibraryFiles).count
    // Work in the background may have a few more open.
    #expect(count > 0 && count <= 64 + 4)
    try daemon.until("idle files are closed") { try daemon.openLibraryFiles.isEmpty }
  }

  @Test("a link in the place of the file is refused, wherever it leads")
  func link() throws {
    let daemon = try TestDaemon { try $0.put(Self.picture, "a.jpg") }
    let target = try Self.target("a.jpg", daemon)
    for place in ["/etc/passwd", "../data/catalogue.sqlite", "b.jpg"] {
      let path = daemon.library + "/a.jpg"
      unlink(path)
      #expect(symlink(place, path) == 0)
      let answer = try daemon.get(target)
      #expect(answer.status == 404 || answer.status == 503, "\(place): \(answer.status)")
    }
  }

  @Test("many slow readers of a large file take little memory")
  func slowReaders() throws {
    let daemon = try TestDaemon { try $0.put(Self.large(Self.transferBytes), "a.jpg") }
    let target = try Self.target("a.jpg", daemon)
    func resident() throws -> Int {
      let text = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("process_resident_memory_bytes ") })
      return try #require(line.split(separator: " ").last.flatMap { Int(Double($0) ?? -1) })
    }
    _ = try daemon.get(target, ["Range: bytes=0-9"])
    let before = try resident()
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    var chunk = [UInt8](repeating: 0, count: 1000)
    for _ in 0..<50 {
      let socket = try daemon.connection()
      sockets.append(socket)
      let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      #expect(send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
      #expect(recv(socket, &chunk, chunk.count, 0) > 0)
    }
    #expect(try resident() - before < 30 << 20)
  }
}
