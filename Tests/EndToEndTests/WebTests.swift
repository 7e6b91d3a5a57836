import Foundation
import HTTPCore
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Origins, proxies and service managers", .blocking)
struct WebTests {
  private static func daemon(_ settings: [String] = [], launcher: String = "exec \"$@\"") throws -> TestDaemon {
    try TestDaemon(
      { files in
        for i in 0..<4 {
          try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48)), "\(i).jpg")
        }
      }, arguments: settings.flatMap { ["--set", $0] }, launcher: launcher)
  }

  private static let plain: TestDaemon = {
    do { return try daemon() } catch { fatalError("no daemon: \(error)") }
  }()
  private static let open: TestDaemon = {
    do { return try daemon(["corsOrigins=https://photos.example,http://localhost:3000"]) } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  // MARK: Other sites

  @Test(
    "only the daemon's own pages and clients without an origin may change something",
    arguments: [
      ([], 405), (["Origin: http://localhost"], 405), (["Origin: https://localhost"], 405),
      (["Origin: http://localhost:80"], 405), (["Sec-Fetch-Site: same-origin"], 405), (["Sec-Fetch-Site: none"], 405),
      (["Origin: http://evil.example"], 403), (["Origin: null"], 403), (["Origin: http://localhost:8080"], 403),
      (["Origin: http://localhost.evil.example"], 403), (["Sec-Fetch-Site: cross-site"], 403),
      (["Origin: http://localhost", "Sec-Fetch-Site: cross-site"], 403), (["Origin: file://"], 403),
    ])
  func unsafeMethods(_ fields: [String], _ status: Int) throws {
    for method in ["POST", "DELETE"] {
      let answer = try Self.plain.get("/openapi.json", fields, method: method)
      #expect(answer.status == status)
      if status == 403 { #expect(answer.json["type"] as? String == "/problems/cross-site-request") }
    }
    #expect(try Self.plain.get("/openapi.json", fields).status == 200, "reading is not changing")
  }

  @Test("a configured origin may read and others may not, and no response reveals another origin")
  func origins() throws {
    let identifier = try Self.open.identifier("1.jpg")
    for target in ["/v1/assets", "/v1/assets/\(identifier)/image?targetSize=30x30", "/nothing"] {
      for _ in 0..<3 {
        let allowed = try Self.open.get(target, ["Origin: https://photos.example"])
        #expect(allowed["Access-Control-Allow-Origin"] == "https://photos.example")
        #expect(allowed["Timing-Allow-Origin"] == "https://photos.example")
        #expect(allowed["Access-Control-Expose-Headers"]?.contains("Image-Result") == true)
        #expect(allowed["Cross-Origin-Resource-Policy"] == "cross-origin")
        let other = try Self.open.get(target, ["Origin: http://localhost:3000"])
        #expect(other["Access-Control-Allow-Origin"] == "http://localhost:3000")
        for fields in [["Origin: https://evil.example"], []] {
          let refused = try Self.open.get(target, fields)
          #expect(refused["Access-Control-Allow-Origin"] == nil && refused["Timing-Allow-Origin"] == nil)
          #expect(refused["Cross-Origin-Resource-Policy"] == "same-origin")
          #expect(String(decoding: refused.raw, as: UTF8.self).contains("Vary: Origin\r\n"))
        }
      }
    }
    let without = try Self.plain.get("/v1/assets", ["Origin: https://photos.example"])
    #expect(without["Access-Control-Allow-Origin"] == nil && without["Cross-Origin-Resource-Policy"] == "same-origin")
  }

  @Test("a preflight of a configured origin is answered; of another origin it is a plain OPTIONS")
  func preflight() throws {
    let fields = ["Access-Control-Request-Method: GET", "Access-Control-Request-Headers: range"]
    let allowed = try Self.open.get("/openapi.json", ["Origin: https://photos.example"] + fields, method: "OPTIONS")
    #expect(allowed.status == 204 && allowed["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS")
    #expect(allowed["Access-Control-Allow-Headers"]?.contains("Range") == true)
    #expect(allowed["Access-Control-Max-Age"] != nil && allowed["Allow"] == "GET, HEAD, OPTIONS")
    let refused = try Self.open.get("/openapi.json", ["Origin: https://evil.example"] + fields, method: "OPTIONS")
    #expect(refused.status == 204 && refused["Access-Control-Allow-Methods"] == nil)
    let change = try Self.open.get(
      "/openapi.json", ["Origin: https://photos.example", "Sec-Fetch-Site: cross-site"], method: "POST")
    #expect(change.status == 403, "a configured origin may read")
  }

  @Test("a page of a configured origin may send every field that photod reads and that browsers let pages set")
  func allowedHeaders() throws {
    // Those that only browsers and proxies set, and Accept, which needs no permission.
    let others: Set<HeaderName> = [
      .other, .accept, .acceptEncoding, .connection, .contentLength, .expect, .forwarded, .host, .origin,
      .transferEncoding, .via, .cookie, .accessControlRequestHeaders, .accessControlRequestMethod,
      .accessControlRequestPrivateNetwork, .secFetchDest, .secFetchMode, .secFetchSite, .xForwardedFor,
      .xForwardedHost, .xForwardedProto, .xRealIP,
    ]
    let answer = try Self.open.get(
      "/v1/assets", ["Origin: https://photos.example", "Access-Control-Request-Method: GET"], method: "OPTIONS")
    let list = try #require(answer["Access-Control-Allow-Headers"])
    let allowed = Set(list.components(separatedBy: ", ").map { $0.lowercased() })
    #expect(allowed == Set(HeaderName.allCases.filter { !others.contains($0) }.map { "\($0.text)" }))
  }

  @Test("OPTIONS lists the methods of the server and of a resource", arguments: ["*", "/openapi.json", "/healthz"])
  func options(_ target: String) throws {
    let answer = try Self.plain.get(target, method: "OPTIONS")
    #expect(answer.status == 204 && answer["Allow"] == "GET, HEAD, OPTIONS" && answer.body.isEmpty)
    #expect(answer["Content-Length"] == nil)
  }

  // MARK: gzip

  @Test(
    "compressed JSON has its own entity tag, and conditions compare the right one",
    arguments: ["/v1/assets", "/openapi.json"])
  func gzip(_ target: String) throws {
    // A new placeholder changes the tag.
    _ = try Self.plain.assetsWithPlaceholders()
    let plain = try Self.plain.get(target)
    let packed = try Self.plain.get(target, ["Accept-Encoding: br, gzip"])
    let (tag, packedTag) = (try #require(plain["ETag"]), try #require(packed["ETag"]))
    #expect(packed["Content-Encoding"] == "gzip" && plain["Content-Encoding"] == nil)
    #expect(packed["Vary"] == "Accept-Encoding" && plain["Vary"] == "Accept-Encoding")
    #expect(tag != packedTag && packed.body.count < plain.body.count / 2)
    #expect(try runToEnd("/usr/bin/env", ["gzip", "-dc"], input: packed.body).output == plain.body)
    for (fields, status) in [
      (["If-None-Match: \(packedTag)", "Accept-Encoding: gzip"], 304), (["If-None-Match: \(packedTag)"], 200),
      (["If-None-Match: \(tag)", "Accept-Encoding: gzip"], 200), (["If-None-Match: \(tag)"], 304),
      (["If-Match: \(tag)", "Accept-Encoding: gzip"], 412),
    ] {
      let answer = try Self.plain.get(target, fields)
      #expect(answer.status == status, "\(fields)")
      if status == 304 { #expect(answer["Vary"] == "Accept-Encoding" && answer["ETag"] != nil) }
    }
    #expect(try Self.plain.get(target, ["Accept-Encoding: gzip;q=0"])["Content-Encoding"] == nil)
    let head = try Self.plain.get(target, ["Accept-Encoding: gzip"], method: "HEAD")
    #expect(head["Content-Length"] == packed["Content-Length"] && head["ETag"] == packedTag)
  }

  // MARK: Proxies

  @Test(
    "the forwarded host of a trusted proxy is used, and that of others is ignored",
    arguments: ["X-Forwarded-Host: evil.example", "Forwarded: for=1.2.3.4;host=\"evil.example\";proto=https"])
  func forwardedHost(_ field: String) throws {
    let behind = try Self.daemon(["trustedProxies=10.0.0.0/8,127.0.0.1", "allowedHosts=photos.example"])
    #expect(try behind.get("/healthz", [field]).status == 421)
    #expect(try behind.get("/healthz", [field.replacingOccurrences(of: "evil", with: "photos")]).status == 200)
    #expect(try Self.plain.get("/healthz", [field]).status == 200)
    let elsewhere = try Self.daemon(["trustedProxies=10.0.0.0/8"])
    #expect(try elsewhere.get("/healthz", [field]).status == 200)
  }

  @Test("a forwarded host that is not a host is refused like an unknown one")
  func malformedForwardedHost() throws {
    let behind = try Self.daemon(["trustedProxies=127.0.0.1"])
    for (host, status) in [
      ("localhost:80@evil.example", 421), ("[x]@evil.example", 421), ("localhost:80/x?", 421), ("[evil]", 421),
      ("+1.2.3.4", 421), ("1.2.3", 421), ("localhost:80", 200), ("[::1]:80", 200), ("1.2.3.4", 200),
      ("[fe80::1%25eth0]:80", 200), ("[fe80::1%eth0]", 200), ("[evil%25eth0]", 421), ("[%25eth0]", 421),
    ] {
      for field in ["X-Forwarded-Host: \(host)", "Forwarded: host=\"\(host)\""] {
        #expect(try behind.get("/healthz", [field]).status == status, "\(field)")
      }
    }
  }

  @Test("an invalid proxy address is refused at startup")
  func malformedProxy() throws {
    for text in ["10.0.0.0/33", "photos.example", "::1/129", "unix:/x"] {
      let run = try TestDaemon.run([
        "serve", "--library", "/tmp", "--data", "/tmp/photod-unused", "--set", "trustedProxies=\(text)",
      ])
      #expect(run.status != 0 && run.error.contains(text))
    }
  }

  // MARK: Listening

  @Test("the daemon listens on IPv4, IPv6 and a socket file at once, and removes the file when it ends")
  func listeners() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString).sock").path
    let daemon = try TestDaemon(arguments: ["--listen", "[::1]:0", "--listen", "unix:\(path)"])
    #expect(try daemon.get("/healthz").status == 200)
    try TestDaemon.succeed(["health", "--library", "/", "--listen", "unix:\(path)"])
    #expect(daemon.terminate() == 0)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("a file that is not a socket stays at the path of a socket, at the start and at the end")
  func foreignFile() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString).sock").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let photograph = Data("a photograph".utf8)
    try photograph.write(to: URL(filePath: path))
    let folders = try TestDaemon.Folders()
    let refused = try TestDaemon.run([
      "serve", "--library", folders.library, "--data", folders.data, "--listen", "unix:\(path)",
    ])
    #expect(refused.status != 0 && refused.error.contains("\(path): there is a file that is not a socket"))
    #expect(try Data(contentsOf: URL(filePath: path)) == photograph)
    try FileManager.default.removeItem(atPath: path)
    let daemon = try TestDaemon(arguments: ["--listen", "unix:\(path)"])
    try FileManager.default.removeItem(atPath: path)
    try photograph.write(to: URL(filePath: path))
    #expect(daemon.terminate() == 0)
    #expect(try Data(contentsOf: URL(filePath: path)) == photograph)
  }

  @Test("a daemon that ends leaves the socket of another daemon that took its path")
  func takenPath() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString).sock").path
    let first = try TestDaemon(arguments: ["--listen", "unix:\(path)"])
    try FileManager.default.removeItem(atPath: path)
    let second = try TestDaemon(arguments: ["--listen", "unix:\(path)"])
    #expect(first.terminate() == 0)
    try TestDaemon.succeed(["health", "--library", "/", "--listen", "unix:\(path)"])
    #expect(second.terminate() == 0)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("sockets passed by a service manager are served, and it is notified of readiness")
  func socketActivation() throws {
    let script = """
      import os, socket, subprocess, sys, tempfile, time
      folder = tempfile.mkdtemp()
      os.mkdir(folder + "/library")
      notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
      notify.bind(folder + "/notify")
      listener = socket.socket()
      listener.bind(("127.0.0.1", 0))
      listener.listen()
      def child():
          os.dup2(listener.fileno(), 3)
          os.environ["LISTEN_PID"] = str(os.getpid())
      environment = dict(os.environ, LISTEN_FDS="1", NOTIFY_SOCKET=folder + "/notify")
      # LISTEN_PID is the daemon's own, which a shell knows once it has become the daemon.
      daemon = subprocess.Popen(
          ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", sys.argv[1], "serve", "--library", folder + "/library",
           "--data", folder + "/data"], env=environment, preexec_fn=child, close_fds=False, stdout=subprocess.DEVNULL,
          stderr=subprocess.DEVNULL)
      notify.settimeout(30)
      assert notify.recv(500).startswith(b"READY=1\\nSTATUS=")
      client = socket.create_connection(listener.getsockname())
      client.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: a.localhost\\r\\nConnection: close\\r\\n\\r\\n")
      assert client.recv(100).startswith(b"HTTP/1.1 200")
      daemon.terminate()
      while not notify.recv(500).startswith(b"STOPPING=1\\n"): pass
      assert daemon.wait(30) == 0
      print("served")
      """
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, TestDaemon.binary]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    #expect(String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) == "served\n")
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test(
    "connections leave descriptors to lists, originals, pictures and uploads, and the log says how many there may be")
  func descriptors() throws {
    let log = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString).log").path
    defer { try? FileManager.default.removeItem(atPath: log) }
    // Sixty-two: six for held files and the rest for 44 connections. And what these settings need besides.
    let daemon = try Self.daemon(
      ["render.workers=1", "decoders.workers=1", "http.eventLoops=1"],
      launcher: "ulimit -n 300; exec \"$@\" 2>'\(log)'")
    let identifier = try daemon.identifier("1.jpg")
    // The kernel queues those that are not accepted.
    let connections = try (0..<280).map { _ in try daemon.connection() }
    defer { for connection in connections { close(connection) } }
    func status(_ index: Int, _ requestLine: String, _ body: [UInt8] = []) throws -> Int {
      let head =
        "\(requestLine) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n"
      let request = Array(head.utf8) + body
      try #require(send(connections[index], request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
      var answer: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(connections[index], &chunk, chunk.count, 0)
        guard count > 0 else { break }
        answer += chunk[..<count]
      }
      return try TestDaemon.parsed(answer).status
    }
    #expect(try status(0, "GET /v1/assets") == 200)
    #expect(try status(1, "GET /v1/assets/\(identifier)/data") == 200)
    #expect(try status(2, "GET /v1/assets/\(identifier)/image?targetSize=33x33") == 200)
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 80, height: 48))
    #expect(try status(3, "POST /v1/assets?filename=new.jpg", picture) == 201)
    #expect(try String(contentsOfFile: log, encoding: .utf8).contains("connections=44"))
  }

  @Test("a limit of descriptors without room for connections is refused at the start")
  func tooFewDescriptors() throws {
    let folders = try TestDaemon.Folders()
    let run = try TestDaemon.run(
      ["serve", "--library", folders.library, "--data", folders.data, "--listen", "127.0.0.1:0"],
      inShell: "ulimit -n 100; exec \"$@\"")
    #expect(run.status != 0 && run.error.contains("the limit of 100 open files is too low"), "\(run.error)")
  }
}
