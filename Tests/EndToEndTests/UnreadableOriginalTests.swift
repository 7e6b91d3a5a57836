import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Originals that photod may not read: the client gets a general text, and the log the cause.
@Suite("Unreadable originals", .blocking)
struct UnreadableOriginalTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 640, height: 480))

  /// A daemon that may not read its only picture, which a scan has read before.
  private static func daemon(_ prepare: (TestDaemon) throws -> Void = { _ in }) throws -> TestDaemon {
    // root may read everywhere unless it gives up these capabilities.
    let asUser = "setpriv --bounding-set=-dac_override,-dac_read_search"
    let daemon = try TestDaemon(
      unwatched: { try $0.put(picture, "a.jpg") },
      launcher: TestDaemon.loggingLauncher(geteuid() == 0 ? asUser : ""))
    try prepare(daemon)
    #expect(chmod(daemon.library + "/a.jpg", 0) == 0)
    return daemon
  }

  private static func expectLogged(_ event: String, _ daemon: TestDaemon) throws {
    try daemon.until("the log has \(event)") {
      daemon.log.contains {
        $0.contains("msg=\"\(event)\"") && $0.contains("error=\"Permission denied\"") && $0.contains("id=")
      }
    }
  }

  @Test("the log has the cause of each response that refers to it", arguments: ["data", "preview"])
  func logged(_ kind: String) throws {
    let daemon = try Self.daemon()
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let operations = #"{"operations": [{"type": "rotate", "quarterTurns": 1}], "targetSize": "100x100"}"#
    let answer =
      kind == "data" ? try daemon.get(asset + "/data") : try daemon.post(asset + "/preview", operations)
    #expect(answer.status == 500 && answer.json["type"] as? String == "/problems/original-unreadable", "\(answer.json)")
    try Self.expectLogged(kind == "data" ? "opening an original failed" : "preview failed", daemon)
  }

  @Test("the rest of an archive is refused if its file can no longer be read, and the cause is logged")
  func archive() throws {
    var target = ""
    var size = 0
    let daemon = try Self.daemon { daemon in
      target = "/v1/archive?assets=\(try daemon.identifier("a.jpg"))"
      size = try daemon.get(target).body.count
    }
    // It continues a download, so the file is opened when it is sent.
    try #require(size > 2000)
    let answer = try daemon.get(target, ["Range: bytes=1000-"])
    #expect(answer.status == 500 && answer.json["type"] as? String == "/problems/original-unreadable", "\(answer.json)")
    try Self.expectLogged("reading an archive failed", daemon)
  }
}
