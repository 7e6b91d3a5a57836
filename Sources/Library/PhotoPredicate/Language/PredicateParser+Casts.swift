// `CAST`: a date in a predicate.

import PhotoModel

extension PredicateParser {
  /// `CAST("2024-05-06T07:08:09Z", "NSDate")`, or with seconds since 2001, the form of dates in Apple's
  /// `predicateFormat`.
  mutating func cast() throws(PredicateError) -> Literal {
    let start = token
    try advance()
    try take(.openParenthesis, else: .oneOf(["("]))
    guard let date = try castDate() else { throw unexpected(.castDate) }
    try advance()
    try take(.comma, else: .oneOf([","]))
    guard token.kind == .string("NSDate") else { throw unexpected(.oneOf(["\"NSDate\""])) }
    try advance()
    let range = start.range.lowerBound..<token.range.upperBound
    try take(.closeParenthesis, else: .oneOf([")"]))
    return Literal(kind: .date(date), range: range)
  }

  private func castDate() throws(PredicateError) -> Timestamp? {
    switch token.kind {
    case .string(let text):
      do throws(Literal.TypeMismatch) {
        return try Literal(kind: .string(text), range: token.range).date(text)
      } catch {
        throw self.error(at: error.range, .castDate)
      }
    case .integer(let seconds): return Timestamp(secondsSince2001: Double(seconds))
    case .real(let seconds), .outOfRangeInteger(let seconds): return Timestamp(secondsSince2001: seconds)
    default: return nil
    }
  }
}

extension Timestamp {
  /// `nil` outside of the years 0000 to 9999.
  fileprivate init?(secondsSince2001 seconds: Double) {
    let milliseconds = (seconds * 1000).rounded() + 978_307_200_000
    guard abs(milliseconds) < 1e15 else { return nil }
    self.init(milliseconds: Int64(milliseconds))
    guard Timestamp.rfc3339Range.contains(self) else { return nil }
  }
}
