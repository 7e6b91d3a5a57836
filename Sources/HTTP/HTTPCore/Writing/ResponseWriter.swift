/// How a response's body is delimited (RFC 9112 §6).
package enum BodyFraming: Sendable, Hashable {
  /// Content-Length.
  case length(Int)
  /// Transfer-Encoding: chunked.
  case chunked
  /// The end of the connection ends the body: for HTTP/1.0, which has no chunks.
  case untilClose
  /// No body: 204, 304, or a response to HEAD whose length is unknown.
  case none
}

/// Serializes response heads and body framing.
package enum ResponseWriter {
  /// Status line, fields and framing: the part of the head that is the same each time the response is sent.
  ///
  /// A field value that contains CR, LF or NUL is a programming error and traps.
  package static func headPrefix(_ head: ResponseHead, framing: BodyFraming) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(512)
    func add(_ text: String) { bytes.append(contentsOf: text.utf8) }
    func field(_ name: String, _ value: String) {
      precondition(!value.utf8.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }, "a field value with a line end")
      add(name)
      add(": ")
      add(value)
      add("\r\n")
    }
    add("HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n")
    for (name, value) in head.fields { field(name, value) }
    switch framing {
    case .length(let length): field("Content-Length", String(length))
    case .chunked: field("Transfer-Encoding", "chunked")
    case .untilClose, .none: break
    }
    return bytes
  }

  /// The part of the head that is known only when the response is sent, and the empty line after it. `date` is an HTTP
  /// date.
  package static func headSuffix(date: String, keepsAlive: Bool, version: HTTPVersion) -> [UInt8] {
    let connection =
      if !keepsAlive {
        "Connection: close\r\n"
      } else if version == .http10 {
        "Connection: keep-alive\r\n"
      } else {
        ""
      }
    return [UInt8]("Date: \(date)\r\n\(connection)\r\n".utf8)
  }

  /// 100 Continue (RFC 9110 §15.2.1).
  package static let continueResponse = [UInt8]("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// The line before a chunk of `size` bytes (RFC 9112 §7.1); `chunkEnd` follows the chunk. `size` must be positive.
  package static func chunkStart(_ size: Int) -> [UInt8] {
    precondition(size > 0, "an empty chunk would end the body")
    return [UInt8]("\(String(size, radix: 16))\r\n".utf8)
  }

  package static let chunkEnd = [UInt8]("\r\n".utf8)
  /// A byte between two chunks that changes nothing: a leading zero of the next chunk's size (`chunk-size = 1*HEXDIG`)
  /// or of the last chunk (`last-chunk = 1*("0")`).
  package static let chunkProbe = [UInt8]("0".utf8)
  package static let lastChunk = [UInt8]("0\r\n\r\n".utf8)
}
