import PhotoModel

extension ImageResult {
  /// The `Image-Result` field: a dictionary of structured fields (RFC 9651 §3.2).
  ///
  /// Written by hand and not by a serializer, which would shorten `degraded=?1` to `degraded` (§4.1.2): both read alike
  /// to a parser, but the contract spells the longer form out, and people search for it.
  package var fieldValue: String {
    func flag(_ value: Bool) -> String { value ? "?1" : "?0" }
    // A request identifier is visible ASCII without quotes or backslashes, so it needs no escaping.
    var members = ["request-id=\"\(requestID)\"", "degraded=\(flag(isDegraded))", "in-cloud=\(flag(isInCloud))"]
    members.append("cancelled=\(flag(isCancelled))")
    if isIncomplete { members.append("incomplete=?1") }
    members += ["width=\(size.width)", "height=\(size.height)", "source=\(source.rawValue)"]
    return members.joined(separator: ", ")
  }
}
