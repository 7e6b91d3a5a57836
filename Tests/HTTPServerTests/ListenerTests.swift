import HTTPServer
import Logging
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Listeners that can't accept, with real sockets and a manual clock")
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

  /// A listening socket on a loopback port, and the port.
  private static func listeningSocket() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(isListening)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  @Test("a socket that another holder has shut down is tried again, and logged once a minute")
  func shutDown() throws {
    let log = KeptLog()
    let server = try TestServer(logger: Logger(label: "test") { _ in log })
    let (descriptor, _) = try Self.listeningSocket()
    let holder = dup(descriptor)
    defer { close(holder) }
    server.server.start(on: [descriptor])
    try server.probe()
    #expect(shutdown(holder, Int32(SHUT_RDWR)) == 0)
    let isPaused = try server.probe { log.lines == ["accepting connections paused: Invalid argument, 1"] }
    #expect(isPaused)
    // It is tried at each tick and whenever a connection closes, so the next line counts more than one pause.
    try server.pass(seconds: 60)
    let isPausedAgain = try server.probe { log.lines.count == 2 }
    #expect(isPausedAgain && log.lines[1].hasPrefix("accepting connections paused: Invalid argument, "))
  }

  @Test("a socket that can't be watched at first is logged, and watched later")
  func unwatched() throws {
    let log = KeptLog()
    let server = try TestServer(logger: Logger(label: "test") { _ in log })
    // A device that epoll refuses, in place of the socket.
    let descriptor = open("/dev/null", O_RDONLY)
    server.server.start(on: [descriptor])
    try server.probe()
    #expect(log.lines == ["accepting connections paused: Operation not permitted, 1"])
    let (listener, port) = try Self.listeningSocket()
    try #require(dup2(listener, descriptor) == descriptor)
    close(listener)
    try server.pass(seconds: 1)
    let client = try TestClient(port: port)
    client.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(client.readToEnd()?.hasSuffix("GET /a ") == true)
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
