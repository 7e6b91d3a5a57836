/// A response's status and header fields. The server adds `Date`, `Connection` and the framing fields.
package struct ResponseHead: Sendable {
  package var status: HTTPStatus
  /// In sending order.
  package var fields: [(name: String, value: String)]

  package init(_ status: HTTPStatus, _ fields: [(name: String, value: String)] = []) {
    self.status = status
    self.fields = fields
  }

  package subscript(name: String) -> String? {
    get { fields.first { Self.isSameName($0.name, name) }?.value }
    set {
      fields.removeAll { Self.isSameName($0.name, name) }
      if let newValue { fields.append((name, newValue)) }
    }
  }

  /// Whether two field names are the same, ignoring the case of ASCII letters. Allocates no strings, because the access
  /// log calls it for each response.
  private static func isSameName(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    return one.utf8.elementsEqual(other.utf8) { HTTPGrammar.lowercased($0) == HTTPGrammar.lowercased($1) }
  }
}

/// An object that accounts for memory, such as a reservation that ends with its last reference. The sender of the bytes
/// holds it while the bytes exist.
package typealias MemoryOwner = AnyObject & Sendable

/// A response with a complete body.
package struct HTTPResponse: Sendable {
  package var head: ResponseHead
  package var body: [UInt8]
  /// Accounts for the body's memory: held until the last byte of the response was handed to the kernel or the
  /// connection ended. Without an owner the server counts the body against its own budget and may refuse to send it.
  package var owner: (any MemoryOwner)?

  package init(
    _ status: HTTPStatus, _ fields: [(name: String, value: String)] = [], body: [UInt8] = [],
    owner: (any MemoryOwner)? = nil
  ) {
    self.head = ResponseHead(status, fields)
    self.body = body
    self.owner = owner
  }
}
