import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Memory that requests leave behind, for each kind of route, delivery form and ending.
///
/// The daemon says how many bytes it has allocated and not freed (`photod_allocated_bytes`). Each kind is asked for until
/// its caches are full, and then in two equal rounds: a leak grows in both, noise in one at most.
///
/// `PHOTOD_LEAK_REQUESTS` sets the requests a round; with 50,000 the test prints a table for 100,000 of each kind.
@Suite("Memory after requests", .blocking, .serialized)
struct LeakTests {
  private static let perRound =
    ProcessInfo.processInfo.environment["PHOTOD_LEAK_REQUESTS"].flatMap { Int($0) } ?? 250
  /// The smallest object takes 32 bytes. Other allocations, such as a page of a table, do not happen in each request.
  private static let noiseBytes = 48 << 10
  private static let bytesPerRequest = 16

  /// How a client ends a connection.
  enum Ending {
    /// Reads every answer.
    case whole
    /// Disconnects without reading.
    case cut
    /// Disconnects after the first bytes of the response.
    case cutInTheMiddle
  }

  struct Kind: CustomTestStringConvertible {
    let name: String
    var ending = Ending.whole
    /// A round has half as many.
    var isSlow = false
    /// The complete request with that number; `{}` is replaced by an asset's identifier.
    var request: @Sendable (_ number: Int) -> String = { _ in "" }
    /// In place of one request: several, each needing the answer to the one before.
    var conversation: (@Sendable (TestDaemon, _ asset: String, _ number: Int) throws -> Void)?

    var testDescription: String { name }

    init(name: String, ending: Ending = .whole, isSlow: Bool = false, request: @escaping @Sendable (Int) -> String) {
      self.name = name
      self.ending = ending
      self.isSlow = isSlow
      self.request = request
    }

    init(name: String, conversation: @escaping @Sendable (TestDaemon, String, Int) throws -> Void) {
      self.name = name
      isSlow = true
      self.conversation = conversation
    }

    static func get(
      _ name: String, _ target: @autoclosure @escaping @Sendable () -> String, _ fields: String = "",
      ending: Ending = .whole, isSlow: Bool = false
    ) -> Kind {
      Kind(name: name, ending: ending, isSlow: isSlow) { _ in head("GET", target(), fields) }
    }

    static func head(_ method: String, _ target: String, _ fields: String = "") -> String {
      "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
    }

    static func send(_ method: String, _ target: String, _ body: String) -> String {
      head(method, target, "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n") + body
    }
  }

  private static let image = "/v1/assets/{}/image?targetSize=24x24"

  static let kinds: [Kind] = [
    .get("health", "/healthz"), .get("readiness", "/readyz"), .get("metrics", "/metrics", isSlow: true),
    .get("OpenAPI", "/openapi.json", isSlow: true), .get("authorization", "/v1/authorization"),
    .get("assets", "/v1/assets?limit=3"), .get("columns", "/v1/assets?layout=columns"),
    .get("buckets", "/v1/assets?layout=buckets&by=day"),
    .get("predicate", "/v1/assets?predicate=pixelWidth%20%3E%2033&sortDescriptors=-pixelWidth"),
    // Each with a statement of its own.
    Kind(name: "distinct predicates", isSlow: true) { number in
      let terms = (0..<12).map { "pixelWidth%20\(number >> $0 & 1 == 0 ? "%3E" : "%3C")%20\($0)" }
      return Kind.head("GET", "/v1/assets?predicate=\(terms.joined(separator: "%20OR%20"))")
    },
    .get("asset", "/v1/assets/{}"), .get("metadata", "/v1/assets/{}/metadata"),
    .get("collections", "/v1/collections?type=smartAlbum"), .get("changes", "/v1/changes"),
    .get("requests", "/v1/requests"), .get("trash", "/v1/trash"),
    .get("prepared frame", image),
    .get("frame with an unknown header", image, "X-Unknown: 1\r\n"),
    .get("range", image, "Range: bytes=0-99\r\n"), .get("several ranges", image, "Range: bytes=0-9,20-29\r\n"),
    .get("If-Modified-Since", image, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
    .get("If-None-Match", image, "If-None-Match: *\r\nX-Unknown: 1\r\n"),
    .get("If-Match", image, "If-Match: \"x\"\r\n"),
    Kind(name: "frame with a requestID") { Kind.head("GET", image + "&requestID=r\($0)") },
    Kind(name: "HEAD") { _ in Kind.head("HEAD", image, "X-Unknown: 1\r\n") },
    // The same picture by another target: the source is smaller than any of them.
    Kind(name: "distinct sizes") {
      Kind.head("GET", "/v1/assets/{}/image?targetSize=\(100 + $0 % 16_000)x\(100 + $0 / 16_000)")
    },
    Kind(name: "distinct frames", isSlow: true) { Kind.head("GET", "\(image)&quality=\(1 + $0 % 100)") },
    .get("render past the caches", image, "Cache-Control: no-cache\r\n", isSlow: true),
    .get("PNG", image + "&format=png", "X-Unknown: 1\r\n"),
    .get("fastFormat", image + "&deliveryMode=fastFormat"),
    .get("opportunistic, mixed", image + "&deliveryMode=opportunistic&multipart=mixed"),
    .get("opportunistic, replace", image + "&deliveryMode=opportunistic&multipart=replace"),
    .get(
      "opportunistic, rendered", image + "&deliveryMode=opportunistic&multipart=mixed", "Cache-Control: no-cache\r\n",
      isSlow: true),
    .get("frame, connection cut", image, "X-Unknown: 1\r\n", ending: .cut, isSlow: true),
    .get("render, connection cut", image, "Cache-Control: no-cache\r\n", ending: .cut, isSlow: true),
    .get(
      "opportunistic, connection cut", image + "&deliveryMode=opportunistic&multipart=mixed",
      "Cache-Control: no-cache\r\n", ending: .cutInTheMiddle, isSlow: true),
    .get("event stream, connection cut", "/v1/changes/stream", ending: .cutInTheMiddle, isSlow: true),
    Kind(name: "active requestID used again") {
      Kind.head("GET", image + "&requestID=twice\($0 / 2)", "Cache-Control: no-cache\r\n")
    },
    Kind(name: "batch", isSlow: true) { number in
      Kind.send(
        "POST", "/v1/images", #"{"assets": ["{}", "none"], "targetSize": "24x24", "quality": \#(1 + number % 2)}"#)
    },
    Kind(
      name: "fetch result, made and deleted",
      conversation: { daemon, _, _ in
        let made = try daemon.post("/v1/fetchResults", #"{"predicate": "isFavorite == NO"}"#)
        let id = try #require(made.json["id"] as? String)
        #expect(try daemon.get("/v1/fetchResults/\(id)/assets?range=0-3").status == 200)
        #expect(try daemon.get("/v1/fetchResults/\(id)", method: "DELETE").status == 204)
      }),
    Kind(
      name: "caching manager, made and deleted",
      conversation: { daemon, asset, _ in
        let made = try daemon.post("/v1/cachingManagers", "{}")
        let id = try #require(made.json["id"] as? String)
        let body = #"{"assets": ["\#(asset)"], "targetSize": "26x26"}"#
        #expect(try daemon.post("/v1/cachingManagers/\(id)/startCaching", body).status == 200)
        #expect(try daemon.get("/v1/cachingManagers/\(id)", method: "DELETE").status == 204)
      }),
    Kind(
      name: "render, cancelled by name",
      conversation: { daemon, asset, number in
        let target = image.replacing("{}", with: asset) + "&requestID=c\(number)"
        let descriptor = try daemon.connection()
        defer { close(descriptor) }
        let request = Array(Kind.head("GET", target, "Cache-Control: no-cache\r\nConnection: close\r\n").utf8)
        try #require(Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
        _ = try daemon.get("/v1/requests/c\(number)", method: "DELETE")
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while recv(descriptor, &chunk, chunk.count, 0) > 0 {}
      }),
    Kind(name: "window") { number in
      Kind.send(
        "PUT", "/v1/cachingManagers/default/window",
        #"{"assets": ["{}"], "visible": [0, 0], "targetSize": "\#(20 + number % 2)x20"}"#)
    },
    Kind(name: "start and stop caching") { number in
      Kind.send(
        "POST", "/v1/cachingManagers/default/\(number % 2 == 0 ? "start" : "stop")Caching",
        #"{"assets": ["{}"], "targetSize": "26x26"}"#)
    },
    Kind(name: "change list", isSlow: true) { number in
      Kind.send(
        "POST", "/v1/changes",
        #"{"changes": [{"type": "updateAsset", "asset": "{}", "isFavorite": \#(number % 2 == 0)}]}"#)
    },
    Kind(name: "signed URL") { _ in
      Kind.send(
        "POST", "/v1/signedURLs",
        #"{"path": "/v1/assets/{}/image?targetSize=24x24", "expires": "2100-01-01T00:00:00Z"}"#)
    },
    .get("404, no such resource", "/v1/nothing"), .get("404, no such asset", "/v1/assets/none/image?targetSize=24x24"),
    .get("404, version gone", image + "&v=none"), .get("400, unknown parameter", image + "&x=1"),
    Kind(name: "400, malformed body") { _ in Kind.send("POST", "/v1/changes", "{") },
    Kind(name: "405") { _ in Kind.head("DELETE", "/v1/assets") },
    Kind(name: "421, another host") { _ in "GET \(image) HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n" },
    .get("403, cross-site", "/v1/assets", "Sec-Fetch-Site: cross-site\r\nOrigin: http://elsewhere.example\r\n"),
    Kind(name: "401, unknown token") { _ in Kind.head("GET", image, "Authorization: Bearer none\r\n") },
    Kind(name: "DELETE of no request") { Kind.head("DELETE", "/v1/requests/none\($0)") },
  ]

  private static let shared: TestDaemon = {
    do {
      let daemon = try TestDaemon.ofCards(
        settings: """
          PHOTOD_SCAN_INTERVAL_SECONDS=0 PHOTOD_ACCESS_LOG=false PHOTOD_REQUESTS_RETAINED=64
          """)
      try useAllReaders(of: daemon)
      return daemon
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  /// Requests at the same time: each reader of the catalogue allocates its caches when it is first used, which happens
  /// only under load.
  private static func useAllReaders(of daemon: TestDaemon) throws {
    let clients = WaitingResponses()
    for client in 0..<16 {
      clients.begin(client) {
        for _ in 0..<50 { _ = try daemon.get("/v1/assets?limit=3") }
        return try daemon.get("/v1/assets?limit=3")
      }
    }
    #expect(try clients.wait().allSatisfy { $0.status == 200 })
  }

  @Test("no kind of request leaks memory", arguments: kinds)
  func slope(_ kind: Kind) throws {
    let daemon = Self.shared
    let asset = try daemon.identifier("0.jpg")
    let perRound = kind.isSlow && Self.perRound <= 250 ? Self.perRound / 2 : Self.perRound
    // Fills the caches and the list of finished requests.
    var number = 0
    try ask(kind, asset, from: &number, count: max(min(perRound, 1000), perRound / 5))
    let limit = Self.noiseBytes + Self.bytesPerRequest * perRound
    var bytes = [try allocatedBytes(daemon)]
    var growth = Int.max
    // A leak grows in every round; what threads keep for later stops to.
    for round in 0..<8 where round < 2 || growth > limit {
      try ask(kind, asset, from: &number, count: perRound)
      let now = try allocatedBytes(daemon)
      growth = min(growth, now - (bytes.last ?? now))
      bytes.append(now)
    }
    if ProcessInfo.processInfo.environment["PHOTOD_LEAK_REQUESTS"] != nil {
      let rounds = bytes.count - 1
      print(
        "\(kind.name): \(rounds * perRound) requests, \((bytes[rounds] - bytes[0]) / (rounds * perRound)) bytes each")
    }
    #expect(growth <= limit, "\(kind.name): \(bytes)")
  }

  /// The allocated bytes while no request is active.
  private func allocatedBytes(_ daemon: TestDaemon) throws -> Int {
    var last = Int.max
    for _ in 0..<200 {
      let active = try #require(try daemon.get("/v1/requests").json["requests"] as? [Any])
      let text = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
      let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("photod_allocated_bytes ") })
      let bytes = try #require(line.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) })
      if active.isEmpty, abs(bytes - last) < 4096 { return min(bytes, last) }
      last = bytes
    }
    return last
  }

  /// Sends requests, many to a connection, and reads every answer where the kind says so.
  private func ask(_ kind: Kind, _ asset: String, from number: inout Int, count: Int) throws {
    if let conversation = kind.conversation {
      for _ in 0..<count {
        try conversation(Self.shared, asset, number)
        number += 1
      }
      return
    }
    let perConnection = kind.ending == .whole ? 50 : 1
    var left = count
    while left > 0 {
      let batch = min(left, perConnection)
      var text = ""
      for _ in 0..<batch {
        text += kind.request(number).replacing("{}", with: asset)
        number += 1
      }
      left -= batch
      let descriptor = try Self.shared.connection()
      defer { close(descriptor) }
      if kind.ending == .whole { text += "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" }
      // Some 10 KB: the socket's buffers take them while the daemon's answers wait to be read.
      let bytes = Array(text.utf8)
      try #require(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
      guard kind.ending != .cut else { continue }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while recv(descriptor, &chunk, chunk.count, 0) > 0 { if kind.ending == .cutInTheMiddle { break } }
    }
  }
}
