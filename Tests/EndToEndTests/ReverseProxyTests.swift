import Foundation
import PhotoFixtures
import Testing

/// The guarantees of the sample nginx configuration, over TLS and real sockets.
@Suite(
  "The nginx sample in front of a daemon", .blocking,
  .enabled(if: ReverseProxy.isInstalled, "nginx, openssl or curl is not installed"))
struct ReverseProxyTests {
  static let versions = ["--http1.1", "--http2"]

  private static func fill(_ files: TestDaemon.Files) throws {
    for number in 1...2 {
      try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64 * number, height: 48)), "\(number).jpg")
    }
  }

  /// The URL of a frame with its version; without tokens, every caller may request it.
  private func frame(_ daemon: TestDaemon) throws -> String {
    let identifier = try daemon.identifier("1.jpg")
    let version = try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
    return "/v1/assets/\(identifier)/image?targetSize=40x40&v=\(version)"
  }

  private func upload(_ file: String, _ secret: String, _ fields: [String] = []) -> [String] {
    ["-X", "POST", "-T", file] + ([TestDaemon.bearer(secret)] + fields).flatMap { ["-H", $0] }
  }

  // MARK: Uploads

  @Test("a photo of 200 MB is uploaded without a temporary file", arguments: ReverseProxyTests.versions)
  func largeUpload(_ version: String) throws {
    let proxy = try ReverseProxy(arguments: ["--set", "upload.minimumFreeBytes=0"])
    let secret = try proxy.daemon.makeToken("read,write")
    let file = try proxy.file(UploadTests.picture(1), size: 200 << 20)
    let answer = try proxy.ask("/v1/assets?filename=a.jpg", upload(file, secret), version: version)
    #expect(answer.status == 201 && answer.json["fileSize"] as? Int == 200 << 20, "\(proxy.errors)")
    #expect(TestDaemon.files(in: proxy.daemon.library) == ["2021/07/a.jpg"])
  }

  @Test("photod's limits apply to bodies, not nginx's")
  func limits() throws {
    let proxy = try ReverseProxy(arguments: ["--set", "upload.fileBytes=5000000"])
    let secret = try proxy.daemon.makeToken("read,write")
    let form = ["-H", TestDaemon.bearer(secret)]
    let small = try proxy.file(UploadTests.picture(1), size: 4_000_000)
    let other = try proxy.file(UploadTests.picture(2), size: 4_000_000)
    let files = ["-F", "f=@\(small);filename=1.jpg", "-F", "f=@\(other);filename=2.jpg"]
    let both = try proxy.ask("/v1/assets", form + files)
    #expect(both.status == 201 && (both.json["results"] as? [Any])?.count == 2, "\(proxy.errors)")
    let tooLarge = try proxy.file(UploadTests.picture(3), size: 6_000_000)
    let large = try proxy.ask("/v1/assets", upload(tooLarge, secret))
    #expect(large.status == 413 && large.json["type"] as? String == "/problems/file-too-large")
    let zeros = try proxy.file([], size: 2 << 20)
    let list = try proxy.ask(
      "/v1/changes", form + ["-H", "Content-Type: application/json", "--data-binary", "@\(zeros)"])
    #expect(list.status == 413 && list["Content-Type"] == "application/problem+json")
  }

  @Test("an upload is refused before its body is complete")
  func earlyRefusal() throws {
    let proxy = try ReverseProxy(arguments: ["--set", "upload.fileBytes=1000000000"])
    let secret = try proxy.daemon.makeToken("read,write")
    let announced = try proxy.begin(
      "/v1/assets?x=1", [TestDaemon.bearer(secret), "Content-Length: 209715200"], String(repeating: "x", count: 2000))
    #expect(announced.status == 400 && announced.json["parameter"] as? String == "x")
    let file = try proxy.file(UploadTests.picture(1), size: 200 << 20)
    for version in Self.versions {
      let answer = try proxy.ask("/v1/assets?x=1", upload(file, secret), version: version)
      #expect(answer.status == 400 && answer.json["parameter"] as? String == "x", "\(version): \(proxy.errors)")
    }
  }

  @Test("photod receives an upload while the client is still sending it")
  func streamedUpload() throws {
    let proxy = try ReverseProxy(arguments: ["--set", "upload.fileBytes=1000"])
    let secret = try proxy.daemon.makeToken("read,write")
    // Only the body itself can say that it is too large.
    let answer = try proxy.begin(
      "/v1/assets", [TestDaemon.bearer(secret), "Transfer-Encoding: chunked"],
      "7D0\r\n" + String(repeating: "x", count: 2000) + "\r\n")
    #expect(answer.status == 413 && answer.json["type"] as? String == "/problems/file-too-large")
  }

  // MARK: Answers

  @Test("photod answers ranges and conditions, also of a frame that nginx has stored", arguments: [false, true])
  func ranges(_ isPublic: Bool) throws {
    let proxy = try ReverseProxy(Self.fill, arguments: ["--allow-anonymous", "--set", "cache.allowPublic=\(isPublic)"])
    let target = try frame(proxy.daemon)
    let whole = try proxy.ask(target)
    let tag = try #require(whole["ETag"])
    #expect(whole.status == 200)
    for version in Self.versions {
      func ask(_ arguments: [String]) throws -> TestDaemon.Response {
        try proxy.ask(target, arguments, version: version)
      }
      let part = try ask(["-r", "10-19"])
      #expect(part.status == 206 && part["Content-Range"] == "bytes 10-19/\(whole.body.count)")
      #expect(part.body == Array(whole.body[10...19]) && part["ETag"] == tag)
      let parts = try ask(["-r", "0-4,10-19"])
      #expect(parts.status == 206 && parts["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
      #expect(try ask(["-r", "0-4", "-H", "If-Range: \(tag)"]).status == 206)
      #expect(try ask(["-r", "0-4", "-H", "If-Range: \"other\""]).body == whole.body)
      let none = try ask(["-r", "9999999-"])
      #expect(none.status == 416 && none["Content-Range"] == "bytes */\(whole.body.count)")
      #expect(try ask(["-H", "If-None-Match: \(tag)"]).status == 304)
      #expect(try ask(["-H", "If-Match: \"other\""]).status == 412)
    }
    #expect(proxy.storedFiles.count == (isPublic ? 1 : 0))
  }

  @Test("an event reaches the client while the stream stays open", arguments: ReverseProxyTests.versions)
  func events(_ version: String) throws {
    let proxy = try ReverseProxy()
    let secret = try proxy.daemon.makeToken("read,write")
    let stream = try proxy.stream("/v1/changes/stream", ["-H", TestDaemon.bearer(secret)], version: version)
    #expect(stream.receive("id: "))
    let uploaded = try proxy.daemon.upload(UploadTests.picture(1), "", [TestDaemon.bearer(secret)])
    let identifier = try #require(uploaded.json["localIdentifier"] as? String)
    #expect(stream.receive(identifier), "\(proxy.errors)")
  }

  @Test("a response with a long Link field passes")
  func longLink() throws {
    let proxy = try ReverseProxy(Self.fill)
    let predicate = Array(repeating: "pixelWidth%20%3E%200", count: 200).joined(separator: "%20OR%20")
    let answer = try proxy.ask("/v1/assets?limit=1&predicate=\(predicate)")
    #expect(answer.status == 200 && (answer["Link"]?.utf8.count ?? 0) > 4096)
  }

  // MARK: Stored frames

  @Test("a private frame keeps its caching fields, and nginx doesn't store it")
  func privateFrame() throws {
    let proxy = try ReverseProxy(Self.fill)
    let target = try frame(proxy.daemon)
    let direct = try proxy.daemon.get(target)
    #expect(direct["Cache-Control"] == "private, max-age=31536000, immutable")
    for version in Self.versions {
      let answer = try proxy.ask(target, version: version)
      #expect(answer.status == 200 && answer.body == direct.body)
      for name in ["Cache-Control", "ETag", "Last-Modified", "Vary", "Accept-Ranges"] {
        #expect(answer[name] == direct[name], "\(name)")
      }
    }
    #expect(proxy.storedFiles.isEmpty)
    #expect(proxy.daemon.terminate() == 0)
    #expect(try proxy.ask(target).status == 502)
  }

  @Test("a public frame is served without photod once it was requested with its version; nothing else is")
  func publicFrame() throws {
    // With corsOrigins an answer has several Vary fields.
    let proxy = try ReverseProxy(
      Self.fill,
      arguments: ["--allow-anonymous", "--set", "cache.allowPublic=true", "--set", "corsOrigins=https://other.example"])
    let target = try frame(proxy.daemon)
    let first = try proxy.ask(target)
    #expect(first.status == 200 && first["Cache-Control"] == "public, max-age=31536000, immutable")
    let unversioned = try #require(target.components(separatedBy: "&v=").first)
    let others: [(target: String, arguments: [String])] = [
      (unversioned, []), (target + "&requestID=a", []), (target + "&deliveryMode=fastFormat", []),
      (target, ["-H", "Authorization: Basic dTpw"]), (target, ["-H", "Cookie: photod-session=x"]),
    ]
    for other in others { #expect(try proxy.ask(other.target, other.arguments).status == 200, "\(other)") }
    #expect(proxy.storedFiles.count == 1)
    // From here on only nginx can answer.
    #expect(proxy.daemon.terminate() == 0)
    for version in Self.versions {
      let second = try proxy.ask(target, version: version)
      #expect(second.status == 200 && second.body == first.body)
      for name in ["Cache-Control", "ETag", "Content-Type"] { #expect(second[name] == first[name], "\(name)") }
    }
    // These would be other pictures or other headers.
    let variants = ["Accept: image/png", "Origin: https://other.example", "Host: evil.example"]
    for other in others + variants.map({ (target: target, arguments: ["-H", $0]) }) {
      #expect(try proxy.ask(other.target, other.arguments).status == 502, "\(other)")
    }
  }

  // MARK: Callers

  @Test("a page served on another port than 443 may upload; a client can't name its own host")
  func sameOrigin() throws {
    let proxy = try ReverseProxy()
    let secret = try proxy.daemon.makeToken("read,write")
    let file = try proxy.file(UploadTests.picture(1), size: 4_000_000)
    let own = try proxy.ask("/v1/assets", upload(file, secret, ["Origin: \(ReverseProxy.origin)"]))
    #expect(own.status == 201, "\(proxy.errors)")
    for field in ["X-Forwarded-Host: evil.example", "Forwarded: host=evil.example"] {
      let evil = try proxy.ask("/v1/assets", upload(file, secret, ["Origin: https://evil.example", field]))
      #expect(evil.status == 403, "\(field)")
    }
  }

  @Test("plain HTTP is redirected to HTTPS")
  func redirect() throws {
    let answer = try ReverseProxy().askInTheClear("/v1/assets?limit=1")
    #expect(answer.status == 308 && answer["Location"] == "https://photos.example/v1/assets?limit=1")
  }
}
