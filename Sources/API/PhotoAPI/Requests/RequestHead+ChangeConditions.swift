import HTTPCore

extension RequestHead {
  /// Whether the request has a condition on the tag of what it changes.
  var hasChangeCondition: Bool { has(.ifMatch) || has(.ifNoneMatch) }

  /// Checks `If-Match` and `If-None-Match` of a request that changes something.
  ///
  /// - Parameter tag: its strong entity tag, as of the uncoded representation; `nil` if there is none yet. Each coding
  ///   that GET sends has its own tag.
  /// - Throws: 412.
  func checkChangeConditions(tag: String?) throws(Problem) {
    func matches(_ field: String, weakly: Bool) -> Bool {
      guard let tag else { return false }
      return [ContentCoding.identity, .gzip].contains {
        EntityTagList.matches($0.entityTag(tag), in: field, weakly: weakly)
      }
    }
    if let field = value(of: .ifMatch), !matches(field, weakly: false) { throw .preconditionFailed }
    if let field = value(of: .ifNoneMatch), matches(field, weakly: true) { throw .preconditionFailed }
  }
}
