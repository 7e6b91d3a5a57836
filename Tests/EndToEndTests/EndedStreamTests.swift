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
}
