import Foundation
import GRDB
import PhotoFixtures
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

extension TestDaemon {
  func stage(_ body: [UInt8], _ query: String = "", _ fields: [String] = []) throws -> Response {
    try exchange(Self.head("POST", "/v1/uploads\(query)", fields, body.count), body)
  }

  func append(_ body: [UInt8], to location: String, at offset: Int, _ fields: [String] = []) throws -> Response {
    try exchange(Self.appendHead(location, offset, fields, body.count), body)
  }

  static func appendHead(_ location: String, _ offset: Int, _ fields: [String], _ count: Int) -> String {
    head("PATCH", location, ["Content-Type: application/partial-upload", "Upload-Offset: \(offset)"] + fields, count)
  }

  static func head(_ method: String, _ target: String, _ fields: [String], _ count: Int) -> String {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close", "Content-Length: \(count)"]
    return (lines + fields).map { $0 + "\r\n" }.joined() + "\r\n"
  }

  /// The bytes that the daemon has of a staged upload.
  func offset(_ location: String) throws -> Int {
    let answer = try get(location, method: "HEAD")
    #expect(answer.status == 204 && answer["Cache-Control"] == "no-store")
    return try #require(answer["Upload-Offset"].flatMap { Int($0) })
  }

  /// Sends the first part of a body to a staged upload, waits until the daemon has written it, and disconnects.
  ///
  /// - Parameter end: what to do before it disconnects.
  func appendPart(
    _ body: ArraySlice<UInt8>, of count: Int, to location: String, at offset: Int, before end: () -> Void = {}
  ) throws {
    let head = Self.appendHead(location, offset, ["Upload-Complete: ?1"], count)
    let descriptor = try connection()
    defer { close(descriptor) }
    let bytes = Array(head.utf8) + body
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { break }
      rest = rest.dropFirst(count)
    }
    try waitForStaged(offset + body.count, at: location)
    end()
  }

  /// Waits until the file of a staged upload has that many bytes.
  func waitForStaged(_ count: Int, at location: String) throws {
    let file = library + "/.photod-staged/" + (location.split(separator: "/").last ?? "")
    try until("the bytes are written") {
      try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int == count
    }
  }
}

@Suite("Staged uploads over real sockets", .blocking)
struct StagedUploadTests {
  @Test("a file in several requests becomes an asset with the same bytes, and each response has its offset")
  func whole() throws {
    let daemon = try TestDaemon()
    let picture = UploadTests.picture(1, size: 300_000)
    let made = try daemon.stage(
      Array(picture[..<1000]), "?filename=a.jpg", ["Upload-Complete: ?0", "Upload-Length: \(picture.count)"])
    let location = try #require(made["Location"])
    #expect(made.status == 201 && location == "/v1/uploads/\(made.json["upload"] as? String ?? "")")
    #expect(made["Upload-Offset"] == "1000" && made["Upload-Complete"] == "?0")
    let wrong = try daemon.append([1], to: location, at: 999)
    #expect(wrong.status == 409 && wrong["Upload-Offset"] == "1000")
    #expect(wrong.json["type"] as? String == "/problems/upload-offset-mismatch")
    let excess = try daemon.append(Array(picture) + [1], to: location, at: 1000)
    #expect(excess.status == 400 && excess.json["type"] as? String == "/problems/upload-length-mismatch")
    let more = try daemon.append(Array(picture[1000..<2000]), to: location, at: 1000, ["Upload-Complete: ?0"])
    #expect(more.status == 204 && more["Upload-Offset"] == "2000" && more["Upload-Complete"] == "?0")
    // The client loses its connection.
    try daemon.appendPart(picture[2000..<200_000], of: picture.count - 2000, to: location, at: 2000)
    let offset = try daemon.offset(location)
    #expect(offset == 200_000)
    let last = try daemon.append(Array(picture[offset...]), to: location, at: offset, ["Upload-Complete: ?1"])
    #expect(last.status == 204 && last["Upload-Complete"] == "?1" && last["Upload-Offset"] == "\(picture.count)")
    #expect(try daemon.append([1], to: location, at: picture.count).status == 409)
    let asset = try daemon.post("/v1/assets", #"{"upload": "\#(made.json["upload"] as? String ?? "")"}"#)
    #expect(asset.status == 201 && asset.json["relativePath"] as? String == "2021/07/a.jpg", "\(asset.json)")
    let again = try daemon.post("/v1/assets", #"{"upload": "\#(made.json["upload"] as? String ?? "")"}"#)
    #expect(again.status == 200 && again["Location"] == asset["Location"], "the response may have been lost")
    #expect(FileManager.default.contents(atPath: daemon.library + "/2021/07/a.jpg") == Data(picture))
    #expect(TestDaemon.files(in: daemon.library) == ["2021/07/a.jpg"])
    #expect(try daemon.get(location, method: "HEAD").status == 404)
  }

  @Test("an upload that was admitted is not refused because others ask much")
  func busy() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.concurrentRequests=1"])
    let staged = try #require(try daemon.stage([1], "", ["Upload-Length: 100"])["Location"])
    let isStopped = Atomic(false)
    let clients = DispatchGroup()
    for _ in 0..<8 {
      clients.enter()
      Thread.detachNewThread {
        defer { clients.leave() }
        while !isStopped.load(ordering: .relaxed) { _ = try? daemon.get(staged) }
      }
    }
    defer {
      isStopped.store(true, ordering: .relaxed)
      clients.wait()
    }
    for number in 0..<3 {
      let answer = try daemon.upload(UploadTests.picture(number, size: 4 << 20), "?filename=\(number).jpg")
      #expect(answer.status == 201, "\(answer.json)")
    }
  }

  @Test("a staged upload takes its name from Content-Disposition, and bodies of unknown length")
  func chunked() throws {
    let daemon = try TestDaemon()
    let name = #"Content-Disposition: attachment; filename="c.jpg""#
    let made = try daemon.stage([], "", [name])
    let location = try #require(made["Location"])
    let picture = UploadTests.picture(1, size: 100_000)
    let head = [
      "PATCH \(location) HTTP/1.1", "Host: localhost", "Connection: close", "Transfer-Encoding: chunked",
      "Content-Type: application/partial-upload", "Upload-Offset: 0", "Upload-Complete: ?1",
    ]
    let body = Array("\(String(picture.count, radix: 16))\r\n".utf8) + picture + Array("\r\n0\r\n\r\n".utf8)
    let sent = try daemon.exchange(head.map { $0 + "\r\n" }.joined() + "\r\n", body)
    #expect(sent.status == 204 && sent["Upload-Offset"] == "\(picture.count)" && sent["Upload-Complete"] == "?1")
    #expect(sent["Upload-Length"] == "\(picture.count)", "the length is known at the end")
    let asset = try daemon.post("/v1/assets", #"{"upload": "\#(made.json["upload"] as? String ?? "")"}"#)
    #expect(asset.status == 201 && asset.json["relativePath"] as? String == "2021/07/c.jpg", "\(asset.json)")
  }

  @Test("only HEAD from the owner, and from a page that may upload, ends a request that still appends")
  func looks() throws {
    let daemon = try TestDaemon(
      arguments: ["corsOrigins=https://reader.example", "corsWriteOrigins=https://writer.example"]
        .flatMap { ["--set", $0] })
    let cases: [(name: String, method: String, fields: [String], endsAppend: Bool)] = [
      ("HEAD without a page", "HEAD", [], true),
      ("HEAD of the daemon's own page", "HEAD", ["Sec-Fetch-Site: same-origin"], true),
      ("HEAD of a writing origin", "HEAD", ["Origin: https://writer.example"], true),
      ("HEAD of a reading origin", "HEAD", ["Origin: https://reader.example"], false),
      ("HEAD of another origin", "HEAD", ["Origin: https://evil.example"], false),
      ("HEAD of another site", "HEAD", ["Sec-Fetch-Site: cross-site"], false),
      ("GET without a page", "GET", [], false),
      ("GET of a writing origin", "GET", ["Origin: https://writer.example"], false),
      ("GET of another site, for example of an image", "GET", ["Sec-Fetch-Site: cross-site"], false),
    ]
    for (name, method, fields, endsAppend) in cases {
      let location = try #require(try daemon.stage([])["Location"])
      let descriptor = try daemon.connection()
      defer { close(descriptor) }
      func write(_ text: String) {
        #expect(Glibc.send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count)
      }
      write(TestDaemon.appendHead(location, 0, ["Upload-Complete: ?1"], 1000) + String(repeating: "x", count: 600))
      try daemon.waitForStaged(600, at: location)
      let progress = try daemon.get(location, fields, method: method)
      #expect(progress.status == 204 && progress["Upload-Offset"] == "600", "\(name)")
      write(String(repeating: "y", count: 400))
      let answer = try TestDaemon.parsed(TestDaemon.received(descriptor))
      #expect(answer.status == (endsAppend ? 409 : 204), "\(name): \(answer.json)")
      #expect((answer.json["type"] as? String == "/problems/upload-superseded") == endsAppend, "\(name)")
      #expect(try daemon.offset(location) == (endsAppend ? 600 : 1000), "\(name)")
    }
  }

  @Test("a request that stalls and is superseded ends at once, and its place is free for the next one")
  func supersededWhileStalled() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.concurrentRequests=1"])
    let picture = UploadTests.picture(5, size: 300_000)
    let location = try #require(try daemon.stage([], "?filename=s.jpg")["Location"])
    let descriptor = try daemon.connection()
    defer { close(descriptor) }
    let bytes =
      Array(TestDaemon.appendHead(location, 0, ["Upload-Complete: ?1"], picture.count).utf8) + picture[..<1000]
    #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    try daemon.waitForStaged(1000, at: location)
    #expect(try daemon.append([1], to: location, at: 1000).status == 503, "the only place is taken")
    #expect(try daemon.offset(location) == 1000)
    let next = try daemon.append(Array(picture[1000...]), to: location, at: 1000, ["Upload-Complete: ?1"])
    #expect(next.status == 204 && next["Upload-Complete"] == "?1", "\(next.json)")
    // To the end: the connection closes.
    let old = try TestDaemon.parsed(TestDaemon.received(descriptor))
    #expect(old.status == 409 && old.json["type"] as? String == "/problems/upload-superseded", "\(old.json)")
    let asset = try daemon.post("/v1/assets", #"{"upload": "\#(location.split(separator: "/").last ?? "")"}"#)
    #expect(asset.status == 201, "\(asset.json)")
    #expect(FileManager.default.contents(atPath: daemon.library + "/2021/07/s.jpg") == Data(picture))
  }

  @Test("malformed and misplaced requests are refused with the reason, and change nothing")
  func refused() throws {
    let daemon = try TestDaemon(arguments: ["--set", "upload.fileBytes=1000", "--set", "upload.stagedPerCaller=2"])
    let made = try daemon.stage([1, 2, 3])
    let location = try #require(made["Location"])
    let part = "Content-Type: application/partial-upload"
    let large = [UInt8](repeating: 0, count: 998)
    let cases: [(String, String, [String], [UInt8], Int, String)] = [
      ("PATCH", location, ["Upload-Offset: 3"], [4], 415, "media-type-unsupported"),
      ("PATCH", location, [part], [4], 400, "invalid-parameter"),
      ("PATCH", location, [part, "Upload-Offset: -1"], [4], 400, "invalid-parameter"),
      ("PATCH", location, [part, "Upload-Offset: 3", "Upload-Complete: 1"], [4], 400, "invalid-parameter"),
      ("PATCH", location, [part, "Upload-Offset: 3"], large, 413, "file-too-large"),
      ("PATCH", "/v1/uploads/none", [part, "Upload-Offset: 3"], [4], 404, "upload-not-found"),
      ("POST", "/v1/uploads", ["Upload-Length: 1001"], [], 413, "file-too-large"),
      ("POST", "/v1/uploads", ["Upload-Length: 2"], [1, 2, 3], 400, "upload-length-mismatch"),
      ("POST", "/v1/uploads", ["Upload-Length: 4", "Upload-Complete: ?1"], [1, 2, 3], 400, "upload-length-mismatch"),
      ("POST", "/v1/uploads?x=1", [], [], 400, "unknown-parameter"),
    ]
    for (method, target, fields, body, status, kind) in cases {
      let answer = try daemon.exchange(TestDaemon.head(method, target, fields, body.count), body)
      #expect(
        answer.status == status && answer.json["type"] as? String == "/problems/\(kind)",
        "\(method) \(target) \(fields): \(answer.status) \(answer.json)")
    }
    #expect(try daemon.offset(location) == 3)
    #expect(try daemon.stage([]).status == 201)
    let many = try daemon.stage([])
    #expect(many.status == 429 && many.json["type"] as? String == "/problems/too-many-uploads")
    let incomplete = try daemon.post("/v1/assets", #"{"upload": "\#(made.json["upload"] as? String ?? "")"}"#)
    #expect(incomplete.status == 409 && incomplete["Upload-Offset"] == "3")
    #expect(try daemon.post("/v1/assets", #"{"upload": "x"}"#).status == 404)
    #expect(try daemon.post("/v1/assets", #"{}"#).status == 400)
    #expect(try daemon.get(location, method: "DELETE").status == 204)
    #expect(try daemon.get(location, method: "HEAD").status == 404)
    let readOnly = try TestDaemon(arguments: ["--set", "readOnly=true"])
    #expect(try readOnly.stage([1]).status == 409)
  }

  @Test("after the daemon is killed during a request, the upload continues at the offset that the next daemon reports")
  func killedInBody() throws {
    let folders = try TestDaemon.Folders()
    let picture = UploadTests.picture(2, size: 2_000_000)
    let location: String
    do {
      let daemon = try TestDaemon(serving: folders)
      location = try #require(try daemon.stage([], "?filename=b.jpg")["Location"])
      try daemon.appendPart(picture[..<1_000_000], of: picture.count, to: location, at: 0) { daemon.signal(SIGKILL) }
      #expect(daemon.waitUntilKilled())
    }
    let daemon = try TestDaemon(serving: folders)
    let offset = try daemon.offset(location)
    #expect(offset == 1_000_000)
    let last = try daemon.append(Array(picture[offset...]), to: location, at: offset, ["Upload-Complete: ?1"])
    #expect(last.status == 204)
    let name = String(location.split(separator: "/").last ?? "")
    #expect(try daemon.post("/v1/assets", #"{"upload": "\#(name)"}"#).status == 201)
    #expect(FileManager.default.contents(atPath: folders.library + "/2021/07/b.jpg") == Data(picture))
  }

  // MARK: Kills during a change list

  /// Two complete staged uploads, and the list that makes an album of them.
  private static func prepare(_ daemon: TestDaemon) throws -> String {
    var entries: [String] = []
    for number in [3, 4] {
      let made = try daemon.stage(UploadTests.picture(number), "?filename=\(number).jpg", ["Upload-Complete: ?1"])
      let upload = try #require(made.json["upload"] as? String)
      entries.append(#"{"type": "createAsset", "upload": "\#(upload)", "placeholder": "$\#(number)"}"#)
    }
    entries.append(#"{"type": "createAlbum", "title": "Album", "placeholder": "$a"}"#)
    entries.append(#"{"type": "addAssets", "collection": "$a", "assets": ["$3", "$4"]}"#)
    return #"{"changes": [\#(entries.joined(separator: ", "))]}"#
  }

  /// The numbers of assets, albums, members and staged uploads, and the files.
  private struct StagedState: Equatable {
    var numbers: [Int]
    var files: Set<String>

    init(_ folders: TestDaemon.Folders) throws {
      numbers = try folders.catalogue { db in
        try [
          "asset", "collection WHERE type = 'album'", "member", "stagedUpload", "stagedUpload WHERE path IS NOT NULL",
        ].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1 }
      }
      files = Set(
        TestDaemon.files(in: folders.library).map { $0.hasPrefix(".photod-staged/") ? ".photod-staged/*" : $0 })
    }
  }

  private static func points(_ trace: String) -> [String] {
    let text = (try? String(contentsOfFile: trace, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(String.init)
  }

  @Test("a kill between any two steps of a list with staged uploads leaves all of it or nothing")
  func killedInList() throws {
    let traced = try TestDaemon.Folders()
    let trace = traced.base + "/trace"
    let before: StagedState
    let skipped: Int
    let after: StagedState
    do {
      let daemon = try TestDaemon(serving: traced, environment: ["PHOTOD_TEST_FAULT_TRACE": trace])
      let list = try Self.prepare(daemon)
      before = try StagedState(traced)
      skipped = Self.points(trace).count
      let answer = try daemon.post("/v1/changes", list)
      #expect(answer.status == 200, "\(answer.json)")
      after = try StagedState(traced)
    }
    #expect(before.numbers == [0, 0, 0, 2, 0] && before.files == [".photod-staged/*"])
    #expect(after.numbers == [2, 1, 2, 0, 0] && after.files == ["2021/07/3.jpg", "2021/07/4.jpg"])
    let points = Self.points(trace)
    #expect(Set(["intended", "moved", "filesMoved", "written", "committed"]).isSubset(of: points[skipped...]))
    let end = points[skipped...].firstIndex(of: "committed") ?? points.count
    for index in Sampling.cases(5, of: skipped..<points.count, "kills with staged uploads", kind: { points[$0] }) {
      let turn = points[...index].count { $0 == points[index] }
      let comment = "\(points[index]):\(turn), \(Sampling.note)"
      let folders = try TestDaemon.Folders()
      let list: String
      do {
        let daemon = try TestDaemon(serving: folders, environment: ["PHOTOD_TEST_FAULT": "\(points[index]):\(turn)"])
        list = try Self.prepare(daemon)
        let head = TestDaemon.head("POST", "/v1/changes", ["Content-Type: application/json"], list.utf8.count)
        #expect(try daemon.exchanged(head, Array(list.utf8)).isEmpty, "\(comment)")
        #expect(daemon.waitUntilKilled(), "\(comment)")
      }
      _ = try CatalogueIntegrity(folders.data, comment)
      let next = try TestDaemon(serving: folders)
      let isDone = index >= end
      try next.until("the start has recovered the files, \(comment)") {
        try StagedState(folders) == (isDone ? after : before)
      }
      #expect(try next.post("/v1/changes", list).status == (isDone ? 404 : 200), "\(comment)")
      #expect(try StagedState(folders) == after, "\(comment)")
    }
  }
}
