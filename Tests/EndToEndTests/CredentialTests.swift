import Foundation
import Logging
import PhotoFixtures
import Testing

/// Tokens and sessions over real sockets.
@Suite("Credentials", .blocking)
struct CredentialTests {
  private static let photo = JPEGFile {
    $0.exif = EXIFBlock {
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      ($0.latitude, $0.longitude) = (47.51, 12.08)
    }
  }

  static func daemon(
    _ arguments: [String] = [], launcher: String = "exec \"$@\""
  ) throws -> (daemon: TestDaemon, inside: String, outside: String) {
    let daemon = try TestDaemon(
      { files in
        for (i, name) in ["a", "b", "out"].enumerated() {
          try files.put(photo.encoded(Pixels.orientationCard(width: 64, height: 32 + 4 * i)), "\(name).jpg")
        }
      }, arguments: arguments, launcher: launcher)
    let (inside, outside) = (try daemon.identifier("a.jpg"), try daemon.identifier("out.jpg"))
    try daemon.makeAlbum("album", title: "Holiday", ["a.jpg", "b.jpg"])
    return (daemon, inside, outside)
  }

  static func sign(_ daemon: TestDaemon, _ secret: String, _ path: String) throws -> String {
    let answer = try daemon.ask(
      "POST", "/v1/signedURLs", [TestDaemon.bearer(secret)], body: #"{"path": "\#(path)"}"#)
    #expect(answer.status == 201 && answer["Cache-Control"] == "no-store")
    #expect(answer.json["expires"] is String)
    return try #require(answer.json["url"] as? String)
  }

  // MARK: Tokens

  @Test("tokens are created and revoked while the daemon runs, and are listed with their properties")
  func tokens() throws {
    let (daemon, _, _) = try Self.daemon()
    let local = try daemon.get("/v1/authorization").json
    #expect(local["status"] as? String == "authorized" && local["timeZone"] as? String == "UTC")
    #expect((try daemon.get("/readyz").json["firstScan"] as? [String: Any])?["indexed"] as? Int == 3)
    let limited = try daemon.makeToken(
      "read,location", ["--limit-to", "Holiday", "--expires", "90d", "--name", "gallery"])
    let state = try daemon.authorization(limited)
    #expect(state["status"] as? String == "limited" && state["scopes"] as? [String] == ["read", "location"])
    #expect(state["collections"] as? [String] == ["album"] && state["expires"] is String)
    let unknown = try daemon.get("/v1/authorization").json
    #expect(unknown["status"] as? String == "notDetermined" && unknown["timeZone"] is NSNull)
    #expect(try daemon.get("/v1/assets").status == 401)
    #expect(try daemon.get("/healthz").status == 200)
    let ready = try daemon.get("/readyz")
    #expect(ready.status == 200)
    #expect((ready.json["firstScan"] as? [String: Any])?.keys.sorted() == ["complete"])
    let writer = try daemon.makeToken("add")
    let adding = try daemon.authorization(writer)
    #expect(adding["status"] as? String == "authorized" && adding["scopes"] as? [String] == ["add"])
    let changer = try daemon.authorization(daemon.makeToken("read,write", ["--expires", "1d"]))
    #expect(changer["scopes"] as? [String] == ["read", "add", "write"], "write includes add")
    let admin = try daemon.authorization(daemon.makeToken("admin", ["--expires", "1d"]))
    #expect(admin["status"] as? String == "restricted")
    let listed = try daemon.token(["list", "--json"])
    #expect(!listed.contains(limited) && !listed.contains(writer) && listed.contains("gallery"))
    #expect(try daemon.token(["list"]).split(separator: "\n").count == 5)
    _ = try daemon.token(["revoke", "gallery"])
    try daemon.until("it is revoked") { try daemon.authorization(limited)["status"] as? String == "denied" }
    #expect(try daemon.get("/v1/assets", [TestDaemon.bearer(limited)]).status == 401)
    #expect(try daemon.get("/v1/assets").status == 401)
  }

  @Test("token commands report errors, and print only the token to a pipe")
  func commandLine() throws {
    let (daemon, inside, _) = try Self.daemon()
    let common = ["--library", daemon.library, "--data", daemon.data]
    for (arguments, complaint) in [
      (["create", "--scope", "root"], "root"), (["create", "--limit-to", "Nowhere"], "Nowhere"),
      (["create", "--expires", "soon"], "soon"), (["create", "--expires", "2001-01-01T00:00:00Z"], "future"),
      (["create", "--expires", "1000000y"], "before the year 10000"),
      (["revoke", "nobody"], "nobody"), (["sign", "/v1/assets"], "image"),
      (["sign", "/v1/assets/none/image"], "asset"),
      (["sign", "/v1/assets/\(inside)/image?targetsize=1"], "no parameter"),
      (["sign", "/v1/assets/\(inside)/image", "--expires", "99y"], "signedURLLifetimeSeconds"),
      (["create", "--limit-to", try Self.smartAlbum(daemon)], "album"),
    ] {
      let run = try TestDaemon.run(["token", arguments[0]] + common + arguments.dropFirst())
      #expect(run.status != 0 && run.error.contains(complaint) && run.output.isEmpty, "\(arguments): \(run.error)")
    }
    let run = try TestDaemon.run(["token", "create"] + common + ["--limit-to", "album", "--limit-to", "Holiday"])
    #expect(run.output.hasPrefix("photod_") && run.output.utf8.count == 51 && run.error.contains("Holiday"))
    #expect(!run.error.contains(run.output.trimmingCharacters(in: .newlines)))
  }

  @Test("a token whose secret can't be written is not created")
  func lostSecret() throws {
    let (daemon, _, _) = try Self.daemon()
    let create = ["token", "create", "--library", daemon.library, "--data", daemon.data]
    let run = try TestDaemon.run(create, inShell: "exec \"$@\" >/dev/full")
    let complaint = "Error: standard output: No space left on device; no token was created\n"
    #expect(run.status == 1 && run.error.hasSuffix(complaint), "\(run.error)")
    let list = try daemon.token(["list", "--json"])
    let tokens = try JSONSerialization.jsonObject(with: Data(list.utf8)) as? [Any]
    #expect(tokens?.isEmpty == true, "\(list)")
  }

  private static func smartAlbum(_ daemon: TestDaemon) throws -> String {
    let albums = try daemon.get("/v1/collections?type=smartAlbum").json["collections"] as? [[String: Any]]
    return try #require(albums?.first?["localIdentifier"] as? String)
  }

  @Test("without tokens the daemon listens on loopback only; with a token, on any address")
  func listening() throws {
    let (daemon, _, _) = try Self.daemon()
    let serve = ["serve", "--library", daemon.library, "--data", daemon.data, "--listen", "0.0.0.0:0"]
    let refused = try TestDaemon.run(serve)
    #expect(refused.status != 0 && refused.error.contains("photod token create"))
    _ = try daemon.token(["create"])
    // The port is taken, so it fails there; it checks the tokens before that.
    let taken = try TestDaemon.run(serve.dropLast() + ["0.0.0.0:\(daemon.port)"])
    #expect(taken.status != 0 && !taken.error.contains("photod token create"), "\(taken.error)")
  }

  @Test(
    "a bearer token is accepted in the Authorization field only, in one form",
    arguments: [
      ("Authorization: bearer TOKEN", 200), ("Authorization: BEARER   TOKEN", 200), ("Authorization: Bearer", 401),
      ("Authorization: Bearer TOKEN x", 401), ("Authorization: Bearer \"TOKEN\"", 401), ("Authorization: TOKEN", 401),
      ("Authorization: Basic TOKEN", 401), ("Authorization: Bearer TOKEN\r\nAuthorization: Bearer TOKEN", 401),
      ("Cookie: photod-session=TOKEN", 401), ("X-Token: TOKEN", 401),
    ])
  func forms(_ field: String, _ status: Int) throws {
    let (daemon, inside, _) = Self.shared
    let secret = Self.sharedSecret
    for target in ["/v1/assets", "/v1/assets/\(inside)/image?targetSize=16x16"] {
      for _ in 0..<2 {
        let answer = try daemon.get(target, [field.replacing("TOKEN", with: secret)])
        // Invalid credentials fail too often in this test and get 429.
        #expect(answer.status == status || status == 401 && answer.status == 429, "\(field)")
      }
    }
    for name in ["access_token", "token"] {
      #expect(try daemon.get("/v1/assets?\(name)=\(secret)").status == 401)
    }
  }

  private static let shared: (daemon: TestDaemon, inside: String, outside: String) = {
    do { return try daemon() } catch { fatalError("no daemon: \(error)") }
  }()
  private static let sharedSecret: String = {
    do { return try shared.daemon.makeToken() } catch { fatalError("no token: \(error)") }
  }()

  // MARK: What is prepared

  @Test("only callers that may see a cached frame get it from memory, whatever their credential")
  func prepared() throws {
    let (daemon, inside, outside) = try Self.daemon()
    let limited = try daemon.makeToken("read", ["--limit-to", "album"])
    let full = try daemon.makeToken("read,location")
    let writer = try daemon.makeToken("add")
    let admin = try daemon.makeToken("admin")
    let signedIn = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(limited)"}"#)
    let cookie = try #require(signedIn["Set-Cookie"]?.split(separator: ";").first)
    let signed = try Self.sign(daemon, full, "/v1/assets/\(outside)/image?targetSize=20x20")
    func answers() throws -> Int {
      let text = String(decoding: try daemon.get("/metrics", [TestDaemon.bearer(admin)]).body, as: UTF8.self)
      let line = try #require(
        text.split(separator: "\n").first { $0.hasPrefix("photod_http_prepared_responses_total ") })
      return try #require(line.split(separator: " ").last.flatMap { Int($0) })
    }
    let (near, far) = ("/v1/assets/\(inside)/image?targetSize=20x20", "/v1/assets/\(outside)/image?targetSize=20x20")
    for (target, fields, status) in [
      (near, [TestDaemon.bearer(full)], 200), (far, [TestDaemon.bearer(full)], 200),
      (near, [TestDaemon.bearer(limited)], 200), (near, ["Cookie: a=b; \(cookie); c=d"], 200),
      (near, ["Cookie: \(cookie)", "Sec-Fetch-Site: same-origin"], 200), (signed, [], 200),
    ] {
      // The first response is rendered or found, the second one prepared.
      for _ in 0..<2 { #expect(try daemon.get(target, fields).status == status) }
      let before = try answers()
      for _ in 0..<3 { #expect(try daemon.get(target, fields).status == status) }
      #expect(try answers() - before == 3, "\(target) \(fields)")
    }
    for (target, fields, status) in [
      (far, [TestDaemon.bearer(limited)], 404), (far, ["Cookie: \(cookie)"], 404), (near, [], 401), (far, [], 401),
      (near, [TestDaemon.bearer(writer)], 403), (near, [TestDaemon.bearer(limited + "x")], 401),
      (near, ["Cookie: \(cookie)", "Sec-Fetch-Site: cross-site"], 401), (near, ["Cookie: \(cookie)x"], 401),
      (near, ["Cookie: \(cookie)", "Origin: https://evil.example"], 401),
      (signed + "0", [], 403), (signed.replacing("20x20", with: "21x21"), [TestDaemon.bearer(full)], 403),
    ] {
      let before = try answers()
      for _ in 0..<2 { #expect(try daemon.get(target, fields).status == status, "\(target) \(fields)") }
      #expect(try answers() == before)
    }
    // The asset leaves the album of the limited token, which then no longer finds it.
    try daemon.script("catalogue.sqlite", "DELETE FROM member;")
    try daemon.until("the frame is out of sight") { try daemon.get(near, [TestDaemon.bearer(limited)]).status == 404 }
    #expect(try daemon.get(near, ["Cookie: \(cookie)"]).status == 404)
    #expect(try daemon.get(near, [TestDaemon.bearer(full)]).status == 200)
  }

  @Test("a limited caller's responses stay prepared while other assets change, until the asset leaves its album")
  func preparedForLimited() throws {
    let (daemon, inside, outside) = try Self.daemon()
    let others = [outside, try daemon.identifier("b.jpg")]
    let limited = TestDaemon.bearer(try daemon.makeToken("read", ["--limit-to", "album"]))
    let admin = TestDaemon.bearer(try daemon.makeToken("read,write,admin"))
    let near = "/v1/assets/\(inside)/image?targetSize=20x20"
    func change(_ entry: String) throws {
      #expect(try daemon.post("/v1/changes", "{\"changes\": [\(entry)]}", [admin]).status == 200)
    }
    func preparedResponses() throws -> Int {
      let text = String(decoding: try daemon.get("/metrics", [admin]).body, as: UTF8.self)
      let line = text.split(separator: "\n").first { $0.hasPrefix("photod_http_prepared_responses_total ") }
      return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
    }
    // The first commit of a run counts for all assets.
    try change(#"{"type": "updateAsset", "asset": "\#(outside)", "isFavorite": true}"#)
    for _ in 0..<2 { #expect(try daemon.get(near, [limited]).status == 200) }
    let before = try preparedResponses()
    for round in 0..<10 {
      try change(#"{"type": "updateAsset", "asset": "\#(others[round % 2])", "isFavorite": \#(round % 4 > 1)}"#)
      #expect(try daemon.get(near, [limited]).status == 200)
    }
    // One of the two others may share its count with the picture by chance.
    #expect(try preparedResponses() - before >= 5)
    try change(#"{"type": "removeAssets", "collection": "album", "assets": ["\#(inside)"]}"#)
    #expect(try daemon.get(near, [limited]).status == 404)
    try change(#"{"type": "addAssets", "collection": "album", "assets": ["\#(inside)"]}"#)
    for _ in 0..<2 { #expect(try daemon.get(near, [limited]).status == 200) }
    try change(#"{"type": "deleteCollection", "collection": "album"}"#)
    #expect(try daemon.get(near, [limited]).status == 404)
  }

  @Test("a revoked token gets nothing more, not even prepared responses, and its signed URLs end")
  func revoked() throws {
    let (daemon, inside, _) = try Self.daemon()
    let secret = try daemon.makeToken("read", ["--name", "phone"])
    let near = "/v1/assets/\(inside)/image?targetSize=20x20"
    let signed = try Self.sign(daemon, secret, near)
    let signedIn = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(secret)"}"#)
    let cookie = "Cookie: \(try #require(signedIn["Set-Cookie"]?.split(separator: ";").first))"
    for _ in 0..<3 {
      for (target, fields) in [(near, [TestDaemon.bearer(secret)]), (near, [cookie]), (signed, [])] {
        #expect(try daemon.get(target, fields).status == 200)
      }
    }
    _ = try daemon.token(["revoke", "phone"])
    try daemon.until("it is revoked") { try daemon.get(near, [TestDaemon.bearer(secret)]).status == 401 }
    #expect(try daemon.get(near, [cookie]).status == 401)
    #expect(try daemon.get(signed).status == 403)
  }

  @Test("of callers with a token, only an administrator can force a new rendering by Cache-Control: no-cache")
  func noCache() throws {
    let (daemon, inside, _) = try Self.daemon()
    let admin = try daemon.makeToken("read,admin")
    let reader = try daemon.makeToken("read")
    let target = "/v1/assets/\(inside)/image?targetSize=20x20"
    for secret in [admin, reader] { #expect(try daemon.get(target, [TestDaemon.bearer(secret)]).status == 200) }
    func source(_ secret: String) throws -> String? {
      try daemon.get(target, [TestDaemon.bearer(secret), "Cache-Control: no-cache"]).result("source")
    }
    #expect(try source(admin) == "original" && source(reader) == "memory")
  }

  @Test("a caching manager exists for its owner and for administrators who see everything, and for no one else")
  func cachingManagers() throws {
    let (daemon, _, _) = try Self.daemon()
    let tokens = try [
      ("read", []), ("read", []), ("read,admin", []), ("read,admin", ["--limit-to", "album"]),
    ].map { try daemon.makeToken($0.0, $0.1) }
    let made = try daemon.ask("POST", "/v1/cachingManagers", [TestDaemon.bearer(tokens[0])], body: "{}")
    let id = try #require(made.json["id"] as? String)
    for (secret, isShown) in zip(tokens, [true, false, true, false]) {
      let fields = [TestDaemon.bearer(secret)]
      #expect(try daemon.get("/v1/cachingManagers/\(id)", fields).status == (isShown ? 200 : 404))
      let all = try daemon.get("/v1/cachingManagers", fields).json["cachingManagers"] as? [[String: Any]] ?? []
      let ids = all.compactMap { $0["id"] as? String }
      #expect(ids.prefix(2) == (isShown ? ["default", id] : ["default"]))
      #expect(ids.count == (isShown ? 2 : 1))
    }
    for (secret, status) in zip(tokens.reversed(), [404, 204, 404, 404]) {
      #expect(
        try daemon.ask("DELETE", "/v1/cachingManagers/\(id)", [TestDaemon.bearer(secret)]).status == status)
    }
  }

  @Test("a request exists for its owner and for administrators who see everything, and for no one else")
  func requests() throws {
    let (daemon, inside, outside) = try Self.daemon()
    let tokens = try [
      ("read", []), ("read", []), ("admin", []), ("read,admin", ["--limit-to", "album"]),
    ].map { try daemon.makeToken($0.0, $0.1) }
    for (asset, name) in [(inside, "near"), (outside, "far")] {
      let target = "/v1/assets/\(asset)/image?targetSize=20x20&requestID=\(name)"
      #expect(try daemon.get(target, [TestDaemon.bearer(tokens[0])]).status == 200)
      for (secret, status) in zip(tokens, [200, 404, 200, 404]) {
        #expect(try daemon.get("/v1/requests/\(name)", [TestDaemon.bearer(secret)]).status == status)
      }
      for secret in [tokens[1], tokens[3]] {
        #expect(try daemon.ask("DELETE", "/v1/requests/\(name)", [TestDaemon.bearer(secret)]).status == 404)
      }
    }
    // Objects that a session creates belong to its token.
    let signedIn = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(tokens[0])"}"#)
    let cookie = try #require(signedIn["Set-Cookie"]?.split(separator: ";").first)
    #expect(try daemon.get("/v1/requests/far", ["Cookie: \(cookie)"]).status == 200)
  }

  // MARK: Sessions

  @Test("a browser session's cookie works for pages of this site only, until sign-out")
  func session() throws {
    let (daemon, inside, _) = try Self.daemon(["--set", "trustedProxies=127.0.0.1"])
    let secret = try daemon.makeToken()
    let https = "X-Forwarded-Proto: https"
    let signedIn = try daemon.ask("POST", "/v1/session", [https], body: #"{"token": "\#(secret)"}"#)
    #expect(signedIn.status == 201 && signedIn.json["status"] as? String == "authorized")
    let field = try #require(signedIn["Set-Cookie"])
    let parts = field.components(separatedBy: "; ")
    #expect(Set(parts.dropFirst()) == ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"])
    let plain = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(secret)"}"#)
    #expect(plain["Set-Cookie"]?.contains("Secure") == false)
    let wrong = try daemon.ask("POST", "/v1/session", body: #"{"token": "x"}"#)
    let detail = "The member token of the body is not a valid token."
    #expect(wrong.status == 401 && wrong.json["detail"] as? String == detail)
    let cookie = "Cookie: \(parts[0])"
    #expect(!field.contains(secret))
    for target in ["/v1/assets", "/v1/assets/\(inside)/image?targetSize=16x16"] {
      #expect(try daemon.get(target, [cookie]).status == 200)
      #expect(try daemon.get(target, [cookie, "Sec-Fetch-Site: none"]).status == 200)
      for stranger in ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.example"] {
        #expect(try daemon.get(target, [cookie, stranger]).status == 401, "\(stranger)")
      }
    }
    // A page of another site can't create anything with its visitor's session.
    for stranger in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
      #expect(try daemon.ask("POST", "/v1/fetchResults", [cookie, stranger], body: "{}").status == 403)
      #expect(try daemon.ask("POST", "/v1/session", [stranger], body: #"{"token": "\#(secret)"}"#).status == 403)
      #expect(try daemon.ask("DELETE", "/v1/session", [cookie, stranger]).status == 403)
    }
    #expect(try daemon.ask("POST", "/v1/fetchResults", [cookie], body: "{}").status == 201)
    let signedOut = try daemon.ask("DELETE", "/v1/session", [cookie])
    #expect(signedOut.status == 204 && signedOut["Set-Cookie"]?.contains("Max-Age=0") == true)
    #expect(try daemon.get("/v1/assets", [cookie]).status == 401)
  }

  @Test("repeated failures slow one caller only, unless its credential is valid; no secret is logged")
  func failures() throws {
    let log = FileManager.default.temporaryDirectory.appending(path: "photod-log-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: log) }
    let (daemon, _, _) = try Self.daemon(["--set", "trustedProxies=127.0.0.1"], launcher: "exec \"$@\" 2>\(log)")
    let secret = try daemon.makeToken()
    let wrong = String(secret.dropLast()) + (secret.hasSuffix("A") ? "B" : "A")
    func signIn(_ token: String, _ client: String) throws -> TestDaemon.Response {
      try daemon.ask("POST", "/v1/session", ["X-Forwarded-For: 6.6.6.6, \(client)"], body: #"{"token": "\#(token)"}"#)
    }
    for i in 0..<10 { #expect(try signIn(wrong, "2001:db8::\(i)").status == 401, "one network is one client") }
    try daemon.until("it has to wait long enough to be looked at") {
      Int(try signIn(wrong, "2001:db8::1")["Retry-After"] ?? "") ?? 0 >= 4
    }
    let refused = try signIn(secret, "2001:db8::ffff")
    #expect(refused.status == 429 && Int(refused["Retry-After"] ?? "") ?? 0 > 0, "the client has to wait")
    let hidden = [#""x"#, "\u{600}"].map { "X-Forwarded-For: \($0), 2001:db8::1" }
    for field in hidden + [#"Forwarded: for="x, for="[2001:db8::1]:4711""#] {
      let answer = try daemon.ask("POST", "/v1/session", [field], body: #"{"token": "\#(secret)"}"#)
      #expect(answer.status == 429, "the address that the proxy appends counts: \(field)")
    }
    #expect(try signIn(secret, "2001:db8:0:1::1").status == 201, "a client of another network")
    #expect(try signIn(secret, "192.0.2.1").status == 201)
    let client = "X-Forwarded-For: 2001:db8::1"
    #expect(try daemon.get("/v1/assets", [client, TestDaemon.bearer(secret)]).status == 200)
    #expect(try daemon.get("/v1/assets", [client, TestDaemon.bearer(wrong)]).status == 429)
    #expect(try daemon.get("/v1/assets", [client]).status == 401, "no credentials, no attempt")
    let written = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
    #expect(written.contains("authentication failed") && written.contains("2001:db8::"))
    #expect(!written.contains(wrong.dropFirst(7)) && !written.contains(secret.dropFirst(7)))
  }

  // MARK: Hosts

  @Test("DNS rebinding: a request for an unknown host is refused, whatever its credential")
  func rebinding() throws {
    let (daemon, inside, _) = Self.shared
    let secret = Self.sharedSecret
    let signed = try Self.sign(daemon, secret, "/v1/assets/\(inside)/image")
    for (target, field) in [
      ("/v1/assets", TestDaemon.bearer(secret)),
      ("/v1/assets/\(inside)/image?targetSize=16x16", TestDaemon.bearer(secret)),
      (signed, "Accept: */*"), ("/v1/authorization", "Accept: */*"), ("/healthz", "Accept: */*"),
    ] {
      for _ in 0..<3 {
        #expect(try daemon.ask("GET", target, ["Host: rebound.example:\(daemon.port)", field]).status == 421)
        #expect(try daemon.ask("GET", target, [field]).status == 200)
      }
    }
  }
}
