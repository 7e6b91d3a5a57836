import Foundation
import PhotoFixtures
import Testing

/// A caller with a limited token gets the same bytes for an object outside its library as for one that never existed.
@Suite("A limited caller", .blocking)
struct LimitedCallerTests {
  struct LimitedCallerFixture {
    let daemon: TestDaemon
    let inside: String
    let outside: String
    let full: String
    let limited: String

    init() throws {
      daemon = try TestDaemon { files in
        for (name, height) in [("in", 48), ("out", 32), ("also-in", 40)] {
          let exif = EXIFBlock {
            $0.dateTimeOriginal = "2024:05:06 07:08:09"
            ($0.latitude, $0.longitude) = (1.5, 2.5)
          }
          try files.put(
            JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: height)), "\(name).jpg")
        }
      }
      _ = try daemon.assetsWithPlaceholders()
      inside = try daemon.identifier("in.jpg")
      outside = try daemon.identifier("out.jpg")
      try daemon.makeAlbum("mine", title: "Mine", ["in.jpg", "also-in.jpg"])
      try daemon.makeAlbum("album-zzzz", title: "Zzzz", ["out.jpg", "in.jpg"])
      full = TestDaemon.bearer(try daemon.token(["create", "--scope", "read,admin", "--name", "full"]))
      limited = TestDaemon.bearer(try daemon.makeToken("read,admin", ["--limit-to", "Mine", "--name", "limited"]))
    }
  }

  /// The response without its date and request identifier.
  private func words(_ answer: TestDaemon.Response, without name: String) -> String {
    let fields = answer.fields.filter { !["date", "x-request-id", "server-timing", "image-result"].contains($0.key) }
      .sorted { $0.key < $1.key }
    return "\(answer.status) \(fields) \(String(decoding: answer.body, as: UTF8.self))".replacing(name, with: "NAME")
  }

  @Test("gets the same answer from every resource for an invisible object and for an unknown one")
  func same() throws {
    let world = try LimitedCallerFixture()
    // As long as real identifiers.
    let never = String(repeating: "z", count: world.outside.count)
    let token = try #require(try world.daemon.get("/v1/assets", [world.limited]).json["changeToken"] as? String)
    func told(_ asset: String, _ collection: String) throws -> [String] {
      var words: [String] = []
      func ask(_ method: String, _ target: String, _ fields: [String] = [], body: String? = nil) throws {
        let answer = try world.daemon.ask(method, target, [world.limited] + fields, body: body)
        words.append(
          "\(method) \(target) \(body ?? ""): ".replacing(asset, with: "NAME").replacing(collection, with: "NAME")
            + self.words(answer, without: asset).replacing(collection, with: "NAME"))
      }
      for method in ["GET", "HEAD"] {
        for path in [
          "", "/metadata", "/image", "/image?targetSize=20x20", "/image?v=none", "/image?deliveryMode=fastFormat",
        ] {
          try ask(method, "/v1/assets/\(asset)\(path)")
          try ask(method, "/v1/assets/\(asset)\(path)", ["If-None-Match: *"])
          try ask(method, "/v1/assets/\(asset)\(path)", ["If-Match: \"x\""])
          try ask(method, "/v1/assets/\(asset)\(path)", ["Range: bytes=0-9"])
        }
        for path in [
          "", "/assets", "/collections", "/assets?layout=columns", "/assets?layout=buckets", "/assets?count=true",
        ] {
          try ask(method, "/v1/collections/\(collection)\(path)")
        }
        for query in ["assets=\(asset)", "assets=\(world.inside),\(asset)", "collection=\(collection)"] {
          try ask(method, "/v1/archive?\(query)")
        }
        for filter in ["localIdentifier%20%3D%3D%20'\(asset)'", "localIdentifier%20IN%20%7B'\(asset)'%7D"] {
          for rest in ["", "&count=true", "&layout=columns", "&layout=buckets", "&includeHiddenAssets=true"] {
            try ask(method, "/v1/assets?predicate=\(filter)\(rest)")
          }
        }
      }
      for path in ["/v1/changes/stream", "/v1/changes"] { try ask("GET", "\(path)?since=\(token)&asset=\(asset)") }
      try ask("POST", "/v1/transientCollections", body: #"{"assets": ["\#(world.inside)", "\#(asset)"]}"#)
      try ask("POST", "/v1/archive", body: #"{"assets": ["\#(world.inside)", "\#(asset)"]}"#)
      try ask("POST", "/v1/fetchResults", body: #"{"collection": "\#(collection)"}"#)
      try ask("POST", "/v1/signedURLs", body: #"{"path": "/v1/assets/\#(asset)/image"}"#)
      for path in ["startCaching", "stopCaching"] {
        try ask(
          "POST", "/v1/cachingManagers/default/\(path)", body: #"{"assets": ["\#(asset)"], "targetSize": "20x20"}"#)
      }
      try ask(
        "PUT", "/v1/cachingManagers/default/window",
        body: #"{"assets": ["\#(asset)"], "visible": [0, 0], "targetSize": "20x20"}"#)
      for query in ["containing=\(asset)", "parent=\(collection)", "type=moment&containing=\(asset)"] {
        try ask("GET", "/v1/collections?\(query)")
      }
      try ask("GET", "/v1/cachingManagers/default")
      try ask("POST", "/v1/signedURLs", body: #"{"path": "/v1/collections/\#(collection)"}"#)
      let handle = try #require(
        try world.daemon.post("/v1/fetchResults", "{}", [world.limited]).json["id"] as? String)
      let index = try world.daemon.get("/v1/fetchResults/\(handle)/assets?indexOf=\(asset)", [world.limited])
      words.append(self.words(index, without: asset))
      return words
    }
    // The daemon has a prepared frame of it for other callers.
    for _ in 0..<3 { _ = try world.daemon.get("/v1/assets/\(world.outside)/image?targetSize=20x20", [world.full]) }
    let (outside, nothing) = (try told(world.outside, "album-zzzz"), try told(never, "album-yyyy"))
    #expect(outside.count > 80)
    for (one, other) in zip(outside, nothing) { #expect(one == other) }
  }

  @Test("finds no trace of invisible objects in any list, count or state")
  func lists() throws {
    let world = try LimitedCallerFixture()
    let daemon = world.daemon
    for target in [
      "/v1/assets", "/v1/assets?count=true", "/v1/assets?layout=columns",
      "/v1/assets?sortDescriptors=originalFilename&limit=1",
      "/v1/collections", "/v1/collections?parent=root", "/v1/collections?containing=\(world.inside)",
      "/v1/collections?type=moment", "/v1/collections?type=smartAlbum", "/v1/collections/mine",
      "/v1/collections/mine/assets",
    ] {
      var next: String? = target
      while let page = next {
        let answer = try daemon.get(page, [world.limited])
        #expect(answer.status == 200)
        let text = String(decoding: answer.raw, as: UTF8.self)
        for word in [world.outside, "out.jpg", "Zzzz", "album-zzzz"] { #expect(!text.contains(word), "\(page)") }
        next = answer.json["next"] as? String
      }
    }
    #expect(try daemon.get("/v1/assets?count=true", [world.limited]).json["count"] as? Int == 2)
    let scan = try daemon.get("/readyz", [world.limited]).json["firstScan"] as? [String: Any]
    #expect(scan?["indexed"] as? Int == 2)
    let moments = try daemon.get("/v1/collections?type=moment", [world.limited]).json["collections"] as? [[String: Any]]
    #expect(moments?.map { $0["estimatedAssetCount"] as? Int } == [2])
    // Changes outside of its library change none of its tokens.
    let lists = ["/v1/assets", "/v1/collections", "/v1/assets?layout=columns", "/v1/assets/\(world.inside)"]
    func tags(_ caller: String) throws -> [String?] { try lists.map { try daemon.get($0, [caller])["ETag"] } }
    let (before, whole) = (try tags(world.limited), try tags(world.full))
    try daemon.script(
      "catalogue.sqlite",
      """
      UPDATE library SET revision = revision + 1 WHERE id = 0;
      UPDATE asset SET isFavorite = 1 WHERE localIdentifier = '\(world.outside)';
      INSERT INTO change SELECT id, revision, 0, 1, 0 FROM library WHERE id = 0;
      """)
    try daemon.until("the change is seen") { try tags(world.full)[0] != whole[0] }
    #expect(try tags(world.limited) == before)
  }

  @Test("gets a prepared image only while the asset is visible to it")
  func cached() throws {
    let world = try LimitedCallerFixture()
    let image = "/v1/assets/\(world.outside)/image?targetSize=20x20"
    func status(_ fields: [String] = []) throws -> Int { try world.daemon.get(image, [world.limited] + fields).status }
    let ready = try world.daemon.get(image, [world.full])
    let tag = "If-None-Match: \(try #require(ready["ETag"]))"
    for _ in 0..<3 { #expect(try world.daemon.get(image, [world.full, tag]).status == 304) }
    for _ in 0..<3 { #expect(try status() == 404 && status([tag]) == 404) }
    func change(_ statement: String) throws {
      try world.daemon.script(
        "catalogue.sqlite",
        "UPDATE library SET revision = revision + 1 WHERE id = 0; \(statement)")
    }
    let album = "(SELECT id FROM collection WHERE localIdentifier = 'mine')"
    let asset = "(SELECT id FROM asset WHERE localIdentifier = '\(world.outside)')"
    try change("INSERT INTO member SELECT \(album), 9, id, creationDate, listing FROM asset WHERE id = \(asset);")
    try world.daemon.until("it is let in") { try status() == 200 }
    for _ in 0..<3 { #expect(try status() == 200 && status([tag]) == 304) }
    try change("DELETE FROM member WHERE collection = \(album) AND asset = \(asset);")
    try world.daemon.until("it is let in no more") { try status() == 404 }
    #expect(try status([tag]) == 404 && world.daemon.get(image, [world.full]).status == 200)
  }

  @Test("owns its handles: others can't see them, except administrators who see everything")
  func ownership() throws {
    let world = try LimitedCallerFixture()
    let daemon = world.daemon
    let stranger = TestDaemon.bearer(try daemon.makeToken("read", ["--name", "stranger"]))
    let handle = try #require(try daemon.post("/v1/fetchResults", "{}", [world.limited]).json["id"] as? String)
    let list = try #require(
      try daemon.post("/v1/transientCollections", #"{"assets": ["\#(world.inside)"]}"#, [world.limited])
        .json["localIdentifier"] as? String)
    // 128 bits in base64url.
    #expect(handle.utf8.count == 22 && list.utf8.count == 22)
    _ = try daemon.get("/v1/assets/\(world.inside)/image?targetSize=21x21&requestID=zreq1", [world.limited])
    _ = try daemon.get("/v1/assets/\(world.outside)/image?targetSize=22x22&requestID=zreq2", [world.full])
    let named = try daemon.get("/v1/assets/\(world.inside)/image?targetSize=23x23", [world.limited])
    let request = try #require(named["X-Request-Id"] ?? named.result("request-id"))
    #expect(request.replacing("\"", with: "").utf8.count == 32)
    for (paths, methods) in [
      (["/v1/fetchResults/NAME", "/v1/fetchResults/NAME/assets"], ["GET", "HEAD", "DELETE"]),
      (["/v1/collections/NAME", "/v1/collections/NAME/assets"], ["GET", "HEAD"]),
      (["/v1/collections/NAME", "/v1/transientCollections/NAME"], ["DELETE"]),
      (["/v1/requests/NAME"], ["GET", "HEAD", "DELETE"]),
    ] {
      let name = paths[0].contains("Results") ? handle : paths[0].contains("requests") ? "zreq1" : list
      for path in paths {
        for method in methods {
          let other = try daemon.ask(method, path.replacing("NAME", with: name), [stranger])
          let never = try daemon.ask(method, path.replacing("NAME", with: "zzzzzzzzzzzzzzzzzzzzzz"), [stranger])
          #expect(words(other, without: name) == words(never, without: "zzzzzzzzzzzzzzzzzzzzzz"), "\(method) \(path)")
          #expect(other.status == 404 || other.status == 405)
        }
      }
      #expect(try daemon.get(paths[0].replacing("NAME", with: name), [world.limited]).status == 200)
    }
    func listed(_ who: String) throws -> [String] {
      let answer = try daemon.get("/v1/transientCollections", [who])
      return (answer.json["collections"] as? [[String: Any]] ?? []).compactMap { $0["localIdentifier"] as? String }
    }
    #expect(try listed(world.limited) == [list] && listed(stranger).isEmpty)
    #expect(try listed(world.full) == [list], "it sees the transient collections of all callers")
    #expect(try daemon.ask("DELETE", "/v1/transientCollections/\(list)", [world.limited]).status == 204)
    #expect(try listed(world.limited).isEmpty && daemon.get("/v1/collections/\(list)", [world.limited]).status == 404)
    #expect(try daemon.get("/v1/requests/zreq1", [world.full]).status == 200, "it sees the requests of all callers")
    #expect(try daemon.get("/v1/requests/zreq2", [world.limited]).status == 404, "it sees only its own")
    #expect(try daemon.ask("DELETE", "/v1/fetchResults/\(handle)", [world.limited]).status == 204)
  }

  @Test("does not learn from an upload which names exist outside its library")
  func uploads() throws {
    let world = try LimitedCallerFixture()
    let writer = TestDaemon.bearer(try world.daemon.makeToken("read,write", ["--limit-to", "Mine"]))
    for name in ["out.jpg", "free.jpg"] {
      let picture = UploadTests.picture(name == "out.jpg" ? 1 : 2)
      let answer = try world.daemon.upload(picture, "?filename=\(name)", [writer])
      #expect(answer.status == 201 && Set(answer.json.keys) == ["localIdentifier", "contentVersion"], "\(answer.json)")
    }
    // A picture that it sees already is not stored again.
    let inside = FileManager.default.contents(atPath: world.daemon.library + "/in.jpg") ?? Data()
    let again = try world.daemon.upload([UInt8](inside), "?filename=again.jpg", [writer])
    #expect(again.status == 200 && again.json["relativePath"] as? String == "in.jpg", "\(again.json)")
  }

  @Test(
    "that repeats an upload after a lost response gets its asset again, and no more of it",
    arguments: ["read,write", "read,add"])
  func repeatedUploads(_ scopes: String) throws {
    let world = try LimitedCallerFixture()
    let writer = TestDaemon.bearer(try world.daemon.makeToken(scopes, ["--limit-to", "Mine"]))
    func upload() throws -> TestDaemon.Response {
      try world.daemon.upload(UploadTests.picture(2), "?filename=again.jpg", [writer])
    }
    let (first, again) = (try upload(), try upload())
    #expect(first.status == 201 && again.status == 200)
    #expect(Set(again.json.keys) == ["localIdentifier", "contentVersion"] && again.body == first.body)
    let document = try world.daemon.get("/openapi.json", [writer])
    try checkIsDocumented("UploadedAsset", of: [first.status, again.status], document)
    let form = TestDaemon.form([("again.jpg", UploadTests.picture(2))])
    let several = try world.daemon.upload(form, type: "multipart/form-data; boundary=xyz", [writer])
    let results = try #require(several.json["results"] as? [[String: Any]])
    #expect(several.status == 200 && results.map { $0["status"] as? Int } == [200])
  }

  /// The OpenAPI document must allow this body for these statuses of an upload.
  private func checkIsDocumented(_ schema: String, of statuses: [Int], _ document: TestDaemon.Response) throws {
    let paths = document.json["paths"] as? [String: [String: Any]]
    let operation = paths?["/v1/assets"]?["post"] as? [String: Any]
    let responses = try #require(operation?["responses"] as? [String: Any])
    for status in statuses {
      let response = responses[String(status)] as? [String: Any]
      let content = response?["content"] as? [String: [String: Any]]
      let body = content?["application/json"]?["schema"] as? [String: Any]
      let schemas = try #require(body?["oneOf"] as? [[String: String]])
      #expect(schemas.contains { $0["$ref"] == "#/components/schemas/\(schema)" }, "\(status)")
    }
  }

  @Test("puts what it has uploaded into its albums, and can't put what others have uploaded there")
  func ownUploads() throws {
    let world = try LimitedCallerFixture()
    let daemon = world.daemon
    let writers = try ["one", "other"].map {
      TestDaemon.bearer(try daemon.makeToken("read,write", ["--limit-to", "Mine", "--name", $0]))
    }
    func status(_ caller: String, _ entries: String...) throws -> Int {
      try daemon.post("/v1/changes", "{\"changes\": [\(entries.joined(separator: ","))]}", [caller]).status
    }
    func add(_ asset: String) -> String {
      #"{"type": "addAssets", "collection": "mine", "assets": ["\#(asset)"]}"#
    }
    func create(_ upload: String, _ placeholder: String) -> String {
      #"{"type": "createAsset", "upload": "\#(upload)", "placeholder": "\#(placeholder)"}"#
    }
    let uploads = try (1...3).map { number in
      let answer = try daemon.upload(UploadTests.picture(number), "?filename=own.jpg", [writers[0]])
      return try #require(answer.json["localIdentifier"] as? String)
    }
    for asset in uploads + [world.outside] {
      #expect(try status(writers[1], add(asset)) == 404)
      #expect(try status(writers[1], create(asset, "$p")) == 404)
    }
    #expect(try status(writers[0], add(world.outside)) == 404)
    #expect(try status(writers[0], add(uploads[0])) == 200)
    #expect(try status(writers[0], create(uploads[1], "$p"), add("$p")) == 200)
    for asset in uploads[..<2] { #expect(try daemon.get("/v1/assets/\(asset)", [writers[1]]).status == 200) }
    // It does not see the third one, and can't change it.
    let update = #"{"type": "updateAsset", "asset": "\#(uploads[2])", "isFavorite": true}"#
    #expect(try status(writers[0], update) == 404)
    // A list that makes an asset without an album, and another list with the album.
    let staged = try daemon.stage(UploadTests.picture(4), "?filename=s.jpg", [writers[0], "Upload-Complete: ?1"])
    let upload = try #require(staged.json["upload"] as? String, "\(staged.json)")
    let made = try daemon.post("/v1/changes", "{\"changes\": [\(create(upload, "$s"))]}", [writers[0]])
    let asset = try #require((made.json["created"] as? [String: String])?["$s"], "\(made.json)")
    #expect(try status(writers[1], add(asset)) == 404)
    #expect(try status(writers[0], add(asset)) == 200)
  }

  @Test("can't use up what others need: handles, transient collections and streams have limits for each caller")
  func shares() throws {
    let daemon = try TestDaemon(
      { _ in },
      arguments: ["--set", "fetchResults.handlesPerCaller=2", "--set", "changes.streamsPerCaller=1"])
    let callers = try ["one", "other"].map { TestDaemon.bearer(try daemon.makeToken("read", ["--name", $0])) }
    for caller in callers {
      for (path, body) in [("/v1/fetchResults", "{}"), ("/v1/transientCollections", #"{"assets": []}"#)] {
        let statuses = try (0..<3).map { _ in try daemon.post(path, body, [caller]).status }
        #expect(statuses == [201, 201, 429], "\(path)")
      }
    }
    let streams = try callers.map { try EventStream(daemon, "", [$0]) }
    #expect(streams.allSatisfy { $0.status == 200 })
    let refused = try daemon.get("/v1/changes/stream", [callers[0]])
    #expect(refused.status == 429 && refused.json["type"] as? String == "/problems/too-many-streams")
  }
}
