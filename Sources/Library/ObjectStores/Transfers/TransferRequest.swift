/// One HTTP request.
struct TransferRequest: Sendable {
  enum Method: String, Sendable {
    case get = "GET"
    case head = "HEAD"
    case put = "PUT"
    case delete = "DELETE"
  }

  var method: Method
  var address: RemoteAddress
  /// In any order. libcurl adds `Host` and `Content-Length`.
  var fields: [(name: String, value: String)] = []
  /// The body of a PUT.
  var body = TransferBody.bytes([])
  /// Timeout of the whole transfer, including the wait for a connection.
  var timeout: Duration
}

/// The status and the fields of a response of a store.
struct StoreResponseHead: Sendable, Hashable {
  var status = 0
  /// Names in lower case, values without spaces around them.
  var fields: [String: String] = [:]

  subscript(name: String) -> String? { fields[name] }

  /// `Content-Length`, if it is a number.
  var contentLength: Int64? { fields["content-length"].flatMap { Int64($0) } }

  /// A strong entity tag with its quotation marks; `nil` if there is none or it is weak.
  var entityTag: String? { fields["etag"].flatMap(Self.strongTag) }

  static func strongTag(_ text: String) -> String? {
    let isQuoted = text.utf8.count >= 2 && text.utf8.first == UInt8(ascii: "\"") && text.utf8.last == UInt8(ascii: "\"")
    let inner = isQuoted ? String(text.dropFirst().dropLast()) : text
    // etagc of RFC 9110 §8.8.3, without what is not ASCII. Some stores leave out the quotation marks.
    let isValid = inner.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
    guard !inner.isEmpty, isValid, !text.hasPrefix("W/") else { return nil }
    return "\"\(inner)\""
  }
}

/// Receives the parts of a response, on the loop's queue. The methods must not block.
protocol TransferHandler: AnyObject, Sendable {
  /// Called once, with the head of the final response. `false` ends the transfer.
  func responseBegan(_ head: StoreResponseHead) -> Bool
  func received(_ bytes: UnsafeRawBufferPointer) -> ReceiveResult
  /// The last call. `nil`: the response is complete.
  func transferEnded(_ failure: ObjectStoreError?)
}

enum ReceiveResult {
  /// All bytes were taken.
  case taken
  /// No byte was taken: they come again after ``TransferLoop/resume(_:)``.
  case pause
  case end
}
