import AccessControl
import Foundation
import Logging
import Testing

/// Signed URLs of images and albums over real sockets.
@Suite("Signed URLs", .blocking)
struct SignedURLTests {
  @Test(
    "a signed URL opens one image as signed, without a token; any change of it is refused")
  func signedImage() throws {
    let (daemon, inside, outside) = try CredentialTests.daemon()
    let secret = try daemon.makeToken("read,location,admin")
    let path = "/v1/assets/\(inside)/image?targetSize=20x20&format=jpeg"
    let url = try CredentialTests.sign(daemon, secret, path)
    #expect(url.hasPrefix(path + "&"))
    for method in ["GET", "HEAD"] {
      let answer = try daemon.get(url, method: method)
      #expect(answer.status == 200 && answer["Cache-Control"]?.hasPrefix("private") == true)
    }
    #expect(try daemon.get(url, ["Range: bytes=0-9"]).status == 206)
    let (start, query) = (url.prefix { $0 != "?" }, url.drop { $0 != "?" }.dropFirst())
    let turned = query.split(separator: "&").reversed().joined(separator: "&")
    #expect(try daemon.get("\(start)?\(turned)").status == 200, "the order of parameters does not matter")
    #expect(try daemon.get(url.replacing("/image", with: "/%69mage")).status == 200, "escaping does not matter")
    for changed in [
      url.replacing("20x20", with: "30x30"), url.replacing("format=jpeg", with: "format=png"),
      url.replacing(inside, with: outside), url.replacing("/image", with: ""),
      url.replacing("/image", with: "/metadata"), url.replacing("/image", with: "/data"),
      url.replacing("/image", with: "/resources/photo/data"),
      url + "&quality=10", url.replacing("&format=jpeg", with: ""),
      url.replacing("signedUntil=1", with: "signedUntil=2"),
      url.replacing(#/signedBy=[^&]*/#, with: "signedBy=operator"), url.replacing(#/&signature=[^&]*/#, with: ""),
      url.replacing(#/signature=[^&]*/#, with: "signature=" + String(repeating: "A", count: 43)),
      url + "&signedCollection=album", "/v1/assets?" + query.replacing("targetSize=20x20&format=jpeg&", with: ""),
    ] {
      let answer = try daemon.get(changed)
      #expect(answer.status == 403 || answer.status == 429, "\(changed)")
      #expect(!answer.body.starts(with: [0xFF, 0xD8]))
    }
    #expect(try daemon.ask("POST", url.replacing("/image", with: ""), body: "{}").status != 200)
    // Stale, and signed by the daemon's own key.
    let registry = try AccessRegistry(
      database: AccessDatabase(dataFolder: daemon.data), logger: Logger(label: "test"), now: { 1_000_000 })
    let subject = URLSignature.Subject(segments: ["v1", "assets", inside, "image"])
    for (expires, status) in [(Int64(1_000_100), 403), (Int64(Date().timeIntervalSince1970) + 1000, 200)] {
      let signature = try #require(registry.sign(subject, collection: nil, issuer: nil, expires: expires))
      let query = signature.parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
      let answer = try daemon.get("/v1/assets/\(inside)/image?\(query)")
      #expect(answer.status == status)
      if status == 403 { #expect(answer.json["type"] as? String == "/problems/signed-url-expired") }
    }
    #expect(try daemon.get(url).status == 200)
  }

  @Test("a signed album opens its pages and its pictures, without locations")
  func signedAlbum() throws {
    let (daemon, inside, outside) = try CredentialTests.daemon()
    let secret = try daemon.makeToken("read,location")
    let url = try CredentialTests.sign(daemon, secret, "/v1/collections/album/assets?limit=1")
    var (next, found): (String?, [[String: Any]]) = (url, [])
    while let target = next {
      let page = try daemon.get(target)
      try #require(page.status == 200 && found.count < 10)
      found += page.json["assets"] as? [[String: Any]] ?? []
      next = page.json["next"] as? String
    }
    #expect(found.count == 2 && found.allSatisfy { $0["location"] is NSNull })
    let signature = String(try #require(url.firstRange(of: "signedCollection").map { url[$0.lowerBound...] }))
    for (target, status) in [
      ("/v1/collections/album?", 200), ("/v1/collections/album/assets?layout=columns&", 200),
      ("/v1/assets/\(inside)?", 200), ("/v1/assets/\(inside)/image?targetSize=20x20&", 200),
      ("/v1/assets/\(inside)/metadata?", 200), ("/v1/assets/\(outside)?", 404),
      ("/v1/assets/\(outside)/image?targetSize=20x20&", 404), ("/v1/assets/\(outside)/metadata?", 404),
      ("/v1/collections/album/assets?includeHiddenAssets=true&", 403), ("/v1/assets?", 403), ("/v1/collections?", 403),
      ("/v1/collections/album/collections?", 403), ("/v1/requests?", 403), ("/metrics?", 403),
    ] {
      let answer = try daemon.get(target + signature)
      #expect(answer.status == status, "\(target)")
      #expect(!String(decoding: answer.body, as: UTF8.self).contains("GPS"))
    }
    #expect(try daemon.get("/v1/assets/\(inside)/metadata", [TestDaemon.bearer(secret)]).json["GPS"] != nil)
    #expect(try daemon.get("/v1/collections/album/assets?predicate=latitude%20%3E%201&" + signature).status == 400)
  }

  @Test("a path with repeated slashes is signed with one each, since // would name another host")
  func slashes() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    let secret = try daemon.makeToken()
    let path = "/v1/assets/\(inside)/image?targetSize=20x20"
    for sent in ["//v1/assets/\(inside)//image?targetSize=20x20", "///v1/assets/\(inside)/image?targetSize=20x20"] {
      for url in [try CredentialTests.sign(daemon, secret, sent), try daemon.token(["sign", sent])] {
        #expect(url.hasPrefix(path + "&"), "\(url)")
        #expect(try daemon.get(url).status == 200)
      }
    }
  }

  @Test("a query of an album that its URL would be refused for is not signed")
  func albumQueries() throws {
    let (daemon, _, _) = try CredentialTests.daemon()
    let secret = try daemon.makeToken("read,location")
    for (rest, parameter) in [
      ("?limit=1", "limit"), ("?includeHiddenAssets=true", "includeHiddenAssets"), ("/assets?limit=0", "limit"),
      ("/assets?limits=1", "limits"), ("/assets?predicate=latitude%20%3E%201", "predicate"),
      ("/assets?includeHiddenAssets=true", "includeHiddenAssets"), ("/assets?cursor=x", "cursor"),
      ("/assets?layout=buckets&limit=1", "limit"), ("/assets?limit=1&limit=2", "limit"),
    ] {
      let path = "/v1/collections/album\(rest)"
      let answer = try daemon.ask(
        "POST", "/v1/signedURLs", [TestDaemon.bearer(secret)], body: #"{"path": "\#(path)"}"#)
      #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(path): \(answer.json)")
      let run = try TestDaemon.run(["token", "sign", "--library", daemon.library, "--data", daemon.data, path])
      #expect(run.status != 0 && run.output.isEmpty, "\(path)")
    }
    for rest in ["?includeHiddenAssets=false", "/assets?layout=columns&limit=1", "/assets?search=holiday&count=true"] {
      let url = try CredentialTests.sign(daemon, secret, "/v1/collections/album\(rest)")
      #expect(try daemon.get(url).status == 200, "\(rest)")
    }
  }

  @Test("a signed album opens the files of its members, never with their places")
  func signedOriginals() throws {
    let (daemon, inside, outside) = try CredentialTests.daemon()
    let secret = try daemon.makeToken("read,location")
    let url = try CredentialTests.sign(daemon, secret, "/v1/collections/album")
    let signature = url.drop { $0 != "?" }.dropFirst()
    let stored = try daemon.get("/v1/assets/\(inside)/data?includeLocation=true", [TestDaemon.bearer(secret)])
    #expect(stored.status == 200)
    for path in ["data", "resources/photo/data"] {
      let file = try daemon.get("/v1/assets/\(inside)/\(path)?\(signature)")
      #expect(file.status == 200 && file.body.count == stored.body.count && file.body != stored.body, "\(path)")
      #expect(try daemon.get("/v1/assets/\(inside)/\(path)?includeLocation=true&\(signature)").status == 403)
      #expect(try daemon.get("/v1/assets/\(outside)/\(path)?\(signature)").status == 404)
    }
    #expect(try daemon.get("/v1/assets/\(inside)/resources?\(signature)").status == 200)
  }

  @Test("after a rotation, URLs signed with the previous key are valid, and those of the key before are not")
  func rotation() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    _ = try daemon.makeToken()
    let path = "/v1/assets/\(inside)/image"
    let first = try daemon.token(["sign", path, "--expires", "7d"])
    #expect(first.hasPrefix("/v1/") && !first.contains("\n"))
    #expect(try daemon.get(first).status == 200)
    _ = try daemon.token(["rotate-key"])
    let second = try daemon.token(["sign", path])
    // Below the default of a day.
    let short = try daemon.token(["sign", path, "--set", "access.signedURLLifetimeSeconds=3600"])
    #expect(short.hasPrefix("/v1/"))
    try daemon.until("the new key is known") { try daemon.get(second).status == 200 }
    #expect(try daemon.get(first).status == 200)
    _ = try daemon.token(["rotate-key"])
    try daemon.until("the first key is gone") { try daemon.get(first).status == 403 }
    // The URL itself would be valid for days.
    let refused = try daemon.get(first)
    #expect(refused.json["type"] as? String == "/problems/signed-url-expired")
    #expect((refused.json["detail"] as? String)?.contains("its key is no longer valid") == true)
    #expect(try daemon.get(second).status == 200)
  }

  @Test("the command signs in the name of a token, found by its identifier or its name")
  func namedIssuer() throws {
    let (daemon, inside, outside) = try CredentialTests.daemon()
    _ = try daemon.makeToken("read", ["--limit-to", "album", "--name", "gallery"])
    let list = try daemon.token(["list", "--json"])
    let tokens = try JSONSerialization.jsonObject(with: Data(list.utf8)) as? [[String: Any]]
    let identifier = try #require(tokens?.first?["identifier"] as? String)
    for issuer in ["gallery", identifier] {
      let url = try daemon.token(["sign", "/v1/assets/\(inside)/image", "--issuer", issuer])
      #expect(url.contains("signedBy=\(identifier)"), "\(url)")
      #expect(try daemon.get(url).status == 200)
    }
    let common = ["token", "sign", "--library", daemon.library, "--data", daemon.data]
    for (asset, issuer, complaint) in [(outside, "gallery", "asset"), (inside, "nobody", "there is no token nobody")] {
      let run = try TestDaemon.run(common + ["/v1/assets/\(asset)/image", "--issuer", issuer])
      #expect(run.status != 0 && run.output.isEmpty && run.error.contains(complaint), "\(run.error)")
    }
  }

  @Test("the path that the gallery signs to copy a link opens the picture")
  func galleryLink() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    let secret = try daemon.makeToken()
    let path = "/v1/assets/\(inside)/image?targetSize=2048x2048&networkAccessAllowed=true"
    #expect(try daemon.get(CredentialTests.sign(daemon, secret, path)).status == 200)
  }

  @Test("wrong signatures, which any web page can make a browser send, do not keep its visitor from signing in")
  func wrongSignatures() throws {
    let (daemon, _, _) = try CredentialTests.daemon()
    let secret = try daemon.makeToken()
    let page = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"]
    try daemon.until("the page has to wait") { try daemon.get("/?signature=x", page).status == 429 }
    #expect(try daemon.ask("POST", "/v1/session", [], body: #"{"token": "\#(secret)"}"#).status == 201)
  }

  @Test("a signed album ends when its limited issuer may no longer see it")
  func limitedIssuer() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    let other = try daemon.makeToken("read", ["--limit-to", "album"])
    let url = try CredentialTests.sign(daemon, other, "/v1/collections/album")
    let signature = url.drop { $0 != "?" }.dropFirst()
    #expect(try daemon.get("/v1/assets/\(inside)/image?\(signature)").status == 200)
    // Changes the token's collections, which no command can do.
    try daemon.script("access.sqlite", "UPDATE token SET collections = 'elsewhere';")
    try daemon.until("it sees something else") { try daemon.get(url).status == 403 }
    #expect(try daemon.get("/v1/assets/\(inside)/image?\(signature)").status == 403)
  }

  @Test("a request that runs while the limited issuer loses a signed album leaves no response that opens it later")
  func losingIssuer() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    let writer = [TestDaemon.bearer(try daemon.makeToken("read,write"))]
    @Sendable func change(_ entry: String) throws -> [String: Any] {
      let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entry)]}", writer)
      try #require(answer.status == 200, "\(answer.json)")
      return answer.json["created"] as? [String: Any] ?? [:]
    }
    @Sendable func move(to parent: String) throws {
      _ = try change(#"{"type": "moveCollections", "parent": \#(parent), "collections": ["album"], "index": 0}"#)
    }
    let made = try change(#"{"type": "createFolder", "title": "Folder", "placeholder": "$f"}"#)
    let folder = try #require(made["$f"] as? String)
    try move(to: "\"\(folder)\"")
    let issuer = try daemon.makeToken("read", ["--limit-to", folder])
    let signature = try CredentialTests.sign(daemon, issuer, "/v1/collections/album").drop { $0 != "?" }.dropFirst()
    let image = "/v1/assets/\(inside)/image?targetSize=20x20&format=jpeg&\(signature)"
    let list = "/v1/collections/album/assets?\(signature)"
    let clients = 4
    for round in 0..<12 {
      if round > 0 { try move(to: "\"\(folder)\"") }
      #expect(try daemon.get(image).status == 200)
      #expect(try daemon.get(list).status == 200)
      // A prepared response is for one value of Accept, so each of these requests takes the whole path.
      @Sendable func accept(_ client: Int, _ number: Int) -> String {
        "Accept: image/jpeg, x/r\(round)c\(client)n\(number)"
      }
      DispatchQueue.concurrentPerform(iterations: clients + 1) { client in
        do {
          if client == clients { return try move(to: "null") }
          for number in 0..<8 {
            let status = try daemon.get(image, [accept(client, number)]).status
            #expect(status == 200 || status == 403)
          }
        } catch {
          Issue.record(error)
        }
      }
      for client in 0..<clients {
        for number in 0..<8 { #expect(try daemon.get(image, [accept(client, number)]).status == 403) }
      }
      #expect(try daemon.get(list).status == 403)
    }
  }
}
