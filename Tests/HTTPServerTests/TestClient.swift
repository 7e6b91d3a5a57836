import Foundation
import HTTPCore
import HTTPServer
import Logging
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A manual clock.
final class ManualClock: Sendable {
  private let nanoseconds = Atomic<UInt64>(1_000_000_000)

  var clock: ServerClock {
    ServerClock(
      monotonic: { [self] in nanoseconds.load(ordering: .relaxed) },
      wall: { [self] in 784_111_777_000 + Int64(nanoseconds.load(ordering: .relaxed) / 1_000_000) - 1000 })
  }

  func advance(seconds: Double) { nanoseconds.add(UInt64(seconds * 1e9), ordering: .relaxed) }
}

/// A server in this process on a loopback port chosen by the system. It has one loop, so events on its sockets are
/// processed in order of arrival.
final class TestServer: Sendable {
  let clock = ManualClock()
  let server: Server
  let port: UInt16

  init(
    limits: ServerLimits = ServerLimits(), proxies: [String] = [], accessLog: AccessLog? = nil,
    handler: any HTTPHandler = EchoHandler(),
    logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  ) throws {
    server = Server(
      handler: handler, limits: limits, proxies: try PeerSet(proxies), loopCount: 1, accessLog: accessLog,
      clock: clock.clock, logger: logger)
    guard case .ip(_, let port) = try server.start(at: [.ip(host: "127.0.0.1", port: 0)])[0] else {
      throw Problem.noPort
    }
    self.port = port
  }

  enum Problem: Error { case noPort }

  /// Advances the clock after everything sent before has been processed. Returns when every deadline has been checked.
  func pass(seconds: Double) throws {
    try probe()
    clock.advance(seconds: seconds)
    server.tick()
    onLoop {}
  }

  /// Runs work on the loop, between two events, after what waits there now.
  func onLoop(_ work: @escaping @Sendable () -> Void) {
    let ended = DispatchSemaphore(value: 0)
    server.probe(loop: 0) {
      work()
      ended.signal()
    }
    ended.wait()
  }

  /// Returns when the loop has processed what other clients sent before, as it responds in the order of arrival. Use
  /// ``probe(until:)`` for the end of a connection: on a busy machine the kernel may report it after the probe.
  func probe() throws {
    let client = try TestClient(port: port)
    client.send("GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    _ = client.readToEnd()
  }

  /// Probes until the condition holds, at most a thousand times. Returns whether it holds.
  func probe(until isReached: () throws -> Bool) throws -> Bool {
    for _ in 0..<1000 {
      try probe()
      if try isReached() { return true }
    }
    return false
  }

  /// Stops the server. Returns when the last connection has closed.
  func drain(deadline: Duration = .seconds(60)) async {
    await withCheckedContinuation { continuation in
      server.drain(deadline: deadline) { continuation.resume() }
    }
  }
}

/// Responds with the method, path and body of the request.
struct EchoHandler: HTTPHandler {
  func handle(_ request: HTTPRequest, from peer: Peer, _ responder: Responder) {
    let path = request.head.parsedTarget.path
    let text = "\(request.method.name) \(path) \(String(decoding: request.body, as: UTF8.self))"
    responder.send(HTTPResponse(.ok, [("Content-Type", "text/plain")], body: Array(text.utf8)))
  }

  func response(to error: ParseError) -> HTTPResponse {
    HTTPResponse(error.status, body: Array(error.explanation.utf8))
  }
  func unansweredResponse() -> HTTPResponse { HTTPResponse(.internalServerError) }
  func overloadedResponse() -> HTTPResponse { HTTPResponse(503) }
}

/// A blocking client socket.
final class TestClient: Sendable {
  let descriptor: Int32

  /// - Parameter receiveBuffer: size of the socket's receive buffer; 0 for the system default.
  init(port: UInt16, receiveBuffer: Int32 = 0) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var size = receiveBuffer
    if size > 0 { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var timeout = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw ConnectionRefused() }
  }

  deinit { close(descriptor) }

  struct ConnectionRefused: Error {}

  func send(_ text: String) { send(bytes: Array(text.utf8)) }

  func send(bytes: [UInt8]) {
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The next bytes; empty at the end of the stream, or `nil` on timeout.
  func read(_ most: Int = 65_536) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: most)
    let count = recv(descriptor, &bytes, most, 0)
    return count >= 0 || errno == ECONNRESET ? Array(bytes.prefix(max(0, count))) : nil
  }

  /// All bytes up to the end of the stream; `nil` if it never ended.
  @discardableResult
  func readToEnd() -> String? {
    var all: [UInt8] = []
    while true {
      guard let bytes = read() else { return nil }
      if bytes.isEmpty { return String(decoding: all, as: UTF8.self) }
      all += bytes
    }
  }

  /// Reads until the received bytes end with this text.
  func read(until end: String) -> String? {
    var all: [UInt8] = []
    while !all.suffix(end.utf8.count).elementsEqual(end.utf8) {
      guard let bytes = read(), !bytes.isEmpty else { return nil }
      all += bytes
    }
    return String(decoding: all, as: UTF8.self)
  }
}
