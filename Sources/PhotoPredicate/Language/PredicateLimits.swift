/// How much a predicate or a list of sort descriptors may be. Each limit is named in the error of what exceeds it.
package struct PredicateLimits: Sendable, Hashable {
  /// Unicode scalars of the whole text. Also bounds how many values are bound: SQLite takes 32,766, and a value takes two
  /// characters at least.
  package var characters = 32_768
  /// Parentheses and `NOT` within each other. SQLite before 3.46 reads expressions with a stack of 100 entries.
  package var depth = 20
  /// Comparisons, `TRUEPREDICATE` and `FALSEPREDICATE` together. SQLite takes expressions 1,000 deep, and a row of `AND`s
  /// is as deep as it is long.
  package var terms = 256
  /// Values in the braces of one `IN`.
  package var listValues = 1_000
  /// `*` and `?` in one `LIKE`.
  package var wildcards = 32
  /// Keys to sort by.
  package var sortKeys = 8

  package init() {}
}
