import Foundation
import PhotoFixtures
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

private final class SharedFlag: Sendable {
  let value = Atomic<Bool>(false)
}

@Suite("Cached frames", .blocking)
struct CachedFrameTests {
  private static func picture(_ seed: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Scene(seed: seed, grain: 10).pixels(width: 640, height: 480))
  }

  private static let shared: TestDaemon = {
    do {
      // This suite tests the memory cache. Without a disk cache, the first frame is always rendered.
      return try TestDaemon({ try $0.put(picture(1), "a.jpg") }, arguments: ["--set", "cache.diskBytes=0"])
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func target(_ query: String) throws -> String {
    "/v1/assets/\(try shared.identifier("a.jpg"))/image?\(query)"
  }

  @Test("the second response equals the first, comes from memory, and has its own request identifier")
  func again() throws {
    let target = try Self.target("targetSize=101x101")
    let answers = try (0..<3).map { _ in try Self.shared.get(target) }
    #expect(answers.map(\.status) == [200, 200, 200])
    #expect(answers.map { $0.result("source") } == ["original", "memory", "memory"])
    #expect(Set(answers.map(\.body)).count == 1 && Set(answers.map { $0["ETag"] }).count == 1)
    #expect(Set(answers.map { $0.result("request-id") }).count == 3)
    for field in [
      "Content-Type", "Last-Modified", "Cache-Control", "Vary", "Accept-Ranges", "X-Content-Type-Options",
      "Cross-Origin-Resource-Policy", "Content-Length",
    ] { #expect(Set(answers.map { $0[field] }).count == 1, "\(field)") }
    #expect(answers[2]["Date"] != nil && answers[2]["Connection"] == "close")
  }

  @Test("HEAD of a cached frame is GET without the body, also in HTTP/1.0")
  func head() throws {
    let target = try Self.target("targetSize=102x102")
    let first = try Self.shared.get(target)
    let head = try Self.shared.get(target, method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty && head["Content-Length"] == String(first.body.count))
    #expect(head["ETag"] == first["ETag"] && head.result("source") == "memory")
    // Another spelling of the request finds the same frame without a prepared response; no other frame is rendered.
    let other = try Self.shared.get(Self.target("targetSize=102x900"), method: "HEAD")
    #expect(other.status == 200 && other["Content-Length"] == String(first.body.count) && other.body.isEmpty)
    #expect(other["ETag"] == first["ETag"] && other.result("source") == "memory")
    let absent = try Self.shared.get(Self.target("targetSize=117x117"), method: "HEAD")
    #expect(absent.status == 200 && absent["Content-Length"] == nil && absent.result("source") == "original")
    let old = try Self.shared.get(target, version: "1.0")
    #expect(old.body == first.body && old.result("source") == "memory")
  }

  @Test("a response stays prepared while other assets change, and an edited picture is never shown after its commit")
  func commits() throws {
    let daemon = try TestDaemon { files in
      for seed in 1...3 { try files.put(Self.picture(seed), "\(seed).jpg") }
    }
    let (edited, other) = (try daemon.identifier("1.jpg"), try daemon.identifier("2.jpg"))
    let target = "/v1/assets/\(edited)/image?targetSize=64x64"
    func change(_ entry: String) throws {
      #expect(try daemon.post("/v1/changes", "{\"changes\": [\(entry)]}").status == 200)
    }
    for _ in 0..<3 { #expect(try daemon.get(target).status == 200) }
    // The first commit of a run counts for all assets.
    try change(#"{"type": "updateAsset", "asset": "\#(other)", "isFavorite": true}"#)
    for _ in 0..<2 { _ = try daemon.get(target) }
    let before = try Self.preparedResponses(of: daemon)
    for round in 0..<20 {
      let asset = try daemon.identifier(round % 2 == 0 ? "2.jpg" : "3.jpg")
      try change(#"{"type": "updateAsset", "asset": "\#(asset)", "isFavorite": \#(round % 4 > 1)}"#)
      #expect(try daemon.get(target).status == 200)
    }
    // One of the two others may share its count with the picture by chance.
    let hits = try Self.preparedResponses(of: daemon) - before
    #expect(hits >= 10, "\(hits)")
    // Readers race with edits. Each edit gives a tag of its own, which is the only one after its commit.
    let isEnded = SharedFlag(), hasStopped = DispatchSemaphore(value: 0)
    defer {
      isEnded.value.store(true, ordering: .relaxed)
      hasStopped.wait()
    }
    Thread.detachNewThread {
      // A bound, in case the test hangs: each request takes a port for a minute.
      for _ in 0..<5000 where !isEnded.value.load(ordering: .relaxed) {
        _ = try? daemon.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      }
      hasStopped.signal()
    }
    var tags: Set<String> = []
    for round in 1...15 {
      let operations = #"{"operations": [{"type": "exposure", "ev": \#(Double(round) / 10)}]}"#
      #expect(try daemon.post("/v1/assets/\(edited)/adjustments", operations, method: "PUT").status < 300)
      let tag = try #require(try daemon.get(target)["ETag"])
      #expect(tags.insert(tag).inserted, "round \(round) shows an earlier edit")
    }
    try change(#"{"type": "deleteAsset", "asset": "\#(edited)"}"#)
    #expect(try daemon.get(target).status == 404)
  }

  /// The number of prepared responses that a daemon has sent.
  private static func preparedResponses(of daemon: TestDaemon) throws -> Int {
    let text = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    let line = text.split(separator: "\n").first { $0.hasPrefix("photod_http_prepared_responses_total ") }
    return try #require(line.flatMap { Double($0.split(separator: " ")[1]) }.map { Int($0) })
  }

  @Test(
    "opportunistic delivery of a frame in memory is prepared, with an identifier of its own in each part",
    arguments: [("mixed", "multipart/mixed"), ("replace", "multipart/x-mixed-replace")])
  func multipart(_ form: String, _ type: String) throws {
    // The first commit of a run counts for all assets. That of the scan at the start must not fall between the requests.
    let daemon = try TestDaemon(
      unwatched: { try $0.put(Self.picture(1), "a.jpg") }, arguments: ["--set", "cache.diskBytes=0"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=104x104"
    let final = try daemon.get(target)
    let opportunistic = target + "&deliveryMode=opportunistic&multipart=\(form)"
    let before = try Self.preparedResponses(of: daemon)
    var identifiers: Set<String> = []
    for version in ["1.1", "1.1", "1.1", "1.0"] {
      let answer = try daemon.get(opportunistic, version: version)
      #expect(answer.status == 200 && answer["Cache-Control"] == "no-store")
      let multipart = try Multipart(answer)
      #expect(multipart.type == type && multipart.parts.map(\.body) == [final.body])
      let part = try #require(multipart.parts.first?.fields["image-result"])
      let identifier = try #require(answer.result("request-id"))
      #expect(part.contains(identifier) && part.contains("source=memory"))
      #expect(multipart.parts.first?.fields["etag"] == final["ETag"])
      identifiers.insert(identifier)
    }
    #expect(identifiers.count == 4)
    #expect(
      try Self.preparedResponses(of: daemon) - before == 2, "the first one, and that in HTTP/1.0, are not prepared")
    // Conditions apply to single responses only.
    let conditional = try daemon.get(opportunistic, ["If-None-Match: \(try #require(final["ETag"]))"])
    #expect(conditional.status == 200)
    #expect(try Multipart(conditional).parts.map(\.body) == [final.body])
    let head = try daemon.get(opportunistic, method: "HEAD")
    #expect(head.status == 200 && head.body.isEmpty && head["Content-Type"]?.hasPrefix(type) == true)
  }

  @Test("conditional requests get the same answer with and without a cached frame")
  func conditions() throws {
    let target = try Self.target("targetSize=103x103")
    let tag = try #require(try Self.shared.get(target)["ETag"])
    let date = try #require(try Self.shared.get(target)["Last-Modified"])
    for (field, status) in [
      ("If-None-Match: \(tag)", 304), ("If-None-Match: W/\(tag)", 304), ("If-None-Match: \"x\", \(tag)", 304),
      ("If-None-Match: *", 304), ("If-None-Match: \"x\"", 200), ("If-None-Match: \"x\"\r\nIf-None-Match: \(tag)", 304),
      ("If-Modified-Since: \(date)", 304), ("If-None-Match: \"x\"\r\nIf-Modified-Since: \(date)", 200),
      ("If-Match: \(tag)", 200), ("If-Match: \"x\"", 412), ("If-Unmodified-Since: \(date)", 200),
    ] {
      let answer = try Self.shared.get(target, [field])
      #expect(answer.status == status, "\(field)")
      if status == 304 {
        #expect(answer.body.isEmpty && answer["ETag"] == tag && answer["Content-Length"] == nil)
        #expect(answer["Cache-Control"] == "private, max-age=0, must-revalidate")
      }
    }
    for (size, field) in [
      (131, "If-None-Match: *"), (132, "If-None-Match: \"x\", *"), (133, "If-Modified-Since: \(date)"),
    ] {
      let target = try Self.target("targetSize=\(size)x\(size)")
      let answer = try Self.shared.get(target, [field])
      #expect(answer.status == 304 && answer.body.isEmpty, "\(field)")
      let later = try Self.shared.get(target)
      #expect(answer["ETag"] != nil && answer["ETag"] == later["ETag"], "\(field)")
    }
  }

  @Test("If-Match names the frame that is sent, and If-None-Match any frame of the same picture")
  func derivations() throws {
    let picture = JPEGFile { _ in }.encoded(Scene(seed: 1, grain: 10).pixels(width: 1200, height: 900))
    let daemon = try TestDaemon({ try $0.put(picture, "a.jpg") })
    let path = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?format=jpeg&targetSize="
    let (target, fresh) = (path + "128x128", "Cache-Control: no-cache")
    #expect(try daemon.get(path + "700x700").status == 200)
    try daemon.until("derivatives are stored") {
      (try daemon.metric("photod_disk_cache_entries{kind=\"derivative\"}") ?? 0) >= 1
    }
    let decoded = try daemon.get(target, [fresh])
    let decodedTag = try #require(decoded["ETag"])
    // Before and after the frame is cached, and with a prepared response.
    for round in 0..<3 {
      let (range, match) = ("Range: bytes=100-", "If-Match: \(decodedTag)")
      for fields in [[match], [match, range], [match, "If-None-Match: \(decodedTag)"]] {
        let answer = try daemon.get(target, fields)
        #expect(answer.status == 412, "\(round) \(fields)")
        #expect(answer.json["type"] as? String == "/problems/precondition-failed", "\(round) \(fields)")
      }
      #expect(try daemon.get(target, [match], method: "HEAD").status == 412, "\(round)")
      #expect(try daemon.get(target, ["If-None-Match: \(decodedTag)"]).status == 304, "\(round)")
      let cached = try daemon.get(target)
      let tag = try #require(cached["ETag"])
      #expect(tag != decodedTag && cached.result("source") == (round == 0 ? "derivative" : "memory"))
      let rest = try daemon.get(target, ["If-Match: \(decodedTag), \(tag)", range])
      #expect(rest.status == 206 && rest["ETag"] == tag && rest.body == Array(cached.body[100...]))
      #expect(try daemon.get(target, ["If-Match: W/\(tag)"]).status == 412, "the comparison is strong")
      // How this frame is made is known only once it is rendered.
      let again = try daemon.get(target, [match, range, fresh])
      #expect(again.status == 206 && again["ETag"] == decodedTag && again.body == Array(decoded.body[100...]))
      #expect(try daemon.get(target, ["If-Match: \(tag)", range, fresh]).status == 412)
    }
  }

  @Test("frames in different formats are cached separately for each Accept field")
  func accept() throws {
    let target = try Self.target("targetSize=104x104")
    for _ in 0..<2 {
      #expect(try Self.shared.get(target, ["Accept: image/jpeg"])["Content-Type"] == "image/jpeg")
      #expect(try Self.shared.get(target, ["Accept: image/png"])["Content-Type"] == "image/png")
      #expect(try Self.shared.get(target)["Content-Type"] == "image/jpeg")
      #expect(try Self.shared.get(target, ["Accept: text/html"]).status == 406)
      #expect(try Self.shared.get(target, ["Accept:"])["Content-Type"] == "image/jpeg", "an empty field names no type")
    }
  }

  @Test("an unknown host name is refused, even for a cached frame")
  func hosts() throws {
    let target = try Self.target("targetSize=105x105")
    for _ in 0..<2 { #expect(try Self.shared.get(target).status == 200) }
    let raw = try Self.shared.send("GET \(target) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    #expect(try TestDaemon.parsed(raw).status == 421)
  }

  @Test("Cache-Control: no-cache renders again for a local caller only")
  func fresh() throws {
    let target = try Self.target("targetSize=106x106")
    for _ in 0..<2 { _ = try Self.shared.get(target) }
    #expect(try Self.shared.get(target, ["Cache-Control: no-cache"]).result("source") == "original")
    #expect(try Self.shared.get(target, ["Cache-Control: no-cache", "Via: 1.1 x"]).result("source") == "memory")
    #expect(try Self.shared.get(target, ["Cache-Control: max-age=0"]).result("source") == "memory")
  }

  @Test("opportunistic delivery is a single part when the final frame is cached")
  func opportunistic() throws {
    _ = try Self.shared.get(try Self.target("targetSize=107x107"))
    let answer = try Self.shared.get(try Self.target("targetSize=107x107&deliveryMode=opportunistic"))
    let parts = try Multipart(answer).parts
    #expect(parts.count == 1 && parts[0].fields["image-result"]?.contains("source=memory") == true)
  }

  @Test("without memory for frames they come from disk, and without that each is rendered again")
  func noCache() throws {
    for (settings, second) in [([], "disk"), (["--set", "cache.diskBytes=0"], "original")] {
      let daemon = try TestDaemon(
        { try $0.put(Self.picture(1), "a.jpg") }, arguments: ["--set", "cache.frameBytes=0"] + settings)
      let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=500x500"
      let answers = try (0..<2).map { _ in try daemon.get(target) }
      #expect(answers.map { $0.result("source") } == ["original", second])
      #expect(answers[0].body == answers[1].body && answers[0]["ETag"] == answers[1]["ETag"])
      #expect(try daemon.get(target, ["If-None-Match: \(answers[0]["ETag"] ?? "")"]).status == 304)
    }
  }

  @Test("when the cache is full, the oldest frames are evicted and every response is still correct")
  func eviction() throws {
    let daemon = try TestDaemon(
      { try $0.put(Self.picture(1), "a.jpg") },
      arguments: ["--set", "cache.frameBytes=60000", "--set", "cache.diskBytes=0"])
    let identifier = try daemon.identifier("a.jpg")
    func get(_ side: Int) throws -> TestDaemon.Response {
      try daemon.get("/v1/assets/\(identifier)/image?targetSize=\(side)x\(side)")
    }
    let first = try (100..<140).map { try get($0) }
    #expect(first.reduce(0) { $0 + $1.body.count } > 60_000)
    #expect(try get(139).result("source") == "memory")
    let again = try get(100)
    #expect(again.result("source") == "original" && again.body == first[0].body && again["ETag"] == first[0]["ETag"])
  }

  @Test(
    "once a change of a picture is known, its old frame is never sent", arguments: [true, false])
  func changed(_ byDaemon: Bool) throws {
    let daemon = try TestDaemon(
      { try $0.put(Self.picture(1), "a.jpg") }, arguments: ["--set", "scan.intervalSeconds=0"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=60x60"
    let before = try (0..<3).map { _ in try daemon.get(target) }
    #expect(before[2].result("source") == "memory")
    try TestDaemon.Files(root: daemon.library).put(Self.picture(2), "a.jpg")
    if byDaemon {
      try daemon.requestScan()
    } else {
      try TestDaemon.succeed(["scan", "--library", daemon.library, "--data", daemon.data])
    }
    // The daemon notices the change after a while.
    var after = try daemon.get(target)
    try daemon.until("the image is the changed one") {
      after = try daemon.get(target)
      return after.body != before[0].body
    }
    #expect(after.status == 200 && after.body != before[0].body && after["ETag"] != before[0]["ETag"])
    #expect(try daemon.get(target, ["If-None-Match: \(before[0]["ETag"] ?? "")"]).status == 200)
  }

  @Test("byte ranges of a cached frame")
  func ranges() throws {
    let target = try Self.target("targetSize=108x108")
    let whole = try Self.shared.get(target)
    let (size, tag) = (whole.body.count, try #require(whole["ETag"]))
    #expect(whole["Accept-Ranges"] == "bytes")
    let part = try Self.shared.get(target, ["Range: bytes=10-19"])
    #expect(part.status == 206 && part.body == Array(whole.body[10..<20]) && part["ETag"] == tag)
    #expect(part["Content-Range"] == "bytes 10-19/\(size)")
    let parts = try Multipart(try Self.shared.get(target, ["Range: bytes=0-1,-2"]))
    #expect(parts.type == "multipart/byteranges")
    #expect(parts.parts.map { Array($0.body) } == [Array(whole.body.prefix(2)), Array(whole.body.suffix(2))])
    let none = try Self.shared.get(target, ["Range: bytes=\(size)-"])
    #expect(none.status == 416 && none["Content-Range"] == "bytes */\(size)")
    #expect(none.json["type"] as? String == "/problems/range-not-satisfiable")
    #expect(try Self.shared.get(target, ["Range: bytes=0-1", "If-Range: \(tag)"]).status == 206)
    #expect(try Self.shared.get(target, ["Range: bytes=0-1", "If-Range: \"x\""]).status == 200)
    #expect(try Self.shared.get(target, ["Range: bytes=0-1", "If-None-Match: \(tag)"]).status == 304)
    #expect(try Self.shared.get(target, ["Range: bytes=0-1", "If-Match: \"x\""]).status == 412)
    #expect(try Self.shared.get(target, ["Range: nonsense"]).body == whole.body)
  }
}
