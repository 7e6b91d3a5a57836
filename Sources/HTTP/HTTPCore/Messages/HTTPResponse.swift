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
    get { fields.first { $0.name.lowercased() == name.lowercased() }?.value }
    set {
      fields.removeAll { $0.name.lowercased() == name.lowercased() }
      if let newValue { fields.append((name, newValue)) }
    }
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
