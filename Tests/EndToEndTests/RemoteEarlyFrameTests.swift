import Foundation
import PhotoFixtures
import StoreFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Frames of originals that arrive", .blocking)
struct RemoteEarlyFrameTests {
  private static func picture(isProgressive: Bool) -> [UInt8] {
    JPEGFile {
      $0.quality = 95
      $0.isProgressive = isProgressive
    }.encoded(Scene(seed: 8, grain: 30).pixels(width: 1600, height: 1200))
  }

  @Test func `A progressive photograph is shown by its first scans while the rest is on its way`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", Self.picture(isProgressive: true))
    let daemon = try remote.daemon()
    let gate = Gate()
    remote.hold(gate)
    defer { gate.open() }
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=1000x1000&networkAccessAllowed=true"
    let connection = try daemon.connection()
    defer { close(connection) }
    let request = Array(
      "GET \(image)&deliveryMode=opportunistic&multipart=mixed HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    try #require(Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    var answer = Data()
    var chunk = [UInt8](repeating: 0, count: 65_536)
    func read(until text: String) throws {
      while answer.range(of: Data(text.utf8)) == nil {
        let count = recv(connection, &chunk, chunk.count, 0)
        try #require(count > 0, "\(text) did not come")
        answer += chunk[..<count]
      }
    }
    try read(until: "degraded=?1, in-cloud=?1")
    #expect(answer.range(of: Data("degraded=?0".utf8)) == nil)
    gate.open()
    try read(until: "degraded=?0, in-cloud=?0")
    #expect(answer.range(of: Data("source=network".utf8)) != nil)
    #expect(remote.downloads(of: "a.jpg") == 1)
  }

  @Test func `A photograph is decoded while it arrives, and its frame is the one of a complete file`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", Self.picture(isProgressive: false))
    let daemon = try remote.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=900x900&networkAccessAllowed=true"
    let gate = Gate()
    remote.hold(gate)
    defer { gate.open() }
    let before = try #require(try daemon.metric("photod_memory_in_use_bytes"))
    let waiting = WaitingResponses()
    waiting.begin(0) { try daemon.get(image) }
    // It keeps its memory until the other half of the file has arrived.
    try daemon.until("the render has begun") { try daemon.metric("photod_memory_in_use_bytes") ?? 0 > before }
    gate.open()
    let early = try #require(try waiting.wait().first)
    #expect(early.status == 200 && early.result("source") == "network")
    #expect(try daemon.metric("photod_image_early_renders_total{result=\"finished\"}") == 1)
    let path = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=900x900"
    let again = try daemon.get(path, ["Cache-Control: no-cache"])
    #expect(again.result("source") == "original")
    #expect(early.body == again.body)
    // The same decode has made the derivatives.
    try daemon.until("derivatives are stored") {
      try daemon.metric("photod_disk_cache_entries{kind=\"derivative\"}") == 2
    }
  }
}
