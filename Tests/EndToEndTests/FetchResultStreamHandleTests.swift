import Foundation
import Testing

/// Which handles of a stream exist, and for whom.
@Suite("Handles of fetch result streams", .blocking)
struct FetchResultStreamHandleTests {
  @Test("changes outside the list cause no event; a stream keeps its last two handles and the client's own")
  func handles() throws {
    let daemon = try TestDaemon.ofCards()
    let client = FetchResultClient(daemon: daemon)
    let names = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    let made = try client.perform([
      #"{"type": "createAlbum", "title": "A", "placeholder": "$a"}"#,
      #"{"type": "addAssets", "collection": "$a", "assets": ["\#(names[0])", "\#(names[1])"]}"#,
    ])
    let album = try #require((made["created"] as? [String: Any])?["$a"] as? String)
    let opened = try client.fetch("{\"collection\": \"\(album)\"}")
    var screen = try FetchResultScreen(client, opened)
    let stream = try client.listen(opened)
    _ = stream.begin()
    var sent: [String] = []
    for number in 0..<4 {
      _ = try client.perform([#"{"type": "updateAsset", "asset": "\#(names[3])", "isFavorite": \#(number % 2 == 0)}"#])
      _ = try client.perform([#"{"type": "createAlbum", "title": "\#(number)"}"#])
      _ = try client.perform([
        #"{"type": "moveAssets", "collection": "\#(album)", "assets": ["\#(names[number % 2])"], "index": 1}"#
      ])
      try screen.apply(try #require(stream.next()))
      #expect(screen.list.map(\.identifier) == [names[1 - number % 2], names[number % 2]])
      sent.append(screen.handle)
    }
    #expect(try sent.map { try daemon.get("/v1/fetchResults/\($0)").status } == [404, 404, 200, 200])
    #expect(try client.members(opened).map(\.identifier) == [names[0], names[1]])
    // The client ends its handle, and the stream continues.
    #expect(try client.end(opened) == 204)
    #expect(try client.end(sent[3]) == 204)
    _ = try client.perform([#"{"type": "removeAssets", "collection": "\#(album)", "assets": ["\#(names[0])"]}"#])
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == [names[1]])
    // The album is deleted.
    _ = try client.perform([#"{"type": "deleteCollection", "collection": "\#(album)"}"#])
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.isEmpty)
  }

  @Test("the last handle of a stream does not expire while the stream is open")
  func lease() throws {
    let daemon = try TestDaemon.ofCards(
      settings: "PHOTOD_FETCH_RESULTS_LEASE_SECONDS=2 PHOTOD_CHANGES_STREAM_HEARTBEAT_SECONDS=1")
    let client = FetchResultClient(daemon: daemon)
    let (streamed, unused) = (try client.fetch(), try client.fetch())
    let stream = try client.listen(streamed)
    _ = stream.begin()
    // Longer than the lease.
    for _ in 0..<4 { #expect(stream.readHeartbeat()); _ = stream.next(untilEmpty: true) }
    #expect(try daemon.get("/v1/fetchResults/\(unused)").status == 404)
    #expect(try daemon.get("/v1/fetchResults/\(streamed)").status == 200)
  }

  @Test("a caller that loses the location scope loses the fetch results that used locations, and keeps the others")
  func lostScope() throws {
    let daemon = try TestDaemon.ofCards(settings: "PHOTOD_CHANGES_STREAM_HEARTBEAT_SECONDS=1")
    let client = FetchResultClient(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,location", ["--name", "a"]))])
    let placed = [
      try client.fetch(#"{"predicate": "isFavorite == NO AND NOT (latitude > 1 OR pixelWidth == 1)"}"#),
      try client.fetch(#"{"predicate": "latitude == longitude"}"#),
      try client.fetch(#"{"sortDescriptors": "creationDate,-longitude"}"#),
    ]
    let other = try client.fetch()
    let stream = try client.listen(placed[0])
    let last = try #require(stream.begin())
    func statuses(_ handle: String) throws -> [Int] {
      let members = #"{"fetchResults": ["\#(handle)"]}"#
      let window = #"{"fetchResult": "\#(handle)", "visible": [0, 1], "targetSize": "9x9"}"#
      return [
        try daemon.get("/v1/fetchResults/\(handle)", client.fields).status,
        try daemon.get("/v1/fetchResults/\(handle)/assets", client.fields).status,
        try daemon.get("/v1/fetchResults/\(handle)/changes", client.fields).status,
        try daemon.ask("POST", "/v1/transientCollections", client.fields, body: members).status,
        try daemon.ask("PUT", "/v1/cachingManagers/default/window", client.fields, body: window).status,
        try client.listen(handle).status,
      ]
    }
    for handle in placed + [other] { #expect(try statuses(handle) == [200, 200, 200, 201, 200, 200]) }
    try daemon.script("access.sqlite", "UPDATE token SET scopes = 'read' WHERE name = 'a'")
    try daemon.until("it is known") {
      try daemon.get("/v1/authorization", client.fields).json["scopes"] as? [String] == ["read"]
    }
    for handle in placed { #expect(try statuses(handle) == Array(repeating: 404, count: 6)) }
    #expect(try client.listen(placed[0], ["Last-Event-ID: \(last)"]).status == 404)
    #expect(try statuses(other) == [200, 200, 200, 201, 200, 200])
    // The stream ends with the scope.
    while stream.readHeartbeat() { _ = stream.next(untilEmpty: true) }
    #expect(stream.next() == nil)
  }

  @Test("parameters that exclude each other are refused by name; another caller's handle does not exist")
  func refused() throws {
    let daemon = try TestDaemon.ofCards(1)
    let mine = FetchResultClient(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,location", ["--name", "a"]))])
    let others = FetchResultClient(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,location", ["--name", "b"]))])
    let handle = try mine.fetch()
    let token = try #require(try daemon.get("/v1/assets", mine.fields).json["changeToken"] as? String)
    for (parameter, value) in [("since", token), ("types", "asset"), ("collection", "album"), ("stranger", "1")] {
      let answer = try daemon.get("/v1/changes/stream?fetchResult=\(handle)&\(parameter)=\(value)", mine.fields)
      #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(answer.json)")
    }
    for (client, name) in [(others, handle), (mine, "none"), (mine, "")] {
      let answer = try daemon.get("/v1/changes/stream?fetchResult=\(name)", client.fields)
      #expect(answer.status == 404 && answer.json["type"] as? String == "/problems/fetch-result-not-found")
    }
    #expect(try others.listen(handle, ["Last-Event-ID: x.\(handle)"]).status == 404)
    let history = try daemon.get("/v1/changes?since=\(token)&fetchResult=\(handle)", mine.fields)
    #expect(history.status == 400 && history.json["parameter"] as? String == "fetchResult")
    #expect(try daemon.get("/v1/changes/stream?fetchResult=\(handle)", mine.fields, method: "HEAD").status == 200)
    // A stream ends with its token, as others do.
    let stream = try mine.listen(handle)
    _ = stream.begin()
    _ = try daemon.token(["revoke", "a"])
    try daemon.until("it is revoked") { try daemon.get("/v1/assets", mine.fields).status == 401 }
    _ = try FetchResultClient(daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,write"))]).perform([
      #"{"type": "createAlbum", "title": "A"}"#
    ])
    #expect(stream.next() == nil)
  }
}
