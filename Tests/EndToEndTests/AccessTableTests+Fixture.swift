import PhotoFixtures
import Testing

extension AccessTableTests {
  /// A daemon and the objects that the requests name: `inside` is in the album, `outside` in another one.
  struct AccessFixture {
    let daemon: TestDaemon
    let inside: String
    let outside: String
    private var credentials: [CallerKind: String] = [:]
    private var signatures: [CallerKind: String] = [:]

    static let album = "album"
    static let other = "other"

    var image: String { "/v1/assets/\(inside)/image?targetSize=20x20" }

    init(_ kind: DaemonKind, arguments: [String] = []) throws {
      daemon = try TestDaemon(
        { files in
          for name in ["in", "out"] {
            let exif = EXIFBlock { $0.dateTimeOriginal = "2024:05:06 07:08:09" }
            try files.put(
              JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: name == "in" ? 48 : 32)),
              "\(name).jpg")
          }
        }, arguments: kind.arguments + arguments)
      inside = try daemon.identifier("in.jpg")
      outside = try daemon.identifier("out.jpg")
      try daemon.makeAlbum(Self.album, title: "Holiday", ["in.jpg"])
      try daemon.makeAlbum(Self.other, title: "Work", ["out.jpg"])
      guard kind == .withTokens else { return }
      credentials[.expired] = try daemon.token(["create", "--name", "over", "--expires", "1y"])
      credentials[.revoked] = try daemon.token(["create", "--name", "gone"])
      try daemon.script("access.sqlite", "UPDATE token SET expires = 1 WHERE name = 'over';")
      _ = try daemon.token(["revoke", "gone"])
      credentials[.add] = try daemon.token(["create", "--scope", "add"])
      credentials[.writeAlone] = try oldToken("old", scopes: "write")
      credentials[.writeAdmin] = try oldToken("oldAdmin", scopes: "admin,write")
      credentials[.readWrite] = try daemon.token(["create", "--scope", "read,write"])
      credentials[.admin] = try daemon.token(["create", "--scope", "admin"])
      credentials[.location] = try daemon.token(["create", "--scope", "read,location"])
      for (who, scopes) in [
        (CallerKind.limited, "read"), (.limitedWrite, "read,write"), (.limitedAdmin, "read,admin"),
      ] {
        credentials[who] = try daemon.token(["create", "--scope", scopes, "--limit-to", "Holiday"])
      }
      // When the daemon knows the last one, it knows all.
      let read = try daemon.makeToken()
      credentials[.read] = read
      for (who, path) in [(CallerKind.signedImage, image), (.signedAlbum, "/v1/collections/\(Self.album)")] {
        let answer = try daemon.ask(
          "POST", "/v1/signedURLs", [TestDaemon.bearer(read)], body: #"{"path": "\#(path)"}"#)
        let url = try #require(answer.json["url"] as? String, "\(answer.json)")
        signatures[who] = String(url.dropFirst(path.count + 1))
      }
      credentials[.session] = try signIn()
    }

    /// A token with scopes that can no longer be chosen.
    private func oldToken(_ name: String, scopes: String) throws -> String {
      let secret = try daemon.token(["create", "--name", name, "--scope", "read,write"])
      try daemon.script("access.sqlite", "UPDATE token SET scopes = '\(scopes)' WHERE name = '\(name)';")
      return secret
    }

    /// The cookie of a new session.
    private func signIn() throws -> String {
      let token = try #require(credentials[.read])
      let answer = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(token)"}"#)
      return String(try #require(answer["Set-Cookie"]?.split(separator: ";").first))
    }

    func ask(_ row: Row, as who: CallerKind, from origin: OriginKind = .none) throws -> TestDaemon.Response {
      var (target, fields) = (row.target, origin.fields)
      if who.isForwarded { fields.append("X-Forwarded-For: 203.0.113.9") }
      if who == .session {
        // A session that ends with this request.
        let isSignOut = row.method == "DELETE" && row.target == "/v1/session"
        fields.append("Cookie: \(try isSignOut ? signIn() : #require(credentials[who]))")
      } else if let secret = credentials[who] {
        fields.append(TestDaemon.bearer(secret))
      }
      if let signature = signatures[who] { target += (target.contains("?") ? "&" : "?") + signature }
      return try daemon.ask(row.method, target, fields, body: row.body)
    }
  }
}
