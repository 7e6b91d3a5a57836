import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A client that reads a change stream on its own connection, as an EventSource does (HTML standard, §9.2).
final class EventStream {
  struct Event {
    var id: String?
    var name = "message"
    var data = ""
    /// The number of comments before the event.
    var comments = 0

    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(data.utf8))) as? [String: Any] ?? [:]
    }

    /// The identifiers of objects of a kind, such as `assets`, that had an event, such as `inserted`.
    func identifiers(_ kind: String, _ event: String) -> [String] {
      let list = (json[kind] as? [String: Any])?[event] as? [Any] ?? []
      return list.compactMap { $0 as? String ?? ($0 as? [String: Any])?["localIdentifier"] as? String }
    }
  }

  private let descriptor: Int32
  private var bytes: [UInt8] = []
  private var text: [UInt8] = []
  private var isAtEnd = false
  /// No data arrived within the connection's timeout, so the end of the stream was not seen.
  private(set) var hasTimedOut = false
  let status: Int
  let fields: String

  init(_ daemon: TestDaemon, _ query: String = "", _ fields: [String] = []) throws {
    descriptor = try daemon.connection()
    var request = "GET /v1/changes/stream\(query) HTTP/1.1\r\nHost: localhost\r\n"
    for field in fields { request += field + "\r\n" }
    request += "\r\n"
    let sent = Array(request.utf8)
    _ = send(descriptor, sent, sent.count, Int32(MSG_NOSIGNAL))
    var head: [UInt8] = []
    var byte: UInt8 = 0
    while !head.suffix(4).elementsEqual([13, 10, 13, 10]), recv(descriptor, &byte, 1, 0) == 1 { head.append(byte) }
    self.fields = String(decoding: head, as: UTF8.self)
    status = Int(self.fields.split(separator: " ").dropFirst().first ?? "") ?? 0
  }

  deinit { close(descriptor) }

  /// Closes the connection without notice.
  func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// The next event that has data; `nil` if the stream has ended.
  ///
  /// - Parameter untilEmpty: read only up to the next empty line, and return the event even if it has no data.
  func next(untilEmpty: Bool = false) -> Event? {
    var event = Event()
    while let line = line() {
      if line.isEmpty {
        if !event.data.isEmpty || untilEmpty { return event }
      } else if line.hasPrefix(":") {
        event.comments += 1
      } else if line.hasPrefix("id: ") {
        event.id = String(line.dropFirst(4))
      } else if line.hasPrefix("event: ") {
        event.name = String(line.dropFirst(7))
      } else if line.hasPrefix("data: ") {
        event.data += line.dropFirst(6)
      }
    }
    return nil
  }

  /// The token that the stream begins with: an event without data, of which a client keeps only the `id`.
  func begin() -> String? {
    var id: String?
    while let line = line() {
      if line.isEmpty { return id }
      if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
    }
    return nil
  }

  /// Reads a line. Returns whether it is a comment, which the daemon sends as a heartbeat.
  func readHeartbeat() -> Bool { line()?.hasPrefix(":") ?? false }

  private func line() -> String? {
    while true {
      if let end = text.firstIndex(of: 10) {
        defer { text.removeSubrange(...end) }
        return String(decoding: text[..<end], as: UTF8.self)
      }
      guard !isAtEnd else { return nil }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count <= 0 {
        isAtEnd = true
        hasTimedOut = count < 0
        continue
      }
      bytes += chunk[..<count]
      unchunk()
    }
  }

  private func unchunk() {
    while let end = bytes.firstRange(of: [13, 10]),
      let size = Int(String(decoding: bytes[..<end.lowerBound], as: UTF8.self), radix: 16)
    {
      guard bytes.count >= end.upperBound + size + 2 else { return }
      text += bytes[end.upperBound..<end.upperBound + size]
      bytes.removeSubrange(..<(end.upperBound + size + 2))
      if size == 0 { isAtEnd = true }
    }
  }
}
