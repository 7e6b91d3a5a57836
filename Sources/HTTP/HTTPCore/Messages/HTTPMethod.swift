/// A request method (RFC 9110 §9). Methods are case-sensitive.
package enum HTTPMethod: Sendable, Hashable {
  case get, head, post, put, delete, options, patch
  case other(String)

  package init(_ token: String) {
    self =
      switch token {
      case "GET": .get
      case "HEAD": .head
      case "POST": .post
      case "PUT": .put
      case "DELETE": .delete
      case "OPTIONS": .options
      case "PATCH": .patch
      default: .other(token)
      }
  }

  package var name: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .patch: "PATCH"
    case .other(let token): token
    }
  }
}

/// The supported versions.
package enum HTTPVersion: Sendable, Hashable, Comparable {
  case http10, http11
}
