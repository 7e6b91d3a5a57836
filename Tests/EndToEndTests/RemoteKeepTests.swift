import Foundation
import Testing

@Suite("Originals to keep", .blocking)
struct RemoteKeepTests {
  private static let names = (0..<4).map { "\($0).jpg" }

  /// Four originals of which a store of 2 MiB has room for three.
  private static func library() throws -> RemoteFixture {
    let remote = try RemoteFixture()
    for (number, name) in names.enumerated() { remote.set(name, RemoteFixture.picture(number, padding: 600_000)) }
    return remote
  }

  private static let disk = ["--set", "originals.diskBytes=2097152"]

  private static func keep(_ daemon: TestDaemon, _ path: String, _ keep: Bool = true) throws {
    let answer = try daemon.post("\(path)/keepOriginal", #"{"keep": \#(keep)}"#, method: "PUT")
    #expect(answer.status == 204 && answer.body.isEmpty && answer["Cache-Control"] == "no-store", "\(answer)")
  }

  private static func path(_ daemon: TestDaemon, _ name: String) throws -> String {
    "/v1/assets/\(try daemon.identifier(name))"
  }

  private static func useAll(_ daemon: TestDaemon, except name: String? = nil) throws {
    for _ in 0..<2 {
      for other in names where other != name {
        // Not a picture, which could come from a cache.
        #expect(try daemon.get("\(path(daemon, other))/data?networkAccessAllowed=true").status == 200)
      }
    }
  }

  @Test func `A kept original is downloaded at once, and stays while others make room for each other`() throws {
    let remote = try Self.library()
    defer { remote.stop() }
    var daemon: TestDaemon? = try remote.daemon(Self.disk)
    do {
      let daemon = try #require(daemon)
      let asset = try Self.path(daemon, "0.jpg")
      let before = try daemon.get(asset)
      #expect(before.json["keepOriginal"] as? Bool == false)
      try Self.keep(daemon, asset)
      let after = try daemon.get(asset)
      #expect(after.json["keepOriginal"] as? Bool == true && after["ETag"] != before["ETag"])
      #expect(after.json["contentVersion"] as? String == before.json["contentVersion"] as? String)
      try daemon.until("it is here") { try daemon.asset("0.jpg")["isInCloud"] as? Bool == false }
      try Self.useAll(daemon, except: "0.jpg")
      #expect(try daemon.asset("0.jpg")["isInCloud"] as? Bool == false && remote.downloads(of: "0.jpg") == 1)
      #expect(try daemon.metric("photod_kept_originals{state=\"local\"}") == 1)
      let token = try daemon.get("/v1/changes").json["changeToken"] as? String
      try Self.keep(daemon, asset)
      #expect(try daemon.get("/v1/changes").json["changeToken"] as? String == token, "no change")
      for body in ["{}", #"{"keep": null}"#, #"{"keep": 1}"#, #"{"keep": true, "more": 1}"#] {
        #expect(try daemon.post("\(asset)/keepOriginal", body, method: "PUT").status == 400, "\(body)")
      }
      #expect(try daemon.post("/v1/assets/none/keepOriginal", #"{"keep": true}"#, method: "PUT").status == 404)
    }
    // The next daemon keeps it too.
    daemon = nil
    let next = try remote.serve(Self.disk)
    try Self.useAll(next, except: "0.jpg")
    #expect(try next.asset("0.jpg")["isInCloud"] as? Bool == false && remote.downloads(of: "0.jpg") == 1)
    try Self.keep(next, try Self.path(next, "0.jpg"), false)
    try next.until("it is like all others") {
      try next.metric("photod_kept_originals{state=\"local\"}") == 0
    }
    try Self.useAll(next, except: "0.jpg")
    #expect(try next.asset("0.jpg")["isInCloud"] as? Bool == true)
  }

  @Test func `An album and a folder keep what is in them now and later, within the share of the store`() throws {
    let remote = try Self.library()
    defer { remote.stop() }
    let daemon = try remote.daemon(Self.disk)
    let assets = try Self.names.map { try daemon.identifier($0) }
    func change(_ entries: String) throws -> [String: String] {
      let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entries)]}")
      #expect(answer.status == 200, "\(answer.json)")
      return answer.json["created"] as? [String: String] ?? [:]
    }
    let created = try change(
      #"{"type": "createFolder", "title": "F", "placeholder": "$f"}, {"type": "createAlbum", "title": "A", "parent": "$f", "placeholder": "$a"}, {"type": "addAssets", "collection": "$a", "assets": ["\#(assets[0])"]}"#
    )
    let (folder, album) = (try #require(created["$f"]), try #require(created["$a"]))
    try Self.keep(daemon, "/v1/collections/\(folder)")
    #expect(try daemon.get("/v1/collections/\(folder)").json["keepOriginal"] as? Bool == true)
    #expect(try daemon.get("/v1/collections/\(album)").json["keepOriginal"] as? Bool == false)
    try daemon.until("the first is here") { try daemon.asset("0.jpg")["isInCloud"] as? Bool == false }
    #expect(try daemon.asset("0.jpg")["keepOriginal"] as? Bool == false)
    let others = assets.dropFirst().map { "\"\($0)\"" }.joined(separator: ",")
    _ = try change(#"{"type": "addAssets", "collection": "\#(album)", "assets": [\#(others)]}"#)
    // Three quarters of the store have room for two.
    try daemon.until("as many as fit are here") {
      try daemon.metric("photod_kept_originals{state=\"local\"}") == 2
        && daemon.metric("photod_kept_originals{state=\"left_out\"}") == 2
    }
    #expect(remote.log.contains("originals to keep exceed originals.keptPercent"))
    for name in Self.names {
      #expect(
        try daemon.get("\(Self.path(daemon, name))/data?networkAccessAllowed=true").status == 200, "there is room")
    }
    let smart = try daemon.get("/v1/collections?type=smartAlbum").json["collections"] as? [[String: Any]]
    let identifier = try #require(smart?.first?["localIdentifier"] as? String)
    let refused = try daemon.post("/v1/collections/\(identifier)/keepOriginal", #"{"keep": true}"#, method: "PUT")
    #expect(refused.status == 409 && refused.problem == "/problems/collection-not-editable")
  }

  @Test func `In a library that is a folder the flag is stored and changes nothing else`() throws {
    let daemon = try TestDaemon { try $0.put(RemoteFixture.picture(1), "a.jpg") }
    let asset = try Self.path(daemon, "a.jpg")
    try Self.keep(daemon, asset)
    #expect(try daemon.get(asset).json["keepOriginal"] as? Bool == true)
    #expect(try daemon.metric("photod_kept_originals{state=\"local\"}") == 0)
  }
}
