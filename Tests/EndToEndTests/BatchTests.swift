import Foundation
import PhotoFixtures
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `POST /v1/images`: many renditions in one response.
@Suite("Batches of images", .blocking)
struct BatchTests {
  private static func picture(_ seed: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Scene(seed: seed, grain: 6).pixels(width: 320, height: 240))
  }

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon { files in
        for i in 0..<12 { try files.put(picture(i), "p\(i).jpg") }
        try files.put(Array(picture(3).prefix(900)), "broken.jpg")
        try files.put(
          PNGFile(.rgba(depth: 8)).encoded(Pixels.orientationCard(width: 40, height: 30)), "alpha.png")
      }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func identifiers(_ range: Range<Int>) throws -> [String] {
    try range.map { try shared.identifier("p\($0).jpg") }
  }

  private static func body(_ assets: [Any], _ rest: [String: Any] = ["targetSize": "64x64"]) throws -> String {
    let object = rest.merging(["assets": assets]) { $1 }
    return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
  }

  private static func parts(_ assets: [Any], _ rest: [String: Any] = ["targetSize": "64x64"]) throws -> [Multipart.Part]
  {
    let answer = try shared.post("/v1/images", body(assets, rest))
    #expect(answer.status == 200 && answer["Cache-Control"] == "no-store" && answer["ETag"] == nil)
    #expect(answer["X-Content-Type-Options"] == "nosniff")
    let multipart = try Multipart(answer)
    #expect(multipart.type == "multipart/mixed")
    for part in multipart.parts { #expect(part.fields["content-length"] == String(part.body.count)) }
    return multipart.parts
  }

  /// The asset that a part names.
  private static func asset(_ part: Multipart.Part) -> String {
    let parts = (part.fields["content-location"] ?? "").split(separator: "/")
    return parts.count > 2 ? String(parts[2]) : ""
  }

  private static func status(_ part: Multipart.Part) -> String {
    String((part.fields["image-result"] ?? "").split(separator: ",").first ?? "")
  }

  @Test("each part equals the response of its Content-Location, with the same entity tag")
  func same() throws {
    let identifiers = try Self.identifiers(0..<12)
    for _ in 0..<2 {
      let parts = try Self.parts(
        identifiers, ["targetSize": "60x50", "contentMode": "aspectFill", "quality": 71, "colorSpace": "srgb"])
      #expect(Set(parts.map(Self.asset)) == Set(identifiers) && parts.count == 12)
      for part in parts {
        let alone = try Self.shared.get(try #require(part.fields["content-location"]))
        #expect(alone.body == part.body && alone["ETag"] == part.fields["etag"])
        #expect(alone["Content-Type"] == part.fields["content-type"])
        #expect(Self.status(part) == "status=200")
        #expect(part.fields["image-result"]?.contains("degraded=?0") == true)
      }
    }
    // The second time they came from memory, in the requested order.
    let again = try Self.parts(
      identifiers.reversed(), ["targetSize": "60x50", "contentMode": "aspectFill", "quality": 71, "colorSpace": "srgb"])
    #expect(again.map(Self.asset) == identifiers.reversed())
    #expect(again.allSatisfy { $0.fields["image-result"]?.contains("source=memory") == true })
  }

  @Test("cached images come before images that have to be rendered")
  func cachedFirst() throws {
    let identifiers = try Self.identifiers(0..<12)
    for i in [3, 7, 11] { _ = try Self.shared.get("/v1/assets/\(identifiers[i])/image?targetSize=61x61") }
    let parts = try Self.parts(identifiers, ["targetSize": "61x61"])
    #expect(parts.prefix(3).map(Self.asset) == [3, 7, 11].map { identifiers[$0] })
    #expect(Set(parts.map(Self.asset)) == Set(identifiers))
  }

  @Test("an image that the client has is an empty 304 part; others are complete")
  func notModified() throws {
    let identifiers = try Self.identifiers(0..<3)
    let tags = try Self.parts(identifiers, ["targetSize": "62x62"]).reduce(into: [String: String]()) {
      $0[Self.asset($1)] = $1.fields["etag"]
    }
    let tag = try #require(tags[identifiers[0]])
    for (ifNoneMatch, status) in [
      (tag, "status=304"), ("W/\(tag)", "status=304"), ("\"x\", \(tag)", "status=304"), ("\"x\"", "status=200"),
      (tags[identifiers[1]] ?? "", "status=200"), ("", "status=200"), ("*", "status=304"),
    ] {
      let parts = try Self.parts(
        [["asset": identifiers[0], "ifNoneMatch": ifNoneMatch], identifiers[1]], ["targetSize": "62x62"])
      let part = try #require(parts.first { Self.asset($0) == identifiers[0] })
      #expect(Self.status(part) == status, "\(ifNoneMatch)")
      #expect(part.fields["etag"] == tag && part.body.isEmpty == (status == "status=304"))
    }
    // A frame that nobody has requested yet exists as well; that of an unknown asset does not.
    let parts = try Self.parts(
      [["asset": identifiers[2], "ifNoneMatch": "*"], ["asset": "nobody", "ifNoneMatch": "*"]],
      ["targetSize": "63x63"])
    #expect(Set(parts.map(Self.status)) == ["status=304", "status=404"])
    let held = try #require(parts.first { Self.asset($0) == identifiers[2] }?.fields["etag"])
    let alone = "/v1/assets/\(identifiers[2])/image?targetSize=63x63"
    #expect(try Self.shared.get(alone, ["If-None-Match: \(held)"]).status == 304)
    // A `fastFormat` frame has no entity tag.
    let quick = try Self.parts(
      [["asset": identifiers[0], "ifNoneMatch": tag]], ["targetSize": "62x62", "deliveryMode": "fastFormat"])
    #expect(quick[0].fields["etag"] == nil && Self.status(quick[0]) == "status=200" && !quick[0].body.isEmpty)
  }

  @Test("a part with v is immutable at its Content-Location; a version that is gone is a problem part")
  func versions() throws {
    let identifiers = try Self.identifiers(0..<2)
    let version = try #require(try Self.shared.get("/v1/assets/\(identifiers[0])").json["contentVersion"] as? String)
    func part(_ entry: [String: String]) throws -> Multipart.Part {
      try #require(
        try Self.parts([entry, identifiers[1]], ["targetSize": "64x64"]).first { Self.asset($0) == identifiers[0] })
    }
    let current = try part(["asset": identifiers[0], "v": version])
    let immutable = "private, max-age=31536000, immutable"
    #expect(Self.status(current) == "status=200" && current.fields["cache-control"] == immutable)
    let alone = try Self.shared.get(try #require(current.fields["content-location"]))
    #expect(alone.body == current.body && alone["Cache-Control"] == immutable)
    let tag = try #require(current.fields["etag"])
    let held = try part(["asset": identifiers[0], "v": version, "ifNoneMatch": tag])
    #expect(Self.status(held) == "status=304" && held.fields["cache-control"] == immutable && held.body.isEmpty)
    let unversioned = try part(["asset": identifiers[0]])
    #expect(Self.status(unversioned) == "status=200" && unversioned.fields["cache-control"] == nil)
    let gone = try part(["asset": identifiers[0], "v": "another"])
    #expect(Self.status(gone) == "status=404" && gone.fields["cache-control"] == nil)
    let problem = try #require(try JSONSerialization.jsonObject(with: Data(gone.body)) as? [String: Any])
    #expect(problem["type"] as? String == "/problems/version-gone")
  }

  @Test("a missing asset, or one that can't be rendered, is a problem part among the others")
  func problems() throws {
    let good = try Self.identifiers(0..<2)
    let parts = try Self.parts([good[0], "nobody", try Self.shared.identifier("broken.jpg"), good[1]])
    let byAsset = Dictionary(uniqueKeysWithValues: parts.map { (Self.asset($0), $0) })
    #expect(parts.count == 4)
    for identifier in good { #expect(byAsset[identifier].map(Self.status) == "status=200") }
    let missing = try #require(byAsset["nobody"])
    #expect(Self.status(missing) == "status=404" && missing.fields["content-type"] == "application/problem+json")
    let problem = try #require(try JSONSerialization.jsonObject(with: Data(missing.body)) as? [String: Any])
    #expect(problem["type"] as? String == "/problems/asset-not-found" && problem["status"] as? Int == 404)
  }

  @Test("the same asset twice is two parts; format=auto chooses the format of each part")
  func twiceAndAlpha() throws {
    let identifier = try Self.identifiers(0..<1)[0]
    let twice = try Self.parts([identifier, identifier], ["targetSize": "63x63"])
    #expect(twice.map(Self.asset) == [identifier, identifier] && twice[0].body == twice[1].body)
    let alpha = try Self.parts([try Self.shared.identifier("alpha.png"), identifier])
    #expect(Set(alpha.map { $0.fields["content-type"] }) == ["image/png", "image/jpeg"])
  }

  @Test(
    "a client that accepts only WebP gets it in a batch as in a single image",
    .enabled(if: EncodedFormatTests.isBuilt))
  func onlyWebP() throws {
    let identifier = try Self.identifiers(0..<1)[0]
    let fields = ["Accept: multipart/mixed, image/webp"]
    let single = try Self.shared.get("/v1/assets/\(identifier)/image?targetSize=61x61", fields)
    let batch = try Self.shared.post(
      "/v1/images", #"{"assets": ["\#(identifier)"], "targetSize": "61x61"}"#, fields)
    let part = try #require(try Multipart(batch).parts.first)
    #expect(single["Content-Type"] == "image/webp" && part.fields["content-type"] == "image/webp")
  }

  @Test(
    "a part has the smaller encoding that its Content-Location has, and is a 304 for the tags of both encodings",
    .enabled(if: EncodedFormatTests.isBuilt))
  func smallerEncoding() throws {
    let daemon = try TestDaemon(
      { files in
        let scene = Scene(seed: 1, grain: 2).pixels(width: 600, height: 400)
        try files.put(JPEGFile { _ in }.encoded(scene), "p.jpg")
      }, arguments: ["--set", "render.upgradePercent=100"])
    let accept = "Accept: image/jxl,image/*,*/*;q=0.8"
    let identifier = try daemon.identifier("p.jpg")
    let target = "/v1/assets/\(identifier)/image?targetSize=300x300"
    func part(_ ifNoneMatch: String?) throws -> Multipart.Part {
      var entry = ["asset": identifier]
      entry["ifNoneMatch"] = ifNoneMatch
      let answer = try daemon.post("/v1/images", Self.body([entry], ["targetSize": "300x300"]), [accept])
      return try #require(try Multipart(answer).parts.first)
    }
    let first = try part(nil)
    #expect(first.fields["content-type"] == "image/jpeg")
    var single = try daemon.get(target, [accept])
    try daemon.until("the frame is encoded again") {
      single = try daemon.get(target, [accept])
      return single.result("upgraded") == "?1"
    }
    for tag in [nil, "\"x\""] {
      let whole = try part(tag)
      let isSame = whole.body == single.body
      #expect(isSame && whole.fields["content-type"] == "image/jxl" && whole.fields["etag"] == single["ETag"])
    }
    for tag in [first.fields["etag"], single["ETag"]] {
      let held = try part(tag)
      #expect(Self.status(held) == "status=304" && held.body.isEmpty && held.fields["etag"] == tag)
    }
    let any = try part("*")
    #expect(Self.status(any) == "status=304" && any.fields["etag"] == single["ETag"])
  }

  @Test(
    "an invalid parameter is refused by name",
    arguments: [
      (#"{}"#, "assets"), (#"{"assets": []}"#, "assets"), (#"{"assets": "a"}"#, "assets"),
      (#"{"assets": [1]}"#, "assets"),
      (#"{"assets": [{}]}"#, "assets"), (#"{"assets": ["a/b"]}"#, "assets"),
      (#"{"assets": [{"asset": "a", "etag": "x"}]}"#, "etag"),
      (#"{"assets": [{"asset": "a", "ifNoneMatch": 1}]}"#, "ifNoneMatch"),
      (#"{"assets": ["a"], "targetSize": "0x1"}"#, "targetSize"), (#"{"assets": ["a"], "size": "1x1"}"#, "size"),
      (#"{"assets": ["a"], "deliveryMode": "opportunistic"}"#, "deliveryMode"),
      (#"{"assets": ["a"], "requestID": "x"}"#, "requestID"), (#"{"assets": ["a"], "quality": 101}"#, "quality"),
      (#"{"assets": ["a"], "normalizedCropRect": {"x": 0}}"#, "normalizedCropRect"),
      (#"{"assets": ["a"], "normalizedCropRect": "0,0,1,1", "resizeMode": "fast"}"#, "normalizedCropRect"),
    ])
  func refused(_ body: String, _ parameter: String) throws {
    let answer = try Self.shared.post("/v1/images", body)
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(body)")
  }

  @Test("a batch has at most 500 images, and pages of other origins are refused")
  func limits() throws {
    let one = try Self.identifiers(0..<1)[0]
    let many = try Self.shared.post("/v1/images", Self.body(Array(repeating: one, count: 501)))
    #expect(many.status == 400 && many.json["parameter"] as? String == "assets")
    #expect(try Self.parts(Array(repeating: one, count: 500)).count == 500)
    let foreign = try Self.shared.post("/v1/images", Self.body([one]), ["Origin: https://evil.example"])
    #expect(foreign.status == 403)
    #expect(try Self.shared.post("/v1/images", Self.body([one]), type: "text/plain").status == 415)
  }

  @Test("a batch that has more frames than renders may wait is complete", arguments: [1, 2, 5])
  func shortQueue(length: Int) throws {
    let daemon = try TestDaemon(
      { files in for i in 0..<40 { try files.put(Self.picture(i), "p\(i).jpg") } },
      arguments: ["--set", "render.queueLength=\(length)", "--set", "cache.backgroundDerivatives=false"])
    let identifiers = try (0..<40).map { try daemon.identifier("p\($0).jpg") }
    let answer = try daemon.post("/v1/images", Self.body(identifiers))
    let parts = try Multipart(answer).parts
    #expect(parts.count == 40 && Set(parts.map(Self.asset)) == Set(identifiers))
    #expect(Set(parts.map(Self.status)) == ["status=200"])
  }

  @Test("batches that a caller sends at once wait for each other while only one render may wait")
  func shortQueueForSeveral() throws {
    let daemon = try TestDaemon(
      { files in for i in 0..<40 { try files.put(Self.picture(i), "p\(i).jpg") } },
      arguments: ["--set", "render.queueLength=1", "--set", "cache.backgroundDerivatives=false"])
    let identifiers = try (0..<40).map { try daemon.identifier("p\($0).jpg") }
    let statuses = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { number in
      do {
        let answer = try daemon.post("/v1/images", Self.body(Array(identifiers[number * 10..<number * 10 + 10])))
        let parts = try Multipart(answer).parts
        statuses.withLock { $0 += parts.map(Self.status) }
      } catch {
        Issue.record(error)
      }
    }
    #expect(statuses.withLock { $0 } == Array(repeating: "status=200", count: 40))
  }

  @Test("a slow image does not delay the others, and closing the connection cancels the rest")
  func slow() throws {
    let daemon = try TestDaemon(
      { files in
        for i in 0..<5 { try files.put(Self.picture(i), "p\(i).jpg") }
        let pixels = Scene(seed: 9, grain: 8).pixels(width: 2400, height: 1800)
        try files.put(JPEGFile { $0.isProgressive = true }.encoded(pixels), "slow.jpg")
      }, arguments: ["--set", "render.workers=1", "--set", "cache.backgroundDerivatives=false"])
    let quick = try (0..<5).map { try daemon.identifier("p\($0).jpg") }
    let slow = try daemon.identifier("slow.jpg")
    for identifier in quick.prefix(4) { _ = try daemon.get("/v1/assets/\(identifier)/image?targetSize=64x64") }
    // The only worker is busy for longer than this test takes.
    for i in 0..<30 {
      Thread.detachNewThread {
        _ = try? daemon.send(
          "GET /v1/assets/\(slow)/image?targetSize=max&requestID=busy-\(i) HTTP/1.1\r\nHost: localhost\r\n"
            + "Connection: close\r\nCache-Control: no-cache\r\n\r\n")
      }
    }
    func names() throws -> [String] {
      let requests = try #require(try daemon.get("/v1/requests").json["requests"] as? [[String: Any]])
      return requests.compactMap { $0["requestID"] as? String }
    }
    try daemon.until("twenty requests are pending") { try names().count >= 20 }
    let connection = try daemon.connection()
    let body = try Self.body([slow, quick[4]] + quick.prefix(4))
    let request =
      "POST /v1/images HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      + "\(body.utf8.count)\r\n\r\n\(body)"
    #expect(Glibc.send(connection, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count)
    var received = ""
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while received.components(separatedBy: "status=200").count < 5 {
      let count = recv(connection, &chunk, chunk.count, 0)
      try #require(count > 0)
      received += String(decoding: chunk[..<count], as: Unicode.ASCII.self)
    }
    #expect(!received.contains("/v1/assets/\(slow)/"))
    // Frames in memory are sent before the other renders begin.
    var batch: [String] = []
    try daemon.until("the rest of the batch is pending") {
      batch = try names().filter { !$0.hasPrefix("busy") && $0.contains(".") }
      return batch.count >= 2
    }
    close(connection)
    try daemon.until("the batch is cancelled") { try !names().contains(where: batch.contains) }
    for i in 0..<30 { _ = try daemon.get("/v1/requests/busy-\(i)", method: "DELETE") }
  }

  @Test(
    "the parts have a type that the client accepts; without an acceptable type the status is 406",
    arguments: [
      ("image/*", 200), ("image/png", 200), ("multipart/mixed", 200), ("*/*", 200),
      ("image/jpeg, multipart/*;q=0.1", 200),
      ("", 200), ("application/json", 406), ("multipart/mixed;q=0, */*", 406), ("multipart/*;q=0, image/*", 406),
      ("multipart/mixed, image/*;q=0", 406), ("image/*;q=0, */*", 406),
    ])
  func accept(_ accept: String, _ status: Int) throws {
    let identifier = try Self.shared.identifier("p0.jpg")
    let answer = try Self.shared.post(
      "/v1/images", #"{"assets": ["\#(identifier)"], "targetSize": "20x20"}"#, ["Accept: \(accept)"])
    #expect(
      answer.status == status
        && (answer["Content-Type"] ?? "").hasPrefix(status == 200 ? "multipart" : "application/problem"))
    #expect(answer["Vary"] == "Accept")
    if accept == "image/png" {
      #expect(String(decoding: answer.body, as: UTF8.self).contains("Content-Type: image/png"))
    }
  }
}
