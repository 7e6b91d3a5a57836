import Foundation
import StoreFixtures
import Testing

@Suite("Windows over remote libraries", .blocking)
struct RemoteWindowTests {
  private static let names = (0..<6).map { "\($0).jpg" }

  private static func move(
    _ daemon: TestDaemon, _ names: ArraySlice<String>, options: String = #"{"networkAccessAllowed": true}"#
  ) throws {
    let assets = try names.map { "\"\(try daemon.identifier($0))\"" }.joined(separator: ",")
    let answer = try daemon.post(
      "/v1/cachingManagers/default/window",
      "{\"assets\":[\(assets)],\"visible\":[0,\(names.count - 1)],\"margin\":0,\"targetSize\":\"700x700\",\"options\":\(options)}",
      method: "PUT")
    #expect(answer.status == 200, "\(answer.json)")
  }

  private static func library() throws -> RemoteFixture {
    let remote = try RemoteFixture()
    for (number, name) in names.enumerated() { remote.set(name, RemoteFixture.picture(number)) }
    return remote
  }

  @Test func `A window downloads the originals that it needs, and a request is then a memory hit`() throws {
    let remote = try Self.library()
    defer { remote.stop() }
    let daemon = try remote.daemon()
    try Self.move(daemon, Self.names[..<2], options: "{}")
    try daemon.until("it is done without the network") { try daemon.metric("photod_preheat_pending") == 0 }
    #expect(remote.downloads(of: "0.jpg") == 0)
    try Self.move(daemon, Self.names[..<3])
    try daemon.until("the frames are ready") { try daemon.metric("photod_preheat_prepared_total") == 3 }
    #expect(remote.localOriginals.count == 3)
    let answer = try daemon.image("1.jpg", "targetSize=700x700")
    #expect(answer.status == 200 && answer.result("source") == "memory" && answer.result("in-cloud") == "?0")
    #expect(Self.names.map { remote.downloads(of: $0) } == [1, 1, 1, 0, 0, 0])
  }

  @Test func `Downloads of a window are limited, yield to requests, and end when the window moves on`() throws {
    let remote = try Self.library()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "remote.prefetchConnections=2"])
    let gate = Gate()
    remote.hold(gate)
    defer { gate.open() }
    try Self.move(daemon, Self.names[..<4])
    try daemon.until("two downloads run") { try daemon.metric("photod_downloads{state=\"running\"}") == 2 }
    #expect(try daemon.metric("photod_downloads{state=\"waiting\"}") == 0)
    #expect(try daemon.metric("photod_preheat_pending") == 4)
    // Local pictures are prepared and served meanwhile, and a request gets a place of its own.
    let waiting = WaitingResponses()
    let image = "/v1/assets/\(try daemon.identifier("5.jpg"))/image?targetSize=100x100&networkAccessAllowed=true"
    waiting.begin(0) { try daemon.get(image) }
    try daemon.until("the request's download runs") { remote.downloads(of: "5.jpg") == 1 }
    try Self.move(daemon, Self.names[4..<5])
    try daemon.until("two downloads were abandoned") {
      try daemon.metric("photod_downloads_ended_total{result=\"abandoned\"}") == 2
    }
    gate.open()
    remote.server.misbehave(nil)
    #expect(try waiting.wait().allSatisfy { $0.status == 200 })
    try daemon.until("the window's new frame is ready") { try daemon.metric("photod_preheat_prepared_total") == 1 }
    #expect(remote.downloads(of: "2.jpg") == 0 && remote.downloads(of: "3.jpg") == 0)
    #expect(remote.downloads(of: "4.jpg") == 1)
  }

  @Test func `With no connections for windows nothing is downloaded in advance`() throws {
    let remote = try Self.library()
    defer { remote.stop() }
    let daemon = try remote.daemon(["--set", "remote.prefetchConnections=0"])
    try Self.move(daemon, Self.names[..<2])
    #expect(try daemon.image("5.jpg", "targetSize=100x100&networkAccessAllowed=true").status == 200)
    #expect(remote.downloads(of: "0.jpg") == 0 && remote.downloads(of: "1.jpg") == 0)
  }
}
