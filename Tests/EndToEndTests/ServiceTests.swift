import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("The service over real sockets", .blocking)
struct ServiceTests {
  private static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    try TestDaemon(
      { files in
        let exif = EXIFBlock {
          $0.latitude = 48.2082
          $0.longitude = 16.3738
          $0.dateTimeOriginal = "2024:05:06 07:08:09"
          $0.offsetTimeOriginal = "+02:00"
        }
        for i in 0..<5 {
          try files.put(
            JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: 48)), "folder/\(i).jpg")
        }
      }, arguments: arguments)
  }

  @Test("/healthz, /readyz and /openapi.json are served")
  func health() throws {
    let daemon = Self.shared
    #expect(try daemon.get("/healthz").status == 200)
    let ready = try daemon.get("/readyz")
    #expect(ready.status == 200 && ready.json["ready"] as? Bool == true)
    let scan = ready.json["firstScan"] as? [String: Any]
    #expect(scan?["complete"] as? Bool == true && scan?["indexed"] as? Int == 5)
    let health = try TestDaemon.run(["health", "--library", "/", "--listen", "127.0.0.1:\(daemon.port)"])
    #expect(health.status == 0)
    #expect(try TestDaemon.run(["health", "--listen", "127.0.0.1:1"]).status != 0)
  }

  @Test("assets are listed in pages and served one by one")
  func assets() throws {
    let daemon = Self.shared
    var next: String? = "/v1/assets?limit=2&count=true"
    var seen: [String] = []
    while let target = next {
      let page = try daemon.get(target)
      #expect(page.status == 200 && page.json["count"] as? Int == 5 && page.json["changeToken"] is String)
      let assets = try #require(page.json["assets"] as? [[String: Any]])
      seen += assets.compactMap { $0["localIdentifier"] as? String }
      next = page.json["next"] as? String
      #expect(page["Link"] == next.map { "<\($0)>; rel=\"next\"" })
    }
    #expect(Set(seen).count == 5)
    // A new placeholder changes the tag.
    _ = try daemon.assetsWithPlaceholders()
    let answer = try daemon.get("/v1/assets/\(seen[0])")
    let asset = answer.json
    #expect(asset["pixelWidth"] as? Int == 64 && asset["mediaType"] as? String == "image")
    #expect(
      asset["creationDate"] as? String == "2024-05-06T05:08:09Z" && asset["creationDateSource"] as? String == "metadata"
    )
    let place = asset["location"] as? [String: Any]
    #expect(abs((place?["latitude"] as? Double ?? 0) - 48.2082) < 1e-4)
    let tag = try #require(answer["ETag"])
    #expect(try daemon.get("/v1/assets/\(seen[0])", ["If-None-Match: \(tag)"]).status == 304)
  }

  @Test("a forwarded request gets no locations")
  func places() throws {
    let daemon = Self.shared
    let identifier = try daemon.identifier("folder/1.jpg")
    for field in ["X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.1", "Via: 1.1 proxy"] {
      let answer = try daemon.get("/v1/assets/\(identifier)", [field])
      #expect(answer.status == 200 && answer.json["location"] is NSNull)
      #expect(!String(decoding: try daemon.get("/v1/assets", [field]).raw, as: UTF8.self).contains("48.2"))
    }
  }

  @Test(
    "an invalid parameter is a 400 that names it",
    arguments: [
      ("image?targetsize=10x10", "targetsize"), ("image?targetSize=10", "targetSize"),
      ("image?targetSize=0x10", "targetSize"),
      ("image?targetSize=16385x1", "targetSize"), ("image?targetSize=-1x1", "targetSize"),
      ("image?targetSize=+1x1", "targetSize"),
      ("image?targetSize=1x1x1", "targetSize"), ("image?contentMode=fit", "contentMode"),
      ("image?resizeMode=Exact", "resizeMode"),
      ("image?deliveryMode=", "deliveryMode"), ("image?format=gif", "format"), ("image?quality=0", "quality"),
      ("image?quality=101", "quality"), ("image?quality=1e1", "quality"), ("image?multipart=both", "multipart"),
      ("image?version=newest", "version"), ("image?colorSpace=p3", "colorSpace"),
      ("image?networkAccessAllowed=yes", "networkAccessAllowed"),
      ("image?normalizedCropRect=0,0,1", "normalizedCropRect"),
      ("image?normalizedCropRect=0,0,2,1", "normalizedCropRect"),
      ("image?normalizedCropRect=nan,0,1,1", "normalizedCropRect"),
      ("image?normalizedCropRect=0,0,0x1p-1,1", "normalizedCropRect"),
      ("image?normalizedCropRect=0x0,0,1,1", "normalizedCropRect"),
      ("image?normalizedCropRect=0,0,0,1", "normalizedCropRect"),
      ("image?normalizedCropRect=0,0,1,1&resizeMode=fast", "normalizedCropRect"),
      ("image?quality=1&quality=2", "quality"),
      ("image?x", "x"),
    ])
  func mistakes(_ query: String, _ parameter: String) throws {
    let answer = try Self.shared.get("/v1/assets/any/\(query)")
    #expect(answer.status == 400 && answer["Content-Type"] == "application/problem+json")
    #expect(answer.json["parameter"] as? String == parameter)
    #expect((answer.json["detail"] as? String)?.isEmpty == false)
  }

  @Test(
    "invalid parameters of a list are refused by name",
    arguments: [
      ("limit=0", "limit"), ("limit=1001", "limit"), ("cursor=x", "cursor"), ("count=1", "count"),
      ("predicate=x", "predicate"),
    ])
  func listingMistakes(_ query: String, _ parameter: String) throws {
    let answer = try Self.shared.get("/v1/assets?\(query)")
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter)
  }

  @Test(
    "a cursor that the daemon did not issue is refused by every list",
    arguments: ["/v1/assets", "/v1/collections", "/v1/trash"])
  func foreignCursors(_ path: String) throws {
    for cursor in ["x", "AAAA", "1.x"] {
      let answer = try Self.shared.get("\(path)?cursor=\(cursor)")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == "cursor", "\(cursor)")
    }
    // A collection that does not exist is reported first.
    #expect(try Self.shared.get("/v1/collections/none/assets?cursor=x").status == 404)
    #expect(try Self.shared.get("/v1/collections/none/collections?cursor=x").status == 404)
  }

  /// One daemon for all tests that only read.
  private static let shared: TestDaemon = {
    do { return try daemon() } catch { fatalError("no daemon: \(error)") }
  }()

  @Test(
    "unknown resources are 404",
    arguments: [
      ("/v1/assets/none", 404, "asset-not-found"), ("/v1/assets/none/image", 404, "asset-not-found"),
      ("/nothing", 404, "not-found"), ("/gallery/nothing", 404, "not-found"),
      ("/v1/assets/x/image/y", 404, "not-found"),
    ])
  func missing(_ target: String, _ status: Int, _ type: String) throws {
    let answer = try Self.shared.get(target)
    #expect(answer.status == status && answer.json["type"] as? String == "/problems/\(type)")
  }

  @Test("an unsupported method is 405, with the allowed ones", arguments: ["POST", "DELETE", "PUT", "PATCH", "BREW"])
  func methods(_ method: String) throws {
    let answer = try Self.shared.get("/openapi.json", method: method)
    #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD, OPTIONS")
  }

  @Test(
    "an unknown host name is refused; addresses and loopback names are accepted",
    arguments: [
      ("evil.example", 421), ("localhost:80", 200), ("127.0.0.1", 200), ("[::1]:8080", 200), ("photos.localhost", 200),
      ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421),
    ])
  func hosts(_ host: String, _ status: Int) throws {
    let raw = try Self.shared.send("GET /healthz HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
    #expect(try TestDaemon.parsed(raw).status == status)
  }

  @Test("pipelined requests are answered in order")
  func pipelining() throws {
    let identifier = try Self.shared.identifier("folder/1.jpg")
    let raw = try Self.shared.send(
      "GET /v1/assets/\(identifier)/image?targetSize=20x20 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        + "HEAD /v1/assets HTTP/1.1\r\nHost: localhost\r\n\r\n"
        + "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    let text = String(decoding: raw, as: UTF8.self)
    let statuses = text.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
    #expect(statuses == ["200", "200", "200", "404"])
    #expect(text.contains("{\"status\":\"ok\"}"))
  }

  @Test("a request without space for its body is refused with Retry-After")
  func requestBufferBytes() throws {
    let daemon = try TestDaemon(arguments: ["--set", "http.requestBufferBytes=1392640"])
    let request =
      "POST /v1/fetchResults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      + "Expect: 100-continue\r\nContent-Length: 1048576\r\n\r\n"
    let first = try daemon.connection()
    defer { close(first) }
    send(first, request, request.utf8.count, 0)
    var bytes = [UInt8](repeating: 0, count: 100)
    try #require(recv(first, &bytes, bytes.count, 0) > 0)
    #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 100 "))
    let second = try TestDaemon.parsed(try daemon.send(request))
    #expect(second.status == 503 && second["Retry-After"] == "1" && second["Connection"] == "close")
    #expect(second.json["type"] as? String == "/problems/overloaded")
    #expect(try daemon.get("/healthz").status == 200)
    let refused = try TestDaemon.run(["serve", "--library", "/", "--set", "http.requestBufferBytes=1048576"])
    #expect(refused.status != 0 && refused.error.contains("http.requestBufferBytes"))
  }

  @Test("a body is not requested from a caller without the credential that the request needs")
  func unauthenticatedBody() throws {
    let daemon = try TestDaemon()
    let secret = try daemon.makeToken("read")
    func answer(_ fields: String) throws -> String {
      let descriptor = try daemon.connection()
      defer { close(descriptor) }
      let request =
        "POST /v1/fetchResults HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Expect: 100-continue\r\nContent-Length: 1048576\r\n\(fields)\r\n"
      send(descriptor, request, request.utf8.count, 0)
      var bytes = [UInt8](repeating: 0, count: 12)
      try #require(recv(descriptor, &bytes, bytes.count, Int32(MSG_WAITALL)) == bytes.count)
      return String(decoding: bytes, as: UTF8.self)
    }
    #expect(try answer("") == "HTTP/1.1 401")
    #expect(try answer("Authorization: Bearer wrong\r\n") == "HTTP/1.1 401")
    #expect(try answer("Authorization: Bearer \(secret)\r\n") == "HTTP/1.1 100")
  }

  @Test("a client that has shut down its sending side still gets its image", arguments: ["1.0", "1.1"])
  func halfClosed(_ version: String) throws {
    let identifier = try Self.shared.identifier("folder/1.jpg")
    let raw = try Self.shared.send(
      "GET /v1/assets/\(identifier)/image?targetSize=20x20 HTTP/\(version)\r\nHost: localhost\r\n\r\n",
      clientShutdown: .atOnce)
    let text = String(decoding: raw, as: UTF8.self)
    #expect(text.contains("HTTP/1.1 200 OK"))
  }

  @Test("a response larger than the socket buffers reaches a client that has shut down its sending side")
  func halfClosedAndLarge() throws {
    let daemon = try TestDaemon { files in
      try files.put(
        PNGFile(.rgb(depth: 8)).encoded(Scene(seed: 1, grain: 80).pixels(width: 2600, height: 2000)), "a.png")
    }
    let identifier = try daemon.identifier("a.png")
    let raw = try daemon.send(
      "GET /v1/assets/\(identifier)/image?format=png HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      clientShutdown: .afterTheFirstBytes)
    let start = try #require(raw.firstRange(of: Array("HTTP/1.1 200".utf8))).lowerBound
    let answer = try TestDaemon.parsed(Array(raw[start...]))
    #expect(answer.body.count > 9_000_000)
  }

  @Test("a batch whose client shuts down its sending side during the response is complete", arguments: ["1.0", "1.1"])
  func halfClosedBatch(_ version: String) throws {
    let daemon = try TestDaemon.ofCards(8)
    let identifiers = try (0..<8).map { "\"\(try daemon.identifier("\($0).jpg"))\"" }
    let body = "{\"assets\": [\(identifiers.joined(separator: ","))], \"targetSize\": \"23x23\"}"
    let raw = try daemon.send(
      "POST /v1/images HTTP/\(version)\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)", clientShutdown: .afterTheFirstBytes)
    #expect(try Multipart(TestDaemon.parsed(raw)).parts.count == 8)
  }

  @Test("all requests before a client's shutdown are answered")
  func halfClosedPipeline() throws {
    let identifier = try Self.shared.identifier("folder/1.jpg")
    let image = "GET /v1/assets/\(identifier)/image?targetSize=20x20 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    let raw = try Self.shared.send(image + image + image, clientShutdown: .atOnce)
    #expect(String(decoding: raw, as: UTF8.self).components(separatedBy: "HTTP/1.1 200").count == 4)
  }

  @Test("a refused client that continues to send still gets the response")
  func lingering() throws {
    let body = String(repeating: "x", count: 3_000_000)
    let raw = try Self.shared.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" + body)
    #expect(try TestDaemon.parsed(raw).status == 413)
  }

  @Test("an extreme date in a condition does no harm", arguments: ["If-Modified-Since", "If-Unmodified-Since"])
  func absurdDate(_ field: String) throws {
    let answer = try Self.shared.get("/openapi.json", ["\(field): Sun, 06 Nov 9223372036854775807 08:49:37 GMT"])
    #expect(answer.status == 200)
  }

  @Test("connections per address are limited, and a closed one makes room")
  func connectionsPerAddress() throws {
    let daemon = try Self.daemon(["--set", "http.connectionsPerAddress=1"])
    for _ in 0..<5 { #expect(try daemon.get("/healthz").status == 200) }
  }

  @Test("a forwarded request never counts as local")
  func proxy() throws {
    let daemon = try Self.daemon(["--set", "trustedProxies=127.0.0.1"])
    let identifier = try daemon.identifier("folder/1.jpg")
    #expect(try daemon.get("/v1/assets/\(identifier)").json["location"] is NSNull)
  }

  @Test(
    "a malformed request gets an error status and a closed connection",
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", 400, nil), ("nonsense\r\n\r\n", 400, nil),
      ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505, nil),
      (
        "GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414, "http.requestLineBytes"
      ),
      (
        "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "a: b\r\n", count: 200))\r\n", 431, "http.headerFields"
      ),
      (
        "GET / HTTP/1.1\r\nHost: a\r\na: \(String(repeating: "a", count: 40_000))\r\n\r\n", 431, "http.headerBytes"
      ),
      ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", 413, "http.bodyBytes"),
    ] as [(String, Int, String?)])
  func malformed(_ message: String, _ status: Int, _ setting: String?) throws {
    let answer = try TestDaemon.parsed(try Self.shared.send(message))
    #expect(
      answer.status == status && answer["Connection"] == "close" && answer["Content-Type"] == "application/problem+json"
    )
    if let setting {
      let detail = try #require(answer.json["detail"] as? String)
      #expect(detail.hasSuffix(" The limit is the setting \(setting)."))
    }
  }

  @Test("the daemon refuses to listen beyond loopback without tokens or --allow-anonymous")
  func loopbackOnly() throws {
    let folders = try TestDaemon.Folders()
    let refused = try TestDaemon.run([
      "serve", "--library", folders.library, "--data", folders.data, "--listen", "0.0.0.0:0",
    ])
    #expect(refused.status != 0 && refused.error.contains("--allow-anonymous"))
  }

  @Test("a standard stream that is closed at the start is taken by no socket and by no file of the daemon")
  func closedStreams() throws {
    let daemon = try TestDaemon(launcher: "exec \"$@\" <&- 2>&-")
    #expect(try daemon.get("/healthz").status == 200)
    for stream in [STDIN_FILENO, STDERR_FILENO] { #expect(try daemon.descriptor(stream) == "/dev/null") }
  }

  @Test("the daemon exits with 0 on SIGTERM")
  func termination() throws {
    let daemon = try Self.daemon()
    #expect(try daemon.get("/healthz").status == 200)
    #expect(daemon.terminate() == 0)
  }

  @Test("photod render writes one image and prints its plan")
  func renderCommand() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-render-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = TestDaemon.Files(root: folder)
    try files.put(
      JPEGFile { $0.exif = EXIFBlock { $0.orientation = 6 } }.encoded(Pixels.orientationCard(width: 640, height: 480)),
      "in.jpg")
    let run = try TestDaemon.run([
      "render", folder + "/in.jpg", "--target-size", "100x100", "-o", folder + "/out.png", "--explain",
      "--color-space", "srgb",
    ])
    #expect(run.status == 0 && run.output.isEmpty)
    let plan = try JSONSerialization.jsonObject(with: Data(run.error.utf8)) as? [String: Any]
    #expect(plan?["orientation"] as? Int == 6 && plan?["peakBytes"] is Int && plan?["dctScale"] as? String == "2/8")
    let bytes = [UInt8](try #require(FileManager.default.contents(atPath: folder + "/out.png")))
    let picture = try #require(Pixels.decoded(bytes)).pixels
    #expect(picture.width == 75 && picture.height == 100)
    #expect((plan?["planes"] as? [Any])?.isEmpty == true && plan?["hasAlpha"] as? Bool == false)
    let planar = try TestDaemon.run([
      "render", folder + "/in.jpg", "--target-size", "100x100", "-o", folder + "/out.jpg", "--explain",
    ])
    let planarPlan = try JSONSerialization.jsonObject(with: Data(planar.error.utf8)) as? [String: Any]
    let planes = planarPlan?["planes"] as? [[String: [String: Int]]]
    #expect(planes?.compactMap { $0["output"]?["width"] } == [100, 50, 50])
    let refused = try TestDaemon.run(["render", folder + "/none.jpg", "-o", folder + "/none.png"])
    #expect(refused.status != 0 && refused.error.contains("No such file"))
    #expect(!FileManager.default.fileExists(atPath: folder + "/none.png"))
    let noFolder = try TestDaemon.run(["render", folder + "/in.jpg", "-o", folder + "/none/out.png"])
    #expect(noFolder.error == "Error: \(folder)/none/out.png: No such file or directory\n")
  }

  @Test("an invalid setting is named, and flags override the environment, which overrides the file")
  func settings() throws {
    // Of this test's own: another version may have left a catalogue of its own anywhere else.
    let data = FileManager.default.temporaryDirectory.path + "/photod-settings-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: data) }
    for (arguments, environment, word) in [
      (["--set", "nonsense=1"], [:], "nonsense"), (["--set", "http.headerBytes=many"], [:], "http.headerBytes"),
      ([], ["PHOTOD_SCAN_INTERVAL_SECONDS": "-1"], "scan.intervalSeconds"), (["--log-level", "loud"], [:], "logLevel"),
      (["--config", "/nowhere.json"], [:], "/nowhere.json"), (["--set", "timeZone=Mars/Olympus"], [:], "Mars/Olympus"),
    ] as [([String], [String: String], String)] {
      let run = try TestDaemon.run(
        ["scan", "--library", "/tmp", "--data", data] + arguments, environment: environment)
      #expect(run.status != 0 && run.error.contains(word), "\(run.error)")
      #expect(!run.error.contains("Usage"), "\(run.error)")
    }
  }
}
