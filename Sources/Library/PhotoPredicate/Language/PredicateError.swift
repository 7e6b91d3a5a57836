/// An error in a predicate or a list of sort descriptors, and its position.
package struct PredicateError: Error, Sendable, Hashable {
  /// The number of Unicode scalars before the error; all of them if the text ends too early.
  package let offset: Int
  package let expected: Expectation
  /// The beginning of the text that was found instead; empty at the end of the text.
  package let found: String

  /// The maximum number of characters quoted in `found`.
  static let foundCharacters = 24
}

/// An expectation of the parser that the text did not meet.
package enum Expectation: Sendable, Hashable {
  /// One of these words or signs.
  case oneOf([String])
  /// A comparison or a prefix of one; at the beginning and after `AND`, `OR`, `NOT` and `(`.
  case comparison
  /// One of the keys available to the caller.
  case key([String])
  /// A value of a key's type.
  case value(of: PropertyKey, orNil: Bool)
  /// A list of values of a key's type, in braces.
  case list(of: PropertyKey)
  /// An operand of `|`.
  case bits
  /// The date of a `CAST`.
  case castDate
  case digit
  case finiteNumber
  case integerOf64Bits
  case closingQuote(Unicode.Scalar)
  /// A character that may follow a backslash.
  case escape
  /// Text without U+0000, which occurs in no property and ends strings in C.
  case textWithoutNUL
  /// `[c]`, `[d]` or `[cd]`, after the opening bracket.
  case foldingOption
  /// At most this many of an item that ``PredicateLimits`` names.
  case atMost(Int, of: String)
}

extension PredicateError: CustomStringConvertible {
  package var description: String {
    "At character \(offset), counted from 0: expected \(expected), found \(found.isEmpty ? "the end" : found)."
  }
}

extension Expectation: CustomStringConvertible {
  package var description: String {
    switch self {
    case .oneOf(let words): Self.listed(words)
    case .comparison: "a comparison that begins with a key or a value, NOT or ("
    case .key(let names): "a key (\(Self.listed(names)))"
    case .value(let key, let orNil): Self.value(of: key) + (orNil ? ", or nil" : "")
    case .list(let key): "{ and values in braces: \(Self.value(of: key))"
    case .bits: "a number or a name"
    case .castDate: "a quoted date such as \"2024-05-06T07:08:09Z\", or seconds since 2001-01-01T00:00:00Z"
    case .digit: "a digit"
    case .finiteNumber: "a number between -1.8e308 and 1.8e308"
    case .integerOf64Bits: "a number from -9223372036854775808 to 9223372036854775807"
    case .closingQuote(let quote): "the closing \(quote)"
    case .escape: #"n, r, t, ', ", \ or uXXXX after the backslash (a backslash itself is \\)"#
    case .textWithoutNUL: "no U+0000"
    case .foldingOption: "c], d] or cd] (c ignores case, d accents)"
    case .atMost(let limit, let what): "at most \(limit) \(what)"
    }
  }

  private static func value(of key: PropertyKey) -> String {
    switch key.type {
    case .boolean: "true or false for \(key.name)"
    case .integer:
      "a number from -9223372036854775808 to 9223372036854775807 for \(key.name)"
    case .real: "a number for \(key.name)"
    case .string: "a quoted string for \(key.name)"
    case .strings: "\(key.name) CONTAINS and a quoted string, or ANY before \(key.name)"
    case .date:
      "a quoted date such as \"2024-05-06T07:08:09Z\" for \(key.name) (RFC 3339 with an offset; + is %2B in a query)"
    case .enumeration(let enumeration):
      "one of \(listed(enumeration.cases.map(\.name))), or PhotoKit's number, for \(key.name)"
    case .options(let enumeration):
      "one of \(listed(enumeration.cases.map(\.name))), several with | in parentheses, or a number, for \(key.name)"
    }
  }

  private static func listed(_ words: [String]) -> String {
    words.count < 2 ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
  }
}
