import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

private enum Nginx {
  static let path = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// A shared cache: nginx, configured to store everything that it may for an hour.
@Suite("A shared cache in front of the daemon", .blocking, .enabled(if: Nginx.path != nil, "nginx is not installed"))
struct SharedCacheTests {
  /// nginx in front of a daemon, on a socket file of its own.
  ///
  /// `@unchecked Sendable` because its fields are constants, and `Process` is only ended, once.
  private final class Cache: @unchecked Sendable {
    private let folder: String
    private let process = Process()

    init(_ daemon: TestDaemon) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "photod-nginx-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
      let configuration = """
        daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/error; events { worker_connections 64; }
        http {
          access_log off; \(paths.joined(separator: " "))
          proxy_cache_path \(folder)/cache keys_zone=frames:1m;
          server {
            listen unix:\(folder)/socket;
            location / {
              proxy_pass http://127.0.0.1:\(daemon.port); proxy_http_version 1.1; proxy_set_header Connection "";
              proxy_set_header Host localhost; proxy_set_header X-Forwarded-For 203.0.113.9;
              proxy_cache frames; proxy_cache_valid any 1h; add_header X-Cache $upstream_cache_status always;
            }
          }
        }
        """
      try Data(configuration.utf8).write(to: URL(filePath: folder + "/nginx.conf"))
      process.executableURL = URL(filePath: try #require(Nginx.path))
      process.arguments = ["-p", folder, "-c", folder + "/nginx.conf", "-e", folder + "/error"]
      try process.run()
      try daemon.until("nginx listens") { (try? get("/healthz"))?.status == 200 }
    }

    deinit {
      // nginx inherits the blocked signals of the tests and ignores SIGTERM. SIGKILL is safe: it has no state to save.
      if process.isRunning {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      try? FileManager.default.removeItem(atPath: folder)
    }

    func get(_ target: String, _ fields: [String] = []) throws -> TestDaemon.Response {
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let path = Array("\(folder)/socket".utf8)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
      let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      struct NotThere: Error {}
      guard connected == 0 else { throw NotThere() }
      let lines = ["GET \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
      let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
      try #require(send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
      var (answer, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
      while true {
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        answer += chunk[..<count]
      }
      return try TestDaemon.parsed(answer)
    }
  }

  private static func daemon(_ arguments: [String]) throws -> TestDaemon {
    try TestDaemon(
      { files in
        for name in ["in", "out"] {
          try files.put(
            JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: name == "in" ? 48 : 32)), "\(name).jpg")
        }
      }, arguments: arguments)
  }

  private func targets(_ daemon: TestDaemon) throws -> (inside: [String], outside: [String]) {
    func targets(_ path: String) throws -> [String] {
      let identifier = try daemon.identifier(path)
      let version = try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
      let image = "/v1/assets/\(identifier)/image?targetSize=20x20"
      return [image, "\(image)&v=\(version)", "/v1/assets/\(identifier)", "/v1/assets/\(identifier)/metadata"]
    }
    return (try targets("in.jpg"), try targets("out.jpg"))
  }

  @Test(
    "a shared cache gives each client a format that it lists, before and after a smaller one replaces the first",
    .enabled(if: EncodedFormatTests.isBuilt))
  func formats() throws {
    let scene = Scene(seed: 4, grain: 2).pixels(width: 500, height: 400)
    let daemon = try TestDaemon(
      { try $0.put(JPEGFile { _ in }.encoded(scene), "a.jpg") },
      arguments: ["--allow-anonymous", "--set", "cache.allowPublic=true", "--set", "render.upgradePercent=100"])
    let cache = try Cache(daemon)
    let identifier = try daemon.identifier("a.jpg")
    let version = try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
    let target = "/v1/assets/\(identifier)/image?targetSize=400x400&v=\(version)"
    let modern = "Accept: image/avif,image/*,*/*;q=0.8"
    // nginx keeps the first answers for a year: of a class that gets a smaller one later, too.
    #expect(try cache.get(target, [modern])["Content-Type"] == "image/jpeg")
    #expect(try cache.get(target, ["Accept: image/jpeg"])["Content-Type"] == "image/jpeg")
    try daemon.until("the frame is replaced") {
      try daemon.get(target, [modern])["Content-Type"] == "image/avif"
    }
    let kept = try cache.get(target, [modern])
    #expect(kept["X-Cache"] == "HIT" && kept["Content-Type"] == "image/jpeg")
    // Another class of the same client program, and one that nginx has not seen.
    #expect(try cache.get(target, ["Accept: image/avif"])["Content-Type"] == "image/avif")
    for accept in ["*/*", "image/jpeg", "image/webp;q=0,image/*"] {
      #expect(try cache.get(target, ["Accept: \(accept)"])["Content-Type"] == "image/jpeg", "\(accept)")
    }
    // Without a version it asks each time: an old tag is not confirmed, so the smaller frame takes its place.
    let old = try #require(try daemon.get(target, ["Accept: image/jpeg"])["ETag"])
    let asked = try cache.get(
      "/v1/assets/\(identifier)/image?targetSize=400x400", [modern, "If-None-Match: \(old)"])
    #expect(asked.status == 200 && asked["Content-Type"] == "image/avif")
  }

  @Test("a shared cache never gives one caller's image to another, even if public images are allowed")
  func callers() throws {
    let daemon = try Self.daemon(["--set", "cache.allowPublic=true"])
    let (inside, outside) = try targets(daemon)
    try daemon.makeAlbum("album", title: "Holiday", ["in.jpg"])
    let limited = try daemon.makeToken("read", ["--limit-to", "album"])
    let full = try daemon.makeToken("read,location")
    let cookie = try #require(
      try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(full)"}"#)["Set-Cookie"]?.split(separator: ";").first)
    let signed = try #require(
      try daemon.ask(
        "POST", "/v1/signedURLs", [TestDaemon.bearer(full)], body: #"{"path": "\#(outside[1])"}"#
      ).json["url"] as? String)
    let cache = try Cache(daemon)
    for target in inside + outside {
      for fields in [[TestDaemon.bearer(full)], ["Cookie: \(cookie)"]] {
        for _ in 0..<2 {
          let answer = try cache.get(target, fields)
          #expect(answer.status == 200 && answer["X-Cache"] == "MISS", "\(target)")
          #expect(answer["Cache-Control"]?.contains("private") == true)
        }
      }
      for _ in 0..<2 {
        #expect(try cache.get(target).status == 401)
        #expect(try cache.get(target, [TestDaemon.bearer(limited)]).status == (outside.contains(target) ? 404 : 200))
        #expect(try cache.get(target, ["Authorization: Bearer \(limited)x"]).status != 200)
      }
    }
    for _ in 0..<2 {
      let answer = try cache.get(signed)
      #expect(answer.status == 200 && answer["X-Cache"] == "MISS")
    }
  }

  @Test(
    "a shared cache stores images that everyone may see if that is allowed, and otherwise nothing",
    arguments: [true, false])
  func publicPictures(_ isAllowed: Bool) throws {
    let daemon = try Self.daemon(["--allow-anonymous", "--set", "cache.allowPublic=\(isAllowed)"])
    let (inside, _) = try targets(daemon)
    let cache = try Cache(daemon)
    for (i, target) in inside.enumerated() {
      let first = try cache.get(target)
      let second = try cache.get(target)
      #expect(first.status == 200 && second.status == 200 && first["X-Cache"] == "MISS")
      // Without a version in the URL, the next caller may get another picture.
      let isKept = isAllowed && i == 1
      #expect(second["X-Cache"] == (isKept ? "HIT" : "MISS"), "\(target)")
      #expect(first["Cache-Control"]?.hasPrefix(isAllowed && i < 2 ? "public" : "private") == true, "\(target)")
    }
    // With tokens, nothing is public.
    let secret = try daemon.makeToken()
    let answer = try daemon.get(inside[1], [TestDaemon.bearer(secret)])
    #expect(answer.status == 200 && answer["Cache-Control"]?.hasPrefix("private") == true)
    #expect(try daemon.get(inside[1]).status == 401)
  }
}
