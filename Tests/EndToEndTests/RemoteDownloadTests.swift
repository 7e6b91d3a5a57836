import Foundation
import StoreFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Downloads of originals", .blocking)
struct RemoteDownloadTests {
  private static let network = "&networkAccessAllowed=true"

  @Test func `All who want an original wait for one download, and local pictures do not wait with them`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for name in ["a", "b"] { remote.set("\(name).jpg", RemoteFixture.picture(Int(name.utf8.first!))) }
    // More requests wait for the store than there are workers of any kind.
    let daemon = try remote.daemon(["--set", "render.workers=1", "--set", "render.queueLength=4"])
    #expect(try daemon.image("b.jpg", "targetSize=50x50" + Self.network).status == 200)
    let gate = Gate()
    remote.hold(gate)
    defer { gate.open() }
    let waiting = WaitingResponses()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize="
    // As many sizes as the queue of downloads takes, each twice.
    for number in 0..<8 { waiting.begin(number) { try daemon.get("\(image)\(200 + number / 2)x900\(Self.network)") } }
    let original = "/v1/assets/\(try daemon.identifier("a.jpg"))/data?networkAccessAllowed=true"
    for number in 8..<12 { waiting.begin(number) { try daemon.get(original) } }
    try daemon.until("all wait") { try daemon.metric("photod_downloads{state=\"running\"}") == 1 }
    try daemon.until("all are listed") {
      let requests = try #require(try daemon.get("/v1/requests").json["requests"] as? [[String: Any]])
      return requests.count == 8
        && requests.allSatisfy { $0["stage"] as? String == "downloading" && ($0["progress"] as? Double ?? 0) > 0.3 }
    }
    for side in 60..<70 {
      #expect(try daemon.image("b.jpg", "targetSize=\(side)x\(side)").status == 200)
    }
    #expect(waiting.count == 0)
    gate.open()
    #expect(try waiting.wait().allSatisfy { $0.status == 200 })
    #expect(remote.downloads(of: "a.jpg") == 1)
  }

  @Test func `The download ends when the last who waits disconnects`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon()
    let gate = Gate()
    remote.hold(gate)
    defer { gate.open() }
    let path = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    func request(_ target: String) throws -> Int32 {
      let connection = try daemon.connection()
      let bytes = Array("GET \(path)/\(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
      try #require(Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
      return connection
    }
    func imageRequests() throws -> Int {
      try #require(try daemon.get("/v1/requests").json["requests"] as? [[String: Any]]).count
    }
    // The list of requests shows only that of the image.
    let original = try request("data?networkAccessAllowed=true")
    try daemon.until("the download runs") { remote.downloads(of: "a.jpg") == 1 }
    let image = try request("image?targetSize=100x100\(Self.network)")
    try daemon.until("both wait") { try imageRequests() == 1 }
    close(image)
    try daemon.until("one has left") { try imageRequests() == 0 }
    #expect(try daemon.metric("photod_downloads{state=\"running\"}") == 1)
    close(original)
    try daemon.until("the download has ended") {
      try daemon.metric("photod_downloads_ended_total{result=\"abandoned\"}") == 1
    }
    try daemon.until("its file is gone") { remote.localOriginals.isEmpty }
    #expect(try daemon.metric("photod_originals_reserved_bytes") == 0)
  }

  @Test func `A local original whose first bytes are damaged is downloaded again`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let picture = RemoteFixture.picture(1)
    remote.set("a.jpg", picture)
    let daemon = try remote.daemon()
    #expect(try daemon.image("a.jpg", "targetSize=50x50" + Self.network).status == 200)
    let name = try #require(remote.localOriginals.first)
    let file = try FileHandle(forWritingTo: URL(filePath: remote.folders.data + "/originals/" + name))
    try file.write(contentsOf: Data(count: 2048))
    try file.close()
    let data = "/v1/assets/\(try daemon.identifier("a.jpg"))/data?includeLocation=true"
    #expect(try daemon.get(data).problem == "/problems/image-is-in-cloud")
    let again = try daemon.get(data + Self.network)
    #expect(again.status == 200 && again.body == picture)
    #expect(remote.downloads(of: "a.jpg") == 2)
  }

  @Test func `A smaller picture stands in for an original that made room for others`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for name in ["a", "b"] {
      remote.set("\(name).jpg", RemoteFixture.picture(Int(name.utf8.first!), padding: 600_000))
    }
    let daemon = try remote.daemon(["--set", "originals.diskBytes=1048576"])
    #expect(try daemon.image("a.jpg", "targetSize=900x900" + Self.network).status == 200)
    try daemon.until("derivatives are stored") {
      (try daemon.metric("photod_disk_cache_entries{kind=\"derivative\"}") ?? 0) >= 1
    }
    #expect(try daemon.image("b.jpg", "targetSize=900x900" + Self.network).status == 200)
    #expect(try daemon.asset("a.jpg")["isInCloud"] as? Bool == true)
    #expect(remote.localOriginals.count == 1)
    for delivery in ["highQualityFormat", "fastFormat"] {
      let degraded = try daemon.image("a.jpg", "targetSize=1100x1100&deliveryMode=\(delivery)")
      #expect(degraded.status == 200 && degraded.result("in-cloud") == "?1" && degraded.result("degraded") == "?1")
      #expect(degraded["ETag"] == nil && degraded["Cache-Control"] == "no-store")
      #expect(degraded.result("source") == "derivative")
    }
    // A frame that a derivative gives is final.
    #expect(try daemon.image("a.jpg", "targetSize=100x100").result("in-cloud") == "?0")
    let both = try daemon.image(
      "a.jpg", "targetSize=1100x1100&deliveryMode=opportunistic&multipart=mixed" + Self.network)
    let progress = try Multipart(both).parts.filter { $0.fields["content-type"] == "application/json" }
    #expect(
      !progress.isEmpty && progress.allSatisfy { String(decoding: $0.body, as: UTF8.self).hasPrefix("{\"progress\":") })
    let parts = try Multipart(both).parts.filter { $0.fields["content-type"] == "image/jpeg" }
    #expect(parts.count == 2)
    #expect(parts.first?.fields["image-result"]?.contains("in-cloud=?1") == true)
    #expect(parts.last?.fields["image-result"]?.contains("degraded=?0, in-cloud=?0") == true)
    let alone = try daemon.image("b.jpg", "targetSize=1100x1100&deliveryMode=opportunistic&multipart=mixed")
    let only = try Multipart(alone).parts
    #expect(only.count == 1 && only[0].fields["etag"] == nil)
    #expect(only[0].fields["image-result"]?.contains("in-cloud=?1") == true)
  }

  @Test func `Originals are here after a restart, and half ones are removed`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for name in ["a", "b"] { remote.set("\(name).jpg", RemoteFixture.picture(Int(name.utf8.first!))) }
    do {
      let daemon = try remote.daemon()
      #expect(try daemon.image("a.jpg", "targetSize=100x100" + Self.network).status == 200)
      let gate = Gate()
      remote.hold(gate)
      defer { gate.open() }
      let image = "/v1/assets/\(try daemon.identifier("b.jpg"))/image?targetSize=10x10\(Self.network)"
      // No response: the daemon is killed.
      Thread.detachNewThread {
        _ = try? daemon.send("GET \(image) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      }
      try daemon.until("half of it is here") { remote.localOriginals.count == 2 }
      daemon.signal(SIGKILL)
      #expect(daemon.waitUntilKilled())
    }
    remote.server.misbehave(nil)
    let daemon = try remote.serve()
    #expect(remote.localOriginals.count == 1)
    #expect(try daemon.image("a.jpg", "targetSize=300x300").status == 200)
    #expect(try daemon.image("b.jpg", "targetSize=300x300" + Self.network).status == 200)
    // One daemon for one folder of originals.
    let second = try TestDaemon.run(
      ["serve", "--library", remote.library, "--data", remote.folders.data, "--listen", "127.0.0.1:0"]
        + remote.arguments, environment: remote.environment)
    #expect(second.status != 0 && second.error.contains("another daemon uses them"), "\(second.error)")
  }
}
