import Foundation
import PhotoFixtures
import Testing

@Suite("format=auto, over real sockets", .blocking)
struct AutomaticFormatTests {
  private static let scene = Scene(seed: 4, grain: 2).pixels(width: 600, height: 400)

  private static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    try TestDaemon(
      { files in
        try files.put(JPEGFile { _ in }.encoded(scene), "a.jpg")
        var cutOut = Pixels(width: 80, height: 60, channels: 4)
        for i in 0..<4800 { cutOut.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: [200, 90, 40, UInt8(i % 80 * 3)]) }
        try files.put(PNGFile(.rgba(depth: 8)).encoded(cutOut), "b.png")
      }, arguments: arguments)
  }

  /// `Accept` of programs and browsers, and the types of the first answers: without and with alpha.
  static let clients: [(name: String, accept: String, opaque: String?, alpha: String?)] = [
    ("a program", "*/*", "image/jpeg", "image/png"),
    (
      "Safari", "image/webp,image/avif,image/jxl,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5",
      "image/jpeg", "image/webp"
    ),
    ("Chromium", "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "image/jpeg", "image/webp"),
    ("Firefox", "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5", "image/jpeg", "image/webp"),
    ("an old browser", "image/png,image/*;q=0.8,*/*;q=0.5", "image/jpeg", "image/png"),
    ("only PNG", "image/png", "image/png", "image/png"),
    ("PNG rather than JPEG", "image/png, image/jpeg;q=0.5", "image/png", "image/png"),
    ("only AVIF", "image/avif", "image/avif", "image/avif"),
    ("no WebP", "image/webp;q=0, */*", "image/jpeg", "image/png"),
    ("only text", "text/html", nil, nil),
  ]

  @Test(
    "the first answer is cheap, and only formats that Accept lists count",
    .enabled(if: EncodedFormatTests.isBuilt))
  func classes() throws {
    let daemon = try Self.daemon(["--set", "render.upgradePercent=1"])
    for client in Self.clients {
      for (file, type) in [("a.jpg", client.opaque), ("b.png", client.alpha)] {
        let answer = try daemon.get(
          "/v1/assets/\(try daemon.identifier(file))/image?targetSize=\(client.name.utf8.count + 30)x60",
          ["Accept: \(client.accept)"])
        #expect(answer.status == (type == nil ? 406 : 200), "\(client.name)")
        guard let type else { continue }
        #expect(answer["Content-Type"] == type && answer["Vary"] == "Accept", "\(client.name): \(file)")
        #expect(answer.result("format") == String(type.dropFirst(6)) && answer.result("upgraded") == nil)
      }
    }
  }

  @Test(
    "a frame that is asked for again is replaced by a smaller one, under a tag of its own",
    .enabled(if: EncodedFormatTests.isBuilt), arguments: ["webp", "avif", "jxl"])
  func replaced(_ format: String) throws {
    let daemon = try Self.daemon(["--set", "render.upgradePercent=100"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=500x500"
    let accept = "Accept: image/\(format),image/*,*/*;q=0.8"
    let first = try daemon.get(target, [accept])
    #expect(first["Content-Type"] == "image/jpeg" && first.result("upgraded") == nil)
    // A first request makes nothing smaller.
    #expect(Self.upgrades(try daemon.get("/metrics")) == 0)
    var latest = first
    try daemon.until("the frame is replaced") {
      latest = try daemon.get(target, [accept])
      return latest["Content-Type"] == "image/\(format)"
    }
    #expect(latest.result("upgraded") == "?1" && latest.result("format") == format && latest["Vary"] == "Accept")
    #expect(latest.body.count < first.body.count)
    let (old, new) = (try #require(first["ETag"]), try #require(latest["ETag"]))
    #expect(old != new)
    // It is the frame of format=…, and of HEAD.
    #expect(try daemon.get("\(target)&format=\(format)")["ETag"] == new)
    #expect(try daemon.get(target, [accept], method: "HEAD")["ETag"] == new)
    // Both are the current picture to a client that has them.
    for tag in [old, new] {
      let answer = try daemon.get(target, [accept, "If-None-Match: \(tag)"])
      #expect(answer.status == 304 && answer["ETag"] == tag)
    }
    // Clients that don't list the format keep theirs.
    for other in ["*/*", "image/jpeg", "image/*"] {
      let answer = try daemon.get(target, ["Accept: \(other)"])
      #expect(answer["Content-Type"] == "image/jpeg" && answer["ETag"] == old, "\(other)")
    }
    #expect(Self.upgrades(try daemon.get("/metrics")) == 1)
  }

  @Test("every response says once that it depends on Accept, also a problem; with a named format it does not depend")
  func vary() throws {
    let daemon = try Self.daemon()
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    let tag = try #require(try daemon.get(target + "?targetSize=70x70")["ETag"])
    let cases: [(target: String, fields: [String], status: Int)] = [
      ("\(target)?targetSize=70x70", [], 200), ("\(target)?targetSize=70x70", ["Range: bytes=0-9"], 206),
      ("\(target)?targetSize=70x70", ["If-None-Match: \(tag)"], 304),
      ("\(target)?targetSize=70x70", ["If-Match: \"x\""], 412),
      ("\(target)?targetSize=71x71", ["If-Match: \"x\""], 412),
      ("\(target)?targetSize=70x70", ["Range: bytes=999999-"], 416),
      ("\(target)?targetSize=72x72", ["Range: bytes=999999-"], 416),
      ("\(target)?targetSize=70x70", ["Accept: text/html"], 406), ("\(target)?v=x", [], 404),
      ("/v1/assets/none/image", [], 404),
      ("\(target)?targetSize=70x70&deliveryMode=opportunistic", ["Accept: multipart/mixed"], 200),
    ]
    for (target, fields, status) in cases {
      let answer = try daemon.get(target, fields)
      #expect(answer.status == status, "\(target) \(fields)")
      let lines = String(decoding: answer.raw, as: Unicode.ASCII.self).components(separatedBy: "\r\n")
      #expect(lines.filter { $0 == "Vary: Accept" }.count == 1, "\(target) \(fields)")
    }
    for query in ["?targetSize=70x70&format=jpeg", "?targetSize=70x70&format=png&v=x"] {
      #expect(try daemon.get(target + query)["Vary"] == nil, "\(query)")
    }
  }

  @Test(
    "a picture with alpha that is too large for WebP is a PNG, however it is requested",
    .enabled(if: EncodedFormatTests.isBuilt),
    arguments: [
      // More memory than there is, and a side that WebP does not have.
      ("large", 1600, 1200, ["--set", "memoryBudgetBytes=100663296"]), ("tall", 2, 16_400, [] as [String]),
    ])
  func tooLarge(_ name: String, _ width: Int, _ height: Int, _ settings: [String]) throws {
    let daemon = try TestDaemon(
      { files in
        try files.put(PNGFile(.rgba(depth: 8)).encoded(Pixels(width: width, height: height, channels: 4)), "a.png")
      }, arguments: settings)
    let accept = "Accept: image/avif;q=0.5,image/webp,image/*,*/*;q=0.8"
    let identifier = try daemon.identifier("a.png")
    func target(_ size: String) -> String { "/v1/assets/\(identifier)/image?\(size)" }
    // A small one is a WebP.
    #expect(try daemon.get(target("targetSize=200x200"), [accept])["Content-Type"] == "image/webp", "\(name)")
    let window = try daemon.post(
      "/v1/cachingManagers/default/window",
      #"{"assets": ["\#(identifier)"], "visible": [0, 0], "margin": 0, "targetSize": "1500x16384"}"#, method: "PUT",
      [accept])
    #expect(window.status == 200 && window.json["leftOut"] as? Int == 0, "\(name): \(window.json)")
    #expect(try CachingTests.settled("default", daemon)["prepared"] as? Int == 1, "\(name)")
    let prepared = try daemon.get(target("targetSize=1500x16384"), [accept])
    #expect(prepared["Content-Type"] == "image/png" && prepared.result("source") == "memory", "\(name)")
    for method in ["HEAD", "GET"] {
      let answer = try daemon.get(target("targetSize=max"), [accept], method: method)
      #expect(answer.status == 200 && answer["Content-Type"] == "image/png", "\(name): \(method)")
    }
    let opportunistic = try daemon.get(
      target("targetSize=max&deliveryMode=opportunistic&multipart=mixed"), [accept])
    #expect(try Multipart(opportunistic).parts.last?.fields["content-type"] == "image/png", "\(name)")
    let batch = try daemon.post("/v1/images", #"{"assets": ["\#(identifier)"]}"#, [accept])
    #expect(try Multipart(batch).parts.map { $0.fields["content-type"] } == ["image/png"], "\(name)")
  }

  /// `Accept`, and the type of the parts with `multipart=mixed`.
  static let forms: [(accept: String, type: String?)] = [
    ("application/json", "image/jpeg"), ("text/html", "image/jpeg"), ("multipart/mixed;q=0", "image/jpeg"),
    ("text/html, image/png", "image/png"), ("image/gif", nil), ("multipart/mixed, image/*;q=0", nil),
  ]

  @Test(
    "multipart= stands in place of a multipart type in Accept, which then restricts only the images that it names",
    arguments: forms)
  func parts(_ accept: String, _ type: String?) throws {
    let daemon = try Self.daemon()
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=66x66&multipart=mixed"
    let answer = try daemon.get(target + "&deliveryMode=opportunistic", ["Accept: \(accept)"])
    #expect(answer.status == (type == nil ? 406 : 200), "\(accept)")
    if let type { #expect(try Multipart(answer).parts.last?.fields["content-type"] == type, "\(accept)") }
    // Without opportunistic delivery it has no effect.
    if !accept.contains("image") { #expect(try daemon.get(target, ["Accept: \(accept)"]).status == 406, "\(accept)") }
  }

  private static func upgrades(_ metrics: TestDaemon.Response) -> Int? {
    String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix("photod_upgrades_total ") }.flatMap { Int($0.dropFirst("photod_upgrades_total ".count)) }
  }

  @Test("without a share of the CPU, or without encoders, frames stay as they are")
  func off() throws {
    for arguments in [["--set", "render.upgradePercent=0"], ["--set", "decoders.folder=/nonexistent"]] {
      let daemon = try Self.daemon(arguments)
      let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=90x90"
      for _ in 0..<3 {
        let answer = try daemon.get(target, ["Accept: image/avif,image/webp,*/*"])
        #expect(answer["Content-Type"] == "image/jpeg")
      }
      let alpha = try daemon.get(
        "/v1/assets/\(try daemon.identifier("b.png"))/image?targetSize=60x60", ["Accept: image/avif,image/webp,*/*"])
      #expect(alpha["Content-Type"] == "image/png")
      #expect(Self.upgrades(try daemon.get("/metrics")) == 0)
    }
  }
}
