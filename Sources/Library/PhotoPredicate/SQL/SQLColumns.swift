/// Maps the keys of a schema to SQL columns. Booleans are stored as 0 and 1, dates as milliseconds since 1970, strings
/// as text with the collation BINARY, lists of strings as JSON arrays and never empty, options as a number.
package struct SQLColumns: Sendable {
  package struct Column: Sendable {
    /// The SQL expression of the value, such as `asset.creationDate`; it is used as an operand without parentheses.
    let expression: String
    /// The stored values of an enumeration, if they are not the names.
    package let stored: [String: SQLValue]

    package init(_ expression: String, stored: [String: SQLValue] = [:]) {
      self.expression = expression
      self.stored = stored
    }

    func value(ofCase name: String) -> SQLValue { stored[name] ?? .text(name) }
  }

  private let columns: [String: Column]

  /// - Precondition: each key of the schema has its column, by the key's `column`.
  package init(_ columns: [String: Column], schema: PropertySchema) {
    for key in schema.keys + schema.keysWithoutLocation {
      precondition(columns[key.column] != nil, "\(key.column) has no column")
    }
    self.columns = columns
  }

  /// A single key.
  init(_ key: PropertyKey, _ expression: String) { columns = [key.name: Column(expression)] }

  package subscript(key: PropertyKey) -> Column {
    guard let column = columns[key.column] else { preconditionFailure("\(key.column) has no column") }
    return column
  }

  /// The expression to sort by for a key: the stored value, or the rank of an enumeration that is stored in another
  /// order.
  package func orderingExpression(for key: PropertyKey) -> String {
    let column = self[key]
    guard case .enumeration(let enumeration) = key.type else { return column.expression }
    let values = enumeration.cases.map { column.value(ofCase: $0.name) }
    let numbers = values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
    if numbers.count == values.count, zip(numbers, numbers.dropFirst()).allSatisfy(<) { return column.expression }
    let ranks = values.enumerated().map { "WHEN \(Self.constant($0.element)) THEN \($0.offset)" }
    return "CASE \(column.expression) \(ranks.joined(separator: " ")) END"
  }

  /// A constant of this program, never client input.
  private static func constant(_ value: SQLValue) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
    }
  }
}
