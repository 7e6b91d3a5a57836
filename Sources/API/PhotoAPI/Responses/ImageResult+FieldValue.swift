import PhotoModel

extension ImageResult {
  /// The `Image-Result` field: a dictionary of structured fields (RFC 9651 §3.2).
  ///
  /// Written by hand, because a serializer would shorten `degraded=?1` to `degraded` (§4.1.2). Parsers read both
  /// alike, but the API contract uses the longer form, and people search logs for it.
  var fieldValue: String {
    func flag(_ value: Bool) -> String { value ? "?1" : "?0" }
    // A request identifier is visible ASCII without quotes or backslashes, so it needs no escaping.
    var members = ["request-id=\"\(requestID)\"", "degraded=\(flag(isDegraded))", "in-cloud=\(flag(isInCloud))"]
    members.append("cancelled=\(flag(isCancelled))")
    if isIncomplete { members.append("incomplete=?1") }
    members += ["width=\(size.width)", "height=\(size.height)", "source=\(source.rawValue)"]
    if isHDR { members.append("dynamic-range=high") }
    return members.joined(separator: ", ")
  }
}
