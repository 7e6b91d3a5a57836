/// Size limits of a predicate or a list of sort descriptors. The error for an exceeded limit names it.
package struct PredicateLimits: Sendable, Hashable {
  /// Unicode scalars of the whole text. This also bounds the number of bound values: SQLite accepts 32,766, and a value
  /// takes at least two characters.
  package var characters = 32_768
  /// Nesting depth of parentheses and `NOT`. SQLite before 3.46 parses expressions with a stack of 100 entries.
  package var depth = 20
  /// Comparisons, `TRUEPREDICATE` and `FALSEPREDICATE` together. SQLite accepts expressions 1,000 levels deep, and a
  /// chain of `AND`s is as deep as it is long.
  package var terms = 256
  /// Values in the braces of one `IN`.
  package var listValues = 1_000
  /// `*` and `?` in one `LIKE`.
  package var wildcards = 32
  /// Keys to sort by.
  package var sortKeys = 8

  package init() {}
}
