import Foundation
import Testing

@Suite("The end of change streams", .blocking)
struct EndedStreamTests {
  @Test("an idle stream ends when its token is revoked or expires, and when its browser signs out")
  func credentials() throws {
    // No heartbeat comes that would find the ended credential.
    let daemon = try TestDaemon.ofCards(1, settings: "PHOTOD_CHANGES_STREAM_HEARTBEAT_SECONDS=3600")
    func client(_ name: String) throws -> FetchResultClient {
      FetchResultClient(
        daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read", ["--name", name]))])
    }
    let (revoked, expired, kept) = (try client("revoked"), try client("expired"), try daemon.makeToken())
    let session = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(kept)"}"#)
    let cookie = "Cookie: \(try #require(session["Set-Cookie"]?.split(separator: ";").first))"
    let streams = [
      "revoked": try EventStream(daemon, "", revoked.fields),
      "revoked, of a fetch result": try revoked.listen(revoked.fetch()),
      "expired": try EventStream(daemon, "", expired.fields),
      "signed out": try EventStream(daemon, "", [cookie]),
    ]
    let other = try EventStream(daemon, "", [TestDaemon.bearer(kept)])
    for (name, stream) in streams { #expect(stream.begin() != nil, "\(name)") }
    _ = other.begin()
    _ = try daemon.token(["revoke", "revoked"])
    try daemon.script(
      "access.sqlite", "UPDATE token SET expires = CAST(strftime('%s', 'now') AS INTEGER) + 1 WHERE name = 'expired'")
    #expect(try daemon.ask("DELETE", "/v1/session", [cookie]).status == 204)
    for (name, stream) in streams { #expect(stream.next() == nil && !stream.hasTimedOut, "\(name)") }
    // The stream of a valid token stays.
    let local = FetchResultClient(daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,write"))])
    _ = try local.perform([#"{"type": "createAlbum", "title": "A"}"#])
    #expect(other.next()?.name == "change")
  }
  @Test("the stream of a collection reports its deletion to a limited caller, also after a new connection")
  func deletedCollections() throws {
    let daemon = try TestDaemon.ofCards(2)
    let assets = try ["0.jpg", "1.jpg"].map { try daemon.identifier($0) }
    let writer = FetchResultClient(daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,write"))])
    let made = try writer.perform([
      #"{"type": "createAlbum", "title": "A", "placeholder": "$a"}"#,
      #"{"type": "addAssets", "collection": "$a", "assets": ["\#(assets[0])"]}"#,
      #"{"type": "createFolder", "title": "F", "placeholder": "$f"}"#,
      #"{"type": "createAlbum", "title": "B", "parent": "$f", "placeholder": "$b"}"#,
      #"{"type": "addAssets", "collection": "$b", "assets": ["\#(assets[1])"]}"#,
    ])
    let created = try #require(made["created"] as? [String: Any])
    let album = try #require(created["$a"] as? String)
    let folder = try #require(created["$f"] as? String)
    let guest = [TestDaemon.bearer(try daemon.makeToken("read", ["--limit-to", album, "--limit-to", folder]))]
    for (collection, asset) in [(album, assets[0]), (folder, assets[1])] {
      let stream = try EventStream(daemon, "?collection=\(collection)", guest)
      let start = try #require(stream.begin())
      _ = try writer.perform([#"{"type": "deleteCollection", "collection": "\#(collection)"}"#])
      let again = try EventStream(daemon, "?collection=\(collection)", guest + ["Last-Event-ID: \(start)"])
      for stream in [stream, again] {
        let event = try #require(stream.next())
        #expect(stream.status == 200 && event.name == "change")
        #expect(event.identifiers("collections", "deleted") == [collection])
        #expect(event.identifiers("assets", "deleted") == [asset])
      }
    }
    #expect(try EventStream(daemon, "?collection=never", guest).status == 404)
  }
}
