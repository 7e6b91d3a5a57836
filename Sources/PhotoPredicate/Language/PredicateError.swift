/// What is wrong with a predicate or a list of sort descriptors, and where.
package struct PredicateError: Error, Sendable, Hashable {
  /// How many Unicode scalars of the text come before the fault; all of them where it ends too early.
  package let offset: Int
  package let expected: Expectation
  /// The beginning of what is there instead; empty at the text's end.
  package let found: String

  /// As many characters of what was found as are quoted.
  static let foundCharacters = 24
}

/// What could have stood there.
package enum Expectation: Sendable, Hashable {
  /// One of these words or signs.
  case oneOf([String])
  /// A comparison, or what begins with a sign; at the beginning and after `AND`, `OR`, `NOT` and `(`.
  case comparison
  /// One of the keys that the caller may use.
  case key([String])
  /// A value of a key's type.
  case value(of: PropertyKey, orNil: Bool)
  /// A list of such, in braces.
  case list(of: PropertyKey)
  /// A side of `|`.
  case bits
  /// The date of a `CAST`.
  case castDate
  case digit
  case finiteNumber
  case integerOf64Bits
  case closingQuote(Unicode.Scalar)
  /// What may follow a backslash.
  case escape
  /// U+0000 is in no property and ends texts in C.
  case textWithoutNUL
  /// `[c]`: no other option is there.
  case caseOption
  /// At most so many of something that ``PredicateLimits`` names.
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
    case .comparison: "a comparison (a key or a value first), NOT or ("
    case .key(let names): "a key (\(Self.listed(names)))"
    case .value(let key, let orNil): Self.value(of: key) + (orNil ? ", or nil" : "")
    case .list(let key): "{ and values in braces: \(Self.value(of: key))"
    case .bits: "a number or a name"
    case .castDate: "a quoted date such as \"2024-05-06T07:08:09Z\", or seconds since 2001-01-01T00:00:00Z"
    case .digit: "a digit"
    case .finiteNumber: "a number between -1.8e308 and 1.8e308"
    case .integerOf64Bits: "a number of 63 bits at most, and its sign"
    case .closingQuote(let quote): "the closing \(quote)"
    case .escape: #"n, r, t, ', ", \ or uXXXX after the backslash (a backslash itself is \\)"#
    case .textWithoutNUL: "no U+0000"
    case .caseOption: "c], the one option there is (case is folded; accents are not)"
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
