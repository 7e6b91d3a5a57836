/// The validators of a representation, for conditional requests.
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

/// The result of evaluating the conditional fields of a request.
package enum PreconditionOutcome: Sendable, Hashable {
  case proceed, notModified, failed
}

package enum Preconditions {
  /// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of RFC 9110 §13.2.2. The
  /// last one, If-Range, is evaluated by ``ByteRanges``.
  package static func evaluate(_ head: RequestHead, _ validators: Validators) -> PreconditionOutcome {
    let isSafe = head.method == .get || head.method == .head
    if let list = head.value(of: .ifMatch) {
      if !EntityTagList.matches(validators.entityTag, in: list, weakly: false) { return .failed }
    } else if let date = head.value(of: .ifUnmodifiedSince).flatMap(HTTPDate.seconds),
      let modified = validators.lastModified, modified > date
    {
      return .failed
    }
    if let list = head.value(of: .ifNoneMatch) {
      if EntityTagList.matches(validators.entityTag, in: list, weakly: true) { return isSafe ? .notModified : .failed }
    } else if isSafe, let date = head.value(of: .ifModifiedSince).flatMap(HTTPDate.seconds),
      let modified = validators.lastModified, modified <= date
    {
      return .notModified
    }
    return .proceed
  }
}
