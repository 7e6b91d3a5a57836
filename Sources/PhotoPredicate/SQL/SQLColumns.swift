/// Where SQL finds the values of a schema's keys. Booleans are stored as 0 and 1, dates as milliseconds since 1970, strings
/// as text with the collation BINARY, options as a number.
package struct SQLColumns: Sendable {
  package struct Column: Sendable {
    /// SQL that gives the value, such as `asset.creationDate`; it stands beside operators without parentheses.
    package let expression: String
    /// How an enumeration's cases are stored, where not by their names.
    package let stored: [String: SQLValue]

    package init(_ expression: String, stored: [String: SQLValue] = [:]) {
      self.expression = expression
      self.stored = stored
    }

    func value(ofCase name: String) -> SQLValue { stored[name] ?? .text(name) }
  }

  private let columns: [String: Column]

  /// - Precondition: each key of the schema has its column, by name.
  package init(_ columns: [String: Column], schema: PropertySchema) {
    for key in schema.keys { precondition(columns[key.name] != nil, "\(key.name) has no column") }
    self.columns = columns
  }

  package subscript(key: PropertyKey) -> Column {
    guard let column = columns[key.name] else { preconditionFailure("\(key.name) has no column") }
    return column
  }

  /// What rows are ordered by for a key: the stored value, or an enumeration's rank where that is stored in another order.
  package func orderingExpression(for key: PropertyKey) -> String {
    let column = self[key]
    guard case .enumeration(let enumeration) = key.type else { return column.expression }
    let values = enumeration.cases.map { column.value(ofCase: $0.name) }
    let numbers = values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
    if numbers.count == values.count, zip(numbers, numbers.dropFirst()).allSatisfy(<) { return column.expression }
    let ranks = values.enumerated().map { "WHEN \(Self.constant($0.element)) THEN \($0.offset)" }
    return "CASE \(column.expression) \(ranks.joined(separator: " ")) END"
  }

  /// What follows `ORDER BY`. SQLite puts NULL first where a key ascends, which is where it belongs.
  package func ordering(_ sort: FetchSortDescriptors) -> String {
    sort.total.map { orderingExpression(for: $0.key) + ($0.isAscending ? "" : " DESC") }.joined(separator: ", ")
  }

  /// A constant of our own, never of a client.
  private static func constant(_ value: SQLValue) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
    }
  }
}
