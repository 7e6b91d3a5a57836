/// A response's status and header fields. `Date`, `Connection` and the framing are the server's to add.
package struct ResponseHead: Sendable {
  package var status: HTTPStatus
  /// In the order in which they are sent.
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

/// What answers for memory, such as a reservation that ends with its last reference. Whoever sends the bytes that it
/// answers for holds it for as long as they are here.
package typealias MemoryOwner = AnyObject & Sendable

/// A response whose body is whole.
package struct HTTPResponse: Sendable {
  package var head: ResponseHead
  package var body: [UInt8]
  /// Answers for the body's memory: held until the last byte of the response was handed to the kernel, or the connection
  /// ended. Where there is none, the server does, which may refuse to send it.
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
