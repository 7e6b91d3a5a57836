/// What a representation is known by, for conditional requests.
package struct Validators: Sendable {
  /// The strong entity tag with its quotes.
  package var entityTag: String?
  /// Seconds since 1970.
  package var lastModified: Int64?

  package init(entityTag: String?, lastModified: Int64? = nil) {
    self.entityTag = entityTag
    self.lastModified = lastModified
  }
}

/// What conditional header fields make of a request.
package enum PreconditionOutcome: Sendable, Hashable {
  case proceed, notModified, failed
}

package enum Preconditions {
  /// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC 9110 §13.2.2.
  package static func evaluate(_ head: RequestHead, _ validators: Validators) -> PreconditionOutcome {
    let isSafe = head.method == .get || head.method == .head
    if let value = head.value(of: "if-match") {
      if !matches(value, validators.entityTag, weakly: false) { return .failed }
    } else if let date = head.value(of: "if-unmodified-since").flatMap(HTTPDate.seconds),
      let modified = validators.lastModified, modified > date
    {
      return .failed
    }
    if let value = head.value(of: "if-none-match") {
      if matches(value, validators.entityTag, weakly: true) { return isSafe ? .notModified : .failed }
    } else if isSafe, let date = head.value(of: "if-modified-since").flatMap(HTTPDate.seconds),
      let modified = validators.lastModified, modified <= date
    {
      return .notModified
    }
    return .proceed
  }

  /// Whether a list of entity tags holds this one (RFC 9110 §8.8.3.2).
  private static func matches(_ list: String, _ tag: String?, weakly: Bool) -> Bool {
    guard let tag else { return false }
    return Text.elements(of: list).contains { element in
      if element == "*" { return true }
      if element.hasPrefix("W/") { return weakly && element.dropFirst(2) == tag }
      return element == tag
    }
  }
}
