/// A value as SQLite stores it, to be bound to a `?`.
package enum SQLValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  /// Without U+0000.
  case text(String)
}
