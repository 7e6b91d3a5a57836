import HTTPServer
import Logging
import Synchronization
import Testing

@Suite("Listeners at the connection limit, with real sockets and a manual clock")
struct ListenerTests {
  @Test("pauses are logged once a minute, with their number")
  func pauses() throws {
    let log = KeptLog()
    // Each connection is the only one, so accepting pauses after it.
    let server = try TestServer(
      limits: ServerLimits(connections: 1), logger: Logger(label: "test") { _ in log })
    for _ in 0..<5 { try server.probe() }
    #expect(log.lines == ["accepting connections paused: at the connection limit, 1"])
    server.clock.advance(seconds: 60)
    for _ in 0..<3 { try server.probe() }
    #expect(log.lines.dropFirst() == ["accepting connections paused: at the connection limit, 5"])
  }

  /// Keeps what is logged: the message, and the reason and number of pauses.
  private final class KeptLog: LogHandler {
    private let kept = Mutex<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }
    var metadata: Logger.Metadata {
      get { [:] }
      set {}
    }
    var logLevel: Logger.Level {
      get { .notice }
      set {}
    }

    func log(event: LogEvent) {
      let details = ["reason", "pauses"].compactMap { event.metadata?[$0].map { "\($0)" } }
      kept.withLock { $0.append("\(event.message): \(details.joined(separator: ", "))") }
    }
  }
}
