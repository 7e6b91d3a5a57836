import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Change lists and change streams, over sockets.
@Suite("Changes", .blocking)
struct ChangeTests {
  private typealias Object = [String: Any]

  private func perform(_ entries: String, _ daemon: TestDaemon) throws -> Object {
    let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entries)]}")
    #expect(answer.status == 200, "\(answer.json)")
    return answer.json
  }

  @Test("a client's change reaches a stream with the same details and token as in the history")
  func twoClients() throws {
    let daemon = try TestDaemon.ofCards()
    let (a, b) = (try daemon.identifier("0.jpg"), try daemon.identifier("1.jpg"))
    let stream = try EventStream(daemon)
    #expect(stream.status == 200 && stream.fields.contains("text/event-stream"))
    let start = try #require(stream.begin())
    let done = try perform(
      """
      {"type": "createFolder", "title": "F", "placeholder": "$f"},
      {"type": "createAlbum", "title": "Ä", "parent": "$f", "placeholder": "$a"},
      {"type": "addAssets", "collection": "$a", "assets": ["\(a)", "\(b)"]},
      {"type": "moveAssets", "collection": "$a", "assets": ["\(b)"], "index": 0},
      {"type": "updateCollection", "collection": "$a", "keyAsset": "\(a)", "title": "B"},
      {"type": "updateAsset", "asset": "\(a)", "isFavorite": true, "creationDate": "2001-02-03T04:05:06Z",
        "location": {"latitude": 1.5, "longitude": -2}}
      """, daemon)
    let created = try #require(done["created"] as? [String: String])
    let album = try #require(created["$a"])
    let event = try #require(stream.next())
    #expect(event.name == "change" && event.id == done["changeToken"] as? String)
    #expect(event.identifiers("assets", "updated") == [a])
    #expect(Set(event.identifiers("collections", "inserted")) == Set(created.values))
    let history = try daemon.get("/v1/changes?since=\(start)")
    #expect(history.status == 200 && NSDictionary(dictionary: history.json) == NSDictionary(dictionary: event.json))
    let asset = try daemon.get("/v1/assets/\(a)").json
    #expect(asset["isFavorite"] as? Bool == true && asset["creationDate"] as? String == "2001-02-03T04:05:06Z")
    #expect((asset["location"] as? Object)?["longitude"] as? Double == -2)
    let members = try daemon.get("/v1/collections/\(album)/assets").json["assets"] as? [Object]
    #expect(members?.compactMap { $0["localIdentifier"] as? String } == [b, a])
    let collection = try daemon.get("/v1/collections/\(album)").json
    #expect(collection["title"] as? String == "B" && collection["keyAssets"] as? [String] == [a])
    let moment = try daemon.get("/v1/collections?type=moment").json["collections"] as? [Object]
    #expect(moment?.contains { $0["startDate"] as? String == "2001-02-03T04:05:06Z" } == true, "moments follow")
    // This would overwrite another client's update.
    let revision = try #require(asset["revision"] as? String)
    _ = try perform(
      "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isHidden\": true, \"ifMatch\": \"\(revision)\"}", daemon)
    // Text that is no token of this daemon matches no revision either.
    for text in [revision, "AAAAAAAAAAA", "x", ""] {
      let late = try daemon.post(
        "/v1/changes",
        "{\"changes\": [{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isHidden\": false, \"ifMatch\": \"\(text)\"}]}"
      )
      #expect(late.status == 412 && late.json["index"] as? Int == 0, "\(text)")
      #expect(late.json["parameter"] as? String == "ifMatch", "\(text)")
    }
  }

  @Test("a change whose If-Match or If-None-Match fails is not made")
  func conditions() throws {
    let daemon = try TestDaemon.ofCards(1)
    let asset = try daemon.identifier("0.jpg")
    // Its tag changes when it gets one.
    try daemon.until("it has a placeholder") {
      try daemon.get("/v1/assets/\(asset)").json["placeholder"] as? String != nil
    }
    let created = try perform(#"{"type": "createAlbum", "title": "A", "placeholder": "$a"}"#, daemon)
    let album = try #require((created["created"] as? [String: String])?["$a"])
    for path in ["/v1/assets/\(asset)", "/v1/collections/\(album)"] {
      func keep(_ keep: Bool, _ field: String) throws -> Int {
        try daemon.post("\(path)/keepOriginal", #"{"keep": \#(keep)}"#, method: "PUT", [field]).status
      }
      let tag = try #require(try daemon.get(path)["ETag"])
      for field in [#"If-Match: "x""#, "If-None-Match: *", "If-None-Match: \(tag)"] {
        #expect(try keep(true, field) == 412, "\(path): \(field)")
      }
      #expect(try daemon.get(path).json["keepOriginal"] as? Bool == false, "\(path)")
      #expect(try keep(true, "If-Match: \(tag)") == 204, "\(path)")
      #expect(try daemon.get(path).json["keepOriginal"] as? Bool == true, "\(path)")
      #expect(try keep(false, "If-Match: \(tag)") == 412, "\(path) has changed")
      #expect(try keep(false, "If-Match: *") == 204, "\(path)")
    }
    let list = #"{"changes": [{"type": "updateAsset", "asset": "\#(asset)", "isFavorite": true}]}"#
    let refused = try daemon.post("/v1/changes", list, [#"If-Match: "x""#])
    #expect(refused.status == 412 && (refused.json["detail"] as? String)?.contains("ifMatch") == true)
    #expect(try daemon.get("/v1/assets/\(asset)").json["isFavorite"] as? Bool == false)
    #expect(try daemon.post("/v1/changes", list, ["If-Match: *"]).status == 200)
  }

  @Test("changes of the folder reach a stream, and a client that reconnects gets what it missed once")
  func resuming() throws {
    let daemon = try TestDaemon.ofCards()
    var stream: EventStream? = try EventStream(daemon)
    let start = try #require(stream?.begin())
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 60, height: 40))
    func scanned() throws {
      try TestDaemon.succeed(["scan", "--library", daemon.library, "--data", daemon.data])
    }
    try Data(picture).write(to: URL(filePath: daemon.library + "/new.jpg"))
    try scanned()
    let event = try #require(stream?.next())
    let new = try daemon.identifier("new.jpg")
    #expect(event.identifiers("assets", "inserted") == [new])
    // The client disconnects and misses a change.
    stream = nil
    let album = try perform("{\"type\": \"createAlbum\", \"title\": \"A\", \"placeholder\": \"$a\"}", daemon)
    try FileManager.default.removeItem(atPath: daemon.library + "/new.jpg")
    try scanned()
    let last = try #require(event.id)
    stream = try EventStream(daemon, "?since=\(start)", ["Last-Event-ID: \(last)"])
    #expect(stream?.begin() == last)
    let missed = try #require(stream?.next())
    #expect(missed.identifiers("assets", "deleted") == [new] && missed.identifiers("assets", "inserted").isEmpty)
    #expect(
      missed.identifiers("collections", "inserted") == Array((album["created"] as? [String: String] ?? [:]).values))
    // Since the beginning: the object was created and deleted, so it is not named.
    let whole = try EventStream(daemon, "?since=\(start)")
    #expect(whole.next()?.identifiers("assets", "deleted") == [])
  }

  @Test("a stream sends only the requested kinds of changes")
  func narrowed() throws {
    let daemon = try TestDaemon.ofCards()
    let (a, b) = (try daemon.identifier("0.jpg"), try daemon.identifier("1.jpg"))
    let made = try perform("{\"type\": \"createAlbum\", \"title\": \"A\", \"placeholder\": \"$a\"}", daemon)
    let album = try #require((made["created"] as? [String: String])?["$a"])
    let ofCollections = try EventStream(daemon, "?types=collection")
    let ofAlbum = try EventStream(daemon, "?types=asset&collection=\(album)")
    _ = (ofCollections.begin(), ofAlbum.begin())
    _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(b)\", \"isFavorite\": true}", daemon)
    _ = try perform("{\"type\": \"addAssets\", \"collection\": \"\(album)\", \"assets\": [\"\(a)\"]}", daemon)
    let first = try #require(ofCollections.next())
    #expect(first.identifiers("collections", "updated") == [album] && first.identifiers("assets", "updated").isEmpty)
    let second = try #require(ofAlbum.next())
    #expect(second.identifiers("assets", "inserted") == [a] && second.identifiers("collections", "updated").isEmpty)
    for (query, status, parameter) in [
      ("types=photo", 400, "types"), ("collection=nothing", 404, "collection"), ("since=1", 400, "since"),
      ("stranger=1", 400, "stranger"),
    ] {
      for path in ["/v1/changes/stream", "/v1/changes"] {
        let joint = path == "/v1/changes" && parameter != "since" ? "&since=\(made["changeToken"] ?? "")" : ""
        let answer = try daemon.get("\(path)?\(query)\(joint)")
        #expect(answer.status == status && answer.json["parameter"] as? String == parameter, "\(path) \(query)")
      }
    }
  }

  @Test("the history and the trash have entity tags, and are compressed if the client accepts that")
  func coding() throws {
    let daemon = try TestDaemon.ofCards()
    let start = try #require(try daemon.get("/v1/assets?limit=1").json["changeToken"] as? String)
    let folders = (0..<40).map { #"{"type": "createFolder", "title": "F\#($0)"}"# }.joined(separator: ",")
    _ = try perform(folders + #", {"type": "deleteAsset", "asset": "\#(try daemon.identifier("0.jpg"))"}"#, daemon)
    for path in ["/v1/changes?since=\(start)", "/v1/trash"] {
      let plain = try daemon.get(path)
      let tag = try #require(plain["ETag"], "\(path)")
      #expect(try daemon.get(path, ["If-None-Match: \(tag)"]).status == 304)
      let coded = try daemon.get(path, ["Accept-Encoding: gzip"])
      let isLong = plain.body.count >= 1024
      #expect((coded["Content-Encoding"] == "gzip") == isLong && (coded["ETag"] != tag) == isLong)
      #expect(isLong == path.hasPrefix("/v1/changes"))
    }
    _ = try perform(#"{"type": "createFolder", "title": "last"}"#, daemon)
    #expect(try daemon.get("/v1/changes?since=\(start)")["ETag"] != daemon.get("/v1/trash")["ETag"])
  }

  @Test("a client that is too far behind gets a reload event, and later changes")
  func reloading() throws {
    let daemon = try TestDaemon.ofCards(settings: "PHOTOD_CHANGES_STREAM_LAG_OBJECTS=3")
    let a = try daemon.identifier("0.jpg")
    let before = try #require(try daemon.get("/v1/assets").json["changeToken"] as? String)
    for number in 0..<4 {
      _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isFavorite\": \(number % 2 == 0)}", daemon)
    }
    let now = try #require(try daemon.get("/v1/assets").json["changeToken"] as? String)
    let stream = try EventStream(daemon, "?since=\(before)")
    let reload = try #require(stream.next())
    #expect(reload.name == "reload" && reload.id == now && reload.json["changeToken"] as? String == now)
    _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isHidden\": true}", daemon)
    #expect(stream.next()?.name == "change")
  }

  @Test("a browser that reconnects to another catalogue gets a reload event, and later changes")
  func foreignEvent() throws {
    let (daemon, other) = (try TestDaemon.ofCards(1), try TestDaemon.ofCards(1))
    for last in ["nonsense", try #require(try EventStream(other).begin())] {
      let now = try #require(try EventStream(daemon).begin())
      let stream = try EventStream(daemon, "?since=\(last)", ["Last-Event-ID: \(last)"])
      let reload = try #require(stream.next())
      #expect(stream.status == 200 && reload.name == "reload" && reload.id == now)
      _ = try perform("{\"type\": \"createAlbum\", \"title\": \"A\"}", daemon)
      #expect(stream.next()?.identifiers("collections", "inserted").count == 1)
      #expect(
        try daemon.get("/v1/changes/stream?collection=nothing", ["Last-Event-ID: \(last)"]).status == 404)
    }
    #expect(try daemon.get("/v1/changes/stream?since=nonsense").status == 400)
  }

  @Test("an expired token is 410 for a request, and a reload event for a stream")
  func expiry() throws {
    let daemon = try TestDaemon.ofCards()
    let a = try daemon.identifier("0.jpg")
    let before = try #require(try daemon.get("/v1/assets").json["changeToken"] as? String)
    _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isFavorite\": true}", daemon)
    // The daemon may be writing at the same time.
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    try DatabaseQueue(path: daemon.data + "/catalogue.sqlite", configuration: configuration).write { db in
      try db.execute(
        sql: """
          UPDATE catalogueValue SET value = (SELECT revision FROM library WHERE id = 0) WHERE name = 'historyStart'
          """)
    }
    let answer = try daemon.get("/v1/changes?since=\(before)")
    #expect(answer.status == 410 && answer.json["type"] as? String == "/problems/change-token-expired")
    #expect(try EventStream(daemon, "?since=\(before)").next()?.name == "reload")
    #expect(try daemon.get("/v1/changes").json["parameter"] as? String == "since")
  }

  @Test("streams are limited in number, occupy no worker, send heartbeats, and end with the daemon")
  func streams() throws {
    let daemon = try TestDaemon.ofCards(
      settings:
        "PHOTOD_CHANGES_STREAMS=3 PHOTOD_CHANGES_STREAM_HEARTBEAT_SECONDS=1 PHOTOD_HTTP_KEEP_ALIVE_TIMEOUT_SECONDS=1 PHOTOD_HTTP_SEND_TIMEOUT_SECONDS=1"
    )
    var streams = try (0..<3).map { _ in try EventStream(daemon) }
    for stream in streams { _ = stream.begin() }
    let refused = try daemon.get("/v1/changes/stream")
    #expect(refused.status == 429 && refused.json["type"] as? String == "/problems/too-many-streams")
    // Longer than any deadline of the server.
    for _ in 0..<3 { for stream in streams { #expect(stream.readHeartbeat()); _ = stream.next(untilEmpty: true) } }
    #expect(try daemon.get("/v1/assets").status == 200)
    streams.removeFirst().leave()
    var accepted: EventStream?
    try daemon.until("another stream is accepted") {
      accepted = try EventStream(daemon)
      return accepted?.status == 200
    }
    #expect(daemon.terminate() == 0)
    for stream in streams { #expect(stream.next() == nil) }
  }

  @Test("an invalid change list is refused with the entry, the member and a remedy, and changes nothing")
  func badLists() throws {
    let daemon = try TestDaemon.ofCards()
    let a = try daemon.identifier("0.jpg")
    let good = "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isFavorite\": true}"
    let before = try #require(try daemon.get("/v1/assets").json["changeToken"] as? String)
    let smart = try #require(
      (try daemon.get("/v1/collections?type=smartAlbum").json["collections"] as? [Object])?.first?["localIdentifier"])
    let cases: [(entry: String, status: Int, kind: String, parameter: String)] = [
      ("{}", 400, "invalid-parameter", "type"),
      ("{\"type\": \"paint\"}", 400, "invalid-parameter", "type"),
      ("{\"type\": 1}", 400, "invalid-parameter", "type"),
      ("1", 400, "invalid-parameter", "changes"),
      ("{\"type\": \"updateAsset\", \"isFavorite\": true}", 400, "invalid-parameter", "asset"),
      ("{\"type\": \"updateAsset\", \"asset\": \"\(a)\"}", 400, "invalid-parameter", "type"),
      ("{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"foo\": 1}", 400, "unknown-parameter", "foo"),
      ("{\"type\": \"updateCollection\", \"collection\": \"$a\", \"foo\": 1}", 400, "unknown-parameter", "foo"),
      ("{\"type\": \"updateCollection\", \"collection\": \"$a\"}", 400, "invalid-parameter", "type"),
      (#"{"type": "updateAsset", "asset": "\#(a)", "isHidden": true, "x": 1}"#, 400, "unknown-parameter", "x"),
      ("{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isFavorite\": 1}", 400, "invalid-parameter", "isFavorite"),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"isFavorite\": null}", 400, "invalid-parameter", "isFavorite"
      ),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"creationDate\": \"yesterday\"}", 400, "invalid-parameter",
        "creationDate"
      ),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"creationDate\": null}", 400, "invalid-parameter",
        "creationDate"
      ),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"location\": {\"latitude\": 90.1, \"longitude\": 0}}", 400,
        "invalid-parameter", "location"
      ),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"location\": {\"latitude\": 1}}", 400, "invalid-parameter",
        "location"
      ),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"location\": {\"latitude\": 1, \"longitude\": 1, \"name\": 1}}",
        400, "invalid-parameter", "location"
      ),
      (
        "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"location\": \"here\"}", 400, "invalid-parameter", "location"
      ),
      ("{\"type\": \"updateAsset\", \"asset\": \"../a\", \"isHidden\": true}", 400, "invalid-parameter", "asset"),
      ("{\"type\": \"updateAsset\", \"asset\": \"nothing\", \"isHidden\": true}", 404, "asset-not-found", "asset"),
      ("{\"type\": \"updateAsset\", \"asset\": \"$x\", \"isHidden\": true}", 400, "invalid-parameter", "asset"),
      (#"{"type": "deleteAsset", "asset": "\#(a)", "ifMatch": null}"#, 400, "invalid-parameter", "ifMatch"),
      (#"{"type": "createAlbum", "title": "a", "placeholder": null}"#, 400, "invalid-parameter", "placeholder"),
      (#"{"type": "createAsset", "path": null, "upload": "x"}"#, 400, "invalid-parameter", "path"),
      ("{\"type\": \"createAlbum\"}", 400, "invalid-parameter", "title"),
      ("{\"type\": \"createAlbum\", \"title\": \"\"}", 400, "invalid-parameter", "title"),
      ("{\"type\": \"createAlbum\", \"title\": \"a\\nb\"}", 400, "invalid-parameter", "title"),
      (
        "{\"type\": \"createAlbum\", \"title\": \"\(String(repeating: "x", count: 513))\"}", 400, "invalid-parameter",
        "title"
      ),
      (
        "{\"type\": \"createAlbum\", \"title\": \"a\", \"placeholder\": \"a\"}", 400, "invalid-parameter", "placeholder"
      ),
      ("{\"type\": \"createAlbum\", \"title\": \"a\", \"parent\": \"nothing\"}", 404, "collection-not-found", "parent"),
      (
        "{\"type\": \"createAlbum\", \"title\": \"a\", \"parent\": \"\(smart)\"}", 409, "collection-not-editable",
        "parent"
      ),
      (
        "{\"type\": \"updateCollection\", \"collection\": \"\(smart)\", \"title\": \"a\"}", 409,
        "collection-not-editable", "collection"
      ),
      (
        "{\"type\": \"addAssets\", \"collection\": \"\(smart)\", \"assets\": [\"\(a)\"]}", 409,
        "collection-not-editable", "collection"
      ),
      (
        "{\"type\": \"addAssets\", \"collection\": \"nothing\", \"assets\": [\"\(a)\"]}", 404, "collection-not-found",
        "collection"
      ),
      ("{\"type\": \"addAssets\", \"collection\": \"nothing\"}", 400, "invalid-parameter", "assets"),
      ("{\"type\": \"insertAssets\", \"collection\": \"nothing\", \"assets\": []}", 400, "invalid-parameter", "index"),
      (
        "{\"type\": \"insertAssets\", \"collection\": \"nothing\", \"assets\": [], \"index\": -1}", 400,
        "invalid-parameter", "index"
      ),
      (
        "{\"type\": \"replaceAssets\", \"collection\": \"nothing\", \"assets\": [\"\(a)\"], \"indexes\": []}", 400,
        "invalid-parameter", "indexes"
      ),
      ("{\"type\": \"createAsset\", \"path\": \"/etc/passwd\"}", 400, "invalid-parameter", "path"),
      ("{\"type\": \"createAsset\"}", 400, "invalid-parameter", "path"),
      ("{\"type\": \"setAdjustments\", \"asset\": \"\(a)\"}", 400, "invalid-parameter", "adjustments"),
      (
        "{\"type\": \"setAdjustments\", \"asset\": \"\(a)\", \"adjustments\": {\"operations\": [{\"type\": \"glow\"}]}}",
        422, "adjustments-invalid", "operations"
      ),
      ("{\"type\": \"revertAdjustments\"}", 400, "invalid-parameter", "asset"),
      ("{\"type\": \"revertAdjustments\", \"asset\": \"nothing\"}", 404, "asset-not-found", "asset"),
      ("{\"type\": \"revertAdjustments\", \"assets\": [\"nothing\"]}", 404, "asset-not-found", "assets"),
      ("{\"type\": \"revertAdjustments\", \"asset\": \"$x\"}", 400, "invalid-parameter", "asset"),
      ("{\"type\": \"revertAdjustments\", \"assets\": [\"\(a)\", \"$x\"]}", 400, "invalid-parameter", "assets"),
      (
        "{\"type\": \"setAdjustments\", \"assets\": [\"\(a)\", \"\(a)\"], \"adjustments\": {\"operations\": []}}", 400,
        "invalid-parameter", "assets"
      ),
    ]
    for (entry, status, kind, parameter) in cases {
      let answer = try daemon.post("/v1/changes", "{\"changes\": [\(good), \(entry)]}")
      #expect(answer.status == status, "\(entry) \(answer.json)")
      #expect(answer["Content-Type"] == "application/problem+json")
      #expect(answer.json["type"] as? String == "/problems/\(kind)", "\(entry) \(answer.json)")
      #expect(answer.json["parameter"] as? String == parameter, "\(entry) \(answer.json)")
      #expect(answer.json["index"] as? Int == 1, "\(entry)")
    }
    let unknown = try daemon.post(
      "/v1/changes", "{\"changes\": [{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"rating\": 1, \"x\": 1}]}")
    let detail = try #require(unknown.json["detail"] as? String)
    for member in ["isFavorite", "isHidden", "location"] {
      #expect(detail.components(separatedBy: member).count == 2, "listed once: \(detail)")
    }
    // These are in other years in UTC.
    for date in ["9999-12-31T23:30:00-01:00", "0000-01-01T00:30:00+01:00"] {
      let entry = "{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"creationDate\": \"\(date)\"}"
      let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entry)]}")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == "creationDate", "\(date)")
      #expect((answer.json["detail"] as? String)?.contains("0000 to 9999 in UTC") == true, "\(answer.json)")
    }
    for (body, type, status) in [
      ("[]", "application/json", 400), ("{\"changes\": {}}", "application/json", 400),
      ("{\"changes\": [], \"more\": 1}", "application/json", 400), ("{\"changes\": []}", "text/plain", 415),
      ("{", "application/json", 400),
      ("{\"changes\": [\(Array(repeating: good, count: 1001).joined(separator: ","))]}", "application/json", 400),
    ] {
      let answer = try daemon.post("/v1/changes", body, type: type)
      #expect(answer.status == status && answer.json["index"] == nil, "\(body.prefix(40))")
    }
    #expect(try daemon.get("/v1/assets").json["changeToken"] as? String == before)
    #expect(try daemon.get("/v1/assets/\(a)").json["isFavorite"] as? Bool == false)
    // Last: from the first token on, every request needs one.
    let writer = TestDaemon.bearer(try daemon.makeToken("read,write"))
    let place = "{\"changes\": [{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"location\": null}]}"
    let refused = try daemon.post("/v1/changes", place, [writer])
    #expect(refused.status == 403 && refused.json["index"] as? Int == 0)
    #expect(refused.json["parameter"] as? String == "location")
  }
}
