import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// An HTTP server on a loopback port that answers each request by a script, so that it can misbehave.
package final class ScriptedServer: Sendable {
  package struct Request: Sendable {
    package var method = ""
    /// Path and query, as they were sent.
    package var target = ""
    /// Names in lower case.
    package var fields: [String: String] = [:]
    package var body: [UInt8] = []

    package var path: String { String(target.prefix { $0 != "?" }) }
    package var query: String { String(target.drop { $0 != "?" }.dropFirst()) }
  }

  package enum Step: Sendable {
    case send([UInt8])
    /// Sends until the peer's buffers are full or all is sent, then calls the function with what was taken.
    case sendCounting([UInt8], @Sendable (Int) -> Void)
    case wait(Gate)
    case close
  }

  private struct State {
    var requests: [Request] = []
    var connections: Set<Int32> = []
    var hasStopped = false
  }

  package let port: UInt16
  private let listener: Int32
  private let state = Mutex(State())
  private let answer: @Sendable (Request, _ number: Int) -> [Step]

  /// - Parameter answer: called with each request and its number, from 0.
  package init(answer: @escaping @Sendable (Request, _ number: Int) -> [Step]) {
    self.answer = answer
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    withUnsafeMutableBytes(of: &address) { bytes in
      let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
      var length = socklen_t(bytes.count)
      bind(descriptor, address, length)
      listen(descriptor, 64)
      getsockname(descriptor, address, &length)
    }
    listener = descriptor
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in acceptConnections() }
  }

  /// Ends the threads. Later calls do nothing: the descriptors may be other files by then.
  package func stop() {
    state.withLock { state in
      guard !state.hasStopped else { return }
      state.hasStopped = true
      shutdown(listener, Int32(SHUT_RDWR))
      for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  package var requests: [Request] { state.withLock { $0.requests } }
  package var address: String { "http://127.0.0.1:\(port)" }

  private func acceptConnections() {
    while true {
      let connection = accept(listener, nil, nil)
      let isOpen = state.withLock { state in
        if !state.hasStopped, connection >= 0 { state.connections.insert(connection) }
        return !state.hasStopped
      }
      guard isOpen else {
        if connection >= 0 { close(connection) }
        break
      }
      // A signal arrived, or the client has left.
      guard connection >= 0 else { continue }
      Thread.detachNewThread { [self] in
        serve(connection)
        // Under the lock, so that `stop` never shuts down another file with this number.
        state.withLock { state in
          state.connections.remove(connection)
          close(connection)
        }
      }
    }
    close(listener)
  }

  private func serve(_ connection: Int32) {
    var buffer: [UInt8] = []
    while let request = Self.read(connection, &buffer) {
      let number = state.withLock { state in
        state.requests.append(request)
        return state.requests.count - 1
      }
      for step in answer(request, number) {
        switch step {
        case .send(let bytes): guard Self.send(bytes, connection) else { return }
        case .sendCounting(let bytes, let report): report(Self.sendWithoutWaiting(bytes, connection))
        case .wait(let gate): gate.wait()
        case .close: return
        }
      }
    }
  }

  private static func send(_ bytes: [UInt8], _ connection: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Sends until nothing has been taken for a moment.
  private static func sendWithoutWaiting(_ bytes: [UInt8], _ connection: Int32) -> Int {
    var rest = bytes[...]
    while !rest.isEmpty {
      var poll = pollfd(fd: connection, events: Int16(POLLOUT), revents: 0)
      guard Glibc.poll(&poll, 1, 300) > 0 else { break }
      let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
      let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, flags) }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    return bytes.count - rest.count
  }

  private static func read(_ connection: Int32, _ buffer: inout [UInt8]) -> Request? {
    let end = Array("\r\n\r\n".utf8)
    func fill() -> Bool {
      var piece = [UInt8](repeating: 0, count: 65_536)
      let count = recv(connection, &piece, piece.count, 0)
      guard count > 0 else { return false }
      buffer += piece[..<count]
      return true
    }
    var headEnd: Int?
    while headEnd == nil {
      headEnd = buffer.indices.first { buffer[$0...].starts(with: end) }
      if headEnd == nil, !fill() { return nil }
    }
    guard let headEnd else { return nil }
    let lines = String(decoding: buffer[..<headEnd], as: UTF8.self).split(separator: "\r\n")
    buffer.removeFirst(headEnd + 4)
    let words = lines[0].split(separator: " ")
    var request = Request(method: String(words[0]), target: String(words[1]))
    for line in lines.dropFirst() {
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      request.fields[line[..<colon].lowercased()] = line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
    }
    let length = request.fields["content-length"].flatMap { Int($0) } ?? 0
    while buffer.count < length { guard fill() else { return nil } }
    request.body = Array(buffer[..<length])
    buffer.removeFirst(length)
    return request
  }
}

extension ScriptedServer.Step {
  /// A whole answer.
  package static func answer(_ status: Int, _ fields: [String: String] = [:], _ body: [UInt8] = []) -> Self {
    var fields = fields
    if fields["Content-Length"] == nil { fields["Content-Length"] = "\(body.count)" }
    return .head(status, fields, body)
  }

  package static func answer(_ status: Int, _ fields: [String: String] = [:], _ body: String) -> Self {
    answer(status, fields, Array(body.utf8))
  }

  /// A head with exactly these fields, and bytes after it.
  package static func head(_ status: Int, _ fields: [String: String], _ body: [UInt8] = []) -> Self {
    let lines = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
    return .send(Array("HTTP/1.1 \(status) Status\r\n\(lines)\r\n".utf8) + body)
  }
}

/// Closed until it is opened, and then open for good.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func open() { semaphore.signal() }

  package func wait() {
    semaphore.wait()
    semaphore.signal()
  }
}
