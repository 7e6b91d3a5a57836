import Primitives

/// Timestamps in JSON and predicates.
extension Timestamp {
  /// 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z: the range of RFC 3339.
  package static let rfc3339Range =
    Timestamp(
      milliseconds: RFC3339.millisecondsRange.lowerBound)...Timestamp(
      milliseconds: RFC3339.millisecondsRange.upperBound)

  /// Parses a date-time (RFC 3339 §5.6); ``RFC3339/milliseconds(_:)`` says which forms are accepted.
  package init(rfc3339 text: String) throws(MalformedRFC3339) {
    self.init(milliseconds: try RFC3339.milliseconds(text))
  }

  /// The text in UTC, with milliseconds if they are not 0. Valid RFC 3339 only within ``rfc3339Range``.
  package var rfc3339: String { RFC3339.text(millisecondsSince1970: milliseconds) }
}
