// The parameter `client`: the name that a tab or a device gives itself, to have a `default` caching manager of its own.

import HTTPCore

/// A client's own name, from the query or the JSON body of a request.
struct ClientName: Sendable {
  static let parameter = QueryParameter.text(
    "client", "The client whose default manager is meant. Without effect for other managers.",
    pattern: PlainName.pattern)

  /// `nil` if the client gave none.
  private(set) var name: String?

  /// Reads the query, which may have no other parameter.
  init(_ target: RequestTarget) throws(Problem) {
    var query = try QueryReader(target)
    let text = query.text("client")
    try query.finish()
    name = try text.map(Self.checked)
  }

  /// Reads the member of a body.
  mutating func read(_ body: inout JSONObjectReader) throws(Problem) {
    guard let text = try body.text("client") else { return }
    guard name == nil else { throw QueryReader.invalid("client", "is given more than once") }
    name = try Self.checked(text)
  }

  private static func checked(_ text: String) throws(Problem) -> String {
    guard PlainName.isValid(text) else {
      throw QueryReader.invalid("client", "must be 1 to 64 of A-Z, a-z, 0-9, -, . and _")
    }
    return text
  }
}
