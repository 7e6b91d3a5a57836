import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

extension TestDaemon {
  /// Sends bytes as they are, and reads to the end.
  func exchange(_ head: String, _ body: [UInt8]) throws -> Response { try Self.parsed(exchanged(head, body)) }

  func exchanged(_ head: String, _ body: [UInt8]) throws -> [UInt8] {
    let descriptor = try connection()
    defer { close(descriptor) }
    let bytes = Array(head.utf8) + body
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      // A daemon that refuses does not read on.
      if count <= 0 { break }
      rest = rest.dropFirst(count)
    }
    return Self.received(descriptor)
  }

  /// Reads to the end.
  static func received(_ descriptor: Int32) -> [UInt8] {
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      answer += chunk[..<count]
    }
    return answer
  }

  func upload(_ body: [UInt8], _ query: String = "", type: String = "image/jpeg", _ fields: [String] = []) throws
    -> Response
  {
    var head = "POST /v1/assets\(query) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \(type)\r\n"
    for field in fields { head += field + "\r\n" }
    return try exchange(head + "Content-Length: \(body.count)\r\n\r\n", body)
  }

  static func form(_ files: [(name: String, bytes: [UInt8])]) -> [UInt8] {
    var body: [UInt8] = []
    for file in files {
      body += "--xyz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\(file.name)\"\r\n\r\n".utf8
      body += file.bytes + "\r\n".utf8
    }
    return body + "--xyz--\r\n".utf8
  }

  /// Every file below the library's root, hidden ones too.
  static func files(in root: String) -> Set<String> {
    var names: Set<String> = []
    let walk = FileManager.default.enumerator(atPath: root)
    while let name = walk?.nextObject() as? String {
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: root + "/" + name, isDirectory: &isFolder), !isFolder.boolValue {
        names.insert(name)
      }
    }
    return names
  }
}

@Suite("Uploads over real sockets", .blocking)
struct UploadTests {
  static func picture(_ number: Int, size: Int = 0) -> [UInt8] {
    JPEGFile { $0.exif = EXIFBlock { $0.dateTimeOriginal = "2021:07:04 12:30:0\(number % 10)" } }
      .encoded(Pixels.orientationCard(width: 32 + number, height: 24)) + [UInt8](repeating: 0, count: size)
  }

  @Test("an image as the body becomes an asset with its location; the same content again returns that asset")
  func one() throws {
    let daemon = try TestDaemon()
    let answer = try daemon.upload(Self.picture(1, size: 3 << 20), "?filename=..%2F..%2FIMG_1.JPG")
    #expect(answer.status == 201 && answer.json["relativePath"] as? String == "2021/07/IMG_1.JPG")
    let location = try #require(answer["Location"])
    #expect(try daemon.get(location).json["localIdentifier"] as? String == answer.json["localIdentifier"] as? String)
    #expect(try daemon.get(location + "/image?targetSize=8x8").status == 200)
    let again = try daemon.upload(
      Self.picture(1, size: 3 << 20), "", ["Content-Disposition: attachment; filename=x.jpg"])
    #expect(again.status == 200 && again["Location"] == location)
    let chunked = try daemon.exchange(
      "POST /v1/assets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
        + "Content-Disposition: attachment; filename*=UTF-8''%C3%A9.jpg\r\n\r\n",
      Self.picture(2).flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8))
    #expect(chunked.status == 201 && chunked.json["relativePath"] as? String == "2021/07/\u{E9}.jpg")
    #expect(TestDaemon.files(in: daemon.library) == ["2021/07/IMG_1.JPG", "2021/07/\u{E9}.jpg"])
  }

  @Test("each file of a multipart upload has its own result, and an invalid one does not affect the others")
  func several() throws {
    let daemon = try TestDaemon()
    let body = TestDaemon.form([
      ("a.jpg", Self.picture(1)), ("evil.jpg", Array("<html>".utf8)), ("b.jpg", Self.picture(2)),
      ("again.jpg", Self.picture(1)),
      ("", []),
    ])
    let answer = try daemon.upload(body, type: "multipart/form-data; boundary=xyz")
    let results = try #require(answer.json["results"] as? [[String: Any]])
    #expect(answer.status == 201 && results.compactMap { $0["status"] as? Int } == [201, 415, 201, 200])
    #expect(results.map { $0["filename"] as? String } == ["a.jpg", "evil.jpg", "b.jpg", "again.jpg"])
    let problem = try #require(results[1]["problem"] as? [String: Any])
    #expect(problem["type"] as? String == "/problems/format-unsupported")
    #expect(try daemon.get("/v1/assets?count=true").json["count"] as? Int == 2)
    let none = try daemon.upload(TestDaemon.form([("x.jpg", [1, 2, 3])]), type: "multipart/form-data; boundary=xyz")
    #expect(none.status == 415 && none["Content-Type"] == "application/problem+json")
    #expect((none.json["results"] as? [Any])?.count == 1)
    let broken = try daemon.upload(Array(body.prefix(body.count / 2)), type: "multipart/form-data; boundary=xyz")
    #expect(broken.status == 400)
    let field = Array("--xyz\r\nContent-Disposition: form-data; name=\"album\"\r\n\r\nx\r\n".utf8)
    let onlyField = try daemon.upload(field + Array("--xyz--".utf8), type: "multipart/form-data; boundary=xyz")
    #expect(onlyField.status == 400, "there is no file")
    // Form fields before, between and after the files.
    let first = TestDaemon.form([("c.jpg", Self.picture(3))]).dropLast("--xyz--\r\n".utf8.count)
    let second = TestDaemon.form([("d.jpg", Self.picture(4))]).dropLast("--xyz--\r\n".utf8.count)
    let mixed = try daemon.upload(
      field + first + field + second + field + Array("--xyz--\r\n".utf8), type: "multipart/form-data; boundary=xyz")
    let stored = try #require(mixed.json["results"] as? [[String: Any]])
    #expect(mixed.status == 201 && stored.map { $0["filename"] as? String } == ["c.jpg", "d.jpg"])
  }

  @Test("a file of a form that is too large, or beyond the limit, has its own result, and the others become assets")
  func tooMuch() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.fileBytes=100000", "--set", "upload.filesPerRequest=3"])
    func send(_ files: [(name: String, bytes: [UInt8])]) throws -> (TestDaemon.Response, [[String: Any]]) {
      let answer = try daemon.upload(TestDaemon.form(files), type: "multipart/form-data; boundary=xyz")
      return (answer, try #require(answer.json["results"] as? [[String: Any]], "\(answer.json)"))
    }
    func kinds(_ results: [[String: Any]]) -> [String] {
      results.map { (($0["problem"] as? [String: Any])?["type"] as? String) ?? "\($0["status"] as? Int ?? 0)" }
    }
    let large = Self.picture(9, size: 300_000)
    let (answer, results) = try send([
      ("a.jpg", Self.picture(1)), ("large.jpg", large), ("b.jpg", Self.picture(2)), ("c.jpg", Self.picture(3)),
      ("", []),
    ])
    #expect(answer.status == 201)
    #expect(kinds(results) == ["201", "/problems/file-too-large", "201", "/problems/too-many-files"])
    #expect(results.map { $0["filename"] as? String } == ["a.jpg", "large.jpg", "b.jpg", "c.jpg"])
    #expect(TestDaemon.files(in: daemon.library) == ["2021/07/a.jpg", "2021/07/b.jpg"])
    let (none, failed) = try send([("large.jpg", large)])
    #expect(none.status == 413 && kinds(failed) == ["/problems/file-too-large"])
    let (many, bounded) = try send((0..<9).map { ("\($0).jpg", Self.picture(1)) })
    #expect(many.status == 413 && many.json["type"] as? String == "/problems/too-many-files")
    #expect(kinds(bounded) == ["200", "200", "200"] + [String](repeating: "/problems/too-many-files", count: 4))
    // What is discarded has a limit too: three times the largest file, and the largest file for a form field.
    let (huge, _) = try send([("huge.jpg", Self.picture(9, size: 450_000)), ("d.jpg", Self.picture(4))])
    #expect(huge.status == 413 && !TestDaemon.files(in: daemon.library).contains { $0.hasSuffix("d.jpg") })
    let text = String(repeating: "x", count: 150_000)
    let field = Array("--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(text)\r\n--xyz--\r\n".utf8)
    #expect(try daemon.upload(field, type: "multipart/form-data; boundary=xyz").status == 413)
  }

  @Test("an unacceptable upload is refused with the reason, before its body is sent if possible")
  func refused() throws {
    let daemon = try TestDaemon(
      arguments: [
        "--set", "upload.fileBytes=100000", "--set", "upload.filesPerRequest=2", "--set", "upload.concurrentRequests=1",
      ])
    func head(_ fields: String, _ query: String = "") -> String {
      "POST /v1/assets\(query) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n"
    }
    // No body follows: the answer comes without it.
    let announced = try daemon.exchange(head("Content-Length: 100001\r\nExpect: 100-continue"), [])
    #expect(announced.status == 413 && announced.json["type"] as? String == "/problems/file-too-large")
    #expect(try daemon.exchange(head("Content-Length: 5\r\nExpect: 100-continue", "?x=1"), []).status == 400)
    let foreign = head("Content-Length: 5\r\nExpect: 100-continue\r\nOrigin: http://evil.example")
    #expect(try daemon.exchange(foreign, []).status == 403)
    let stranger = head("Content-Length: 5\r\nExpect: 100-continue\r\nX-Forwarded-For: 1.2.3.4")
    #expect(try daemon.exchange(stranger, []).status == 403)
    // Reached, and not announced.
    let chunk = "fffff\r\n" + String(repeating: "x", count: 0xFFFFF) + "\r\n"
    #expect(try daemon.exchange(head("Transfer-Encoding: chunked"), Array(chunk.utf8)).status == 413)
    #expect(try daemon.upload(Array("hello".utf8)).status == 415)
    #expect(try daemon.upload([0xFF, 0xD8, 0xFF, 0xE0, 0, 16]).status == 422)
    #expect(try daemon.upload([]).status == 400)
    #expect(try daemon.upload([1], type: "multipart/mixed; boundary=xyz").status == 415)
    #expect(try daemon.upload([1], type: "multipart/form-data").status == 400)
    let three = TestDaemon.form((1...3).map { ("\($0).jpg", Self.picture($0)) })
    let many = try daemon.upload(three, type: "multipart/form-data; boundary=xyz")
    let results = try #require(many.json["results"] as? [[String: Any]])
    #expect(
      many.status == 201 && results.map { $0["status"] as? Int } == [201, 201, 413],
      "the file that is too much has a result of its own")
    // Other resources treat bodies as before.
    #expect(
      try daemon.exchange("POST /v1/assets/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n", []).status
        == 413)
    // One upload is in progress; this is one more.
    let slow = try daemon.connection()
    defer { close(slow) }
    let text = head("Content-Length: 5\r\nExpect: 100-continue")
    _ = Glibc.send(slow, text, text.utf8.count, 0)
    var buffer = [UInt8](repeating: 0, count: 25)
    #expect(recv(slow, &buffer, 25, Int32(MSG_WAITALL)) == 25)
    #expect(try daemon.upload(Self.picture(9)).status == 503)
    #expect(TestDaemon.files(in: daemon.library).count == 2)
  }

  @Test("a pipelined request after an upload is answered after it; an aborted upload leaves no file")
  func pipelined() throws {
    let daemon = try TestDaemon()
    let picture = Self.picture(1)
    let upload = "POST /v1/assets HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(picture.count)\r\n\r\n"
    let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    let descriptor = try daemon.connection()
    let bytes = Array(upload.utf8) + picture + Array(next.utf8)
    _ = Glibc.send(descriptor, bytes, bytes.count, 0)
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { break }
      answer += chunk[..<count]
    }
    close(descriptor)
    let text = String(decoding: answer, as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 201 ") && text.contains("HTTP/1.1 200 OK"))
    let broken = try daemon.connection()
    let half =
      Array("POST /v1/assets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n".utf8) + Self.picture(2)
    _ = Glibc.send(broken, half, half.count, 0)
    close(broken)
    // The daemon handles the broken upload before these requests.
    for _ in 0..<20 { _ = try daemon.get("/healthz") }
    #expect(TestDaemon.files(in: daemon.library).count == 1)
    #expect(try daemon.get("/v1/assets?count=true").json["count"] as? Int == 1)
  }

  @Test("a read-only library accepts no upload")
  func readOnly() throws {
    let daemon = try TestDaemon(arguments: ["--set", "readOnly=true"])
    let answer = try daemon.upload(Self.picture(1))
    #expect(answer.status == 409 && answer.json["type"] as? String == "/problems/library-read-only")
    #expect(TestDaemon.files(in: daemon.library).isEmpty)
  }

  @Test("in a folder without write permission a deletion and an upload are refused as in a read-only library")
  func permission() throws {
    let folders = try TestDaemon.Folders()
    let folder = folders.library + "/locked"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try TestDaemon.Files(root: folders.library).put(Self.picture(1), "locked/a.jpg")
    #expect(chmod(folder, 0o555) == 0)
    defer { chmod(folder, 0o755) }
    // root may write everywhere unless it gives up this capability.
    let asUser = "exec setpriv --bounding-set=-dac_override,-dac_read_search \"$@\""
    let daemon = try TestDaemon(
      serving: folders, arguments: ["--set", "upload.template=locked/{name}"],
      launcher: geteuid() == 0 ? asUser : "exec \"$@\"")
    try daemon.until("the picture is indexed") { try daemon.get("/v1/assets?count=true").json["count"] as? Int == 1 }
    let identifier = try daemon.identifier("locked/a.jpg")
    let list = #"{"changes": [{"type": "deleteAsset", "asset": "\#(identifier)"}]}"#
    for answer in [try daemon.post("/v1/changes", list), try daemon.upload(Self.picture(2))] {
      #expect(answer.status == 409 && answer.json["type"] as? String == "/problems/library-read-only")
    }
    #expect(TestDaemon.files(in: daemon.library) == ["locked/a.jpg"])
    #expect(try daemon.get("/v1/assets/\(identifier)").status == 200)
  }

  @Test(
    "a kill between any two steps of an upload leaves the complete file or none, and no other file",
    arguments: ["received", "synced", "named", "placed", "recorded"])
  func killed(_ point: String) throws {
    let folders = try TestDaemon.Folders()
    let picture = Self.picture(3, size: 200_000)
    do {
      let daemon = try TestDaemon(serving: folders, environment: ["PHOTOD_TEST_FAULT": point])
      // A killed daemon sends no response.
      let head =
        "POST /v1/assets?filename=a.jpg HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(picture.count)\r\n\r\n"
      #expect(try daemon.exchanged(head, picture).isEmpty)
      #expect(daemon.waitUntilKilled())
    }
    let isThere = ["named", "placed", "recorded"].contains(point)
    let queue = try DatabaseQueue(path: folders.data + "/catalogue.sqlite")
    #expect(try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    try queue.close()
    let daemon = try TestDaemon(serving: folders)
    if point == "recorded" {
      // The daemon's first scan may be running.
      try daemon.until("a scan is complete") {
        try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data]).status == 0
      }
    }
    #expect(TestDaemon.files(in: folders.library) == (isThere ? ["2021/07/a.jpg"] : []))
    let again = try daemon.upload(picture, "?filename=a.jpg")
    // A scan may have found the file before the upload recorded it; it is one asset in both cases.
    #expect([200, 201].contains(again.status) && (point != "recorded" || again.status == 200))
    #expect(TestDaemon.files(in: folders.library) == ["2021/07/a.jpg"])
    #expect(try daemon.get("/v1/assets?count=true").json["count"] as? Int == 1)
  }
}
