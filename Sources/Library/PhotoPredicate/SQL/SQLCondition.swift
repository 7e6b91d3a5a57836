// Compiles a predicate to SQL. Client input is always bound, never part of the SQL text.
//
// SQL has three truth values and predicates have two. The rule that reconciles them: the SQL of a predicate is true
// exactly where the predicate is true, and false or NULL elsewhere. WHERE, AND and OR treat false and NULL alike. NOT
// does not, so it is written `IS NOT TRUE`, which does.

import PhotoModel

/// A condition for `WHERE`, and the values of its `?`, in order.
package struct SQLCondition: Sendable, Hashable {
  package private(set) var sql = ""
  package private(set) var values: [SQLValue] = []

  /// Requires ``SQLFunction/all``. Ranges, equalities and `BEGINSWITH` are written such that an index on the column can
  /// be used.
  package init(_ predicate: FetchPredicate, columns: SQLColumns) {
    append(predicate, columns)
  }

  private mutating func append(_ predicate: FetchPredicate, _ columns: SQLColumns) {
    switch predicate {
    case .constant(let value): if value { sql += "1" } else { appendFalse() }
    case .and(let terms):
      for (i, term) in terms.enumerated() {
        if i > 0 { sql += " AND " }
        if case .or = term { appendEnclosed(term, columns) } else { append(term, columns) }
      }
    case .or(let terms):
      for (i, term) in terms.enumerated() {
        if i > 0 { sql += " OR " }
        append(term, columns)
      }
    case .not(let negated):
      appendEnclosed(negated, columns)
      sql += " IS NOT TRUE"
    case .comparison(let comparison): append(comparison, columns)
    }
  }

  private mutating func appendEnclosed(_ predicate: FetchPredicate, _ columns: SQLColumns) {
    sql += "("
    append(predicate, columns)
    sql += ")"
  }

  // MARK: Comparisons

  private mutating func append(_ comparison: PredicateComparison, _ columns: SQLColumns) {
    if case .enumeration(let enumeration) = comparison.subject.key.type {
      return append(comparison, enumeration, columns[comparison.subject.key])
    }
    if let element = comparison.ofElement {
      // The list is stored as a JSON array of strings, or NULL. A damaged one counts as empty.
      let list = columns[comparison.subject.key].expression
      sql += "EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(\(list)) THEN \(list) END) AS element WHERE "
      append(element, SQLColumns(element.subject.key, "element.value"))
      sql += ")"
      return
    }
    switch comparison.test {
    case .relation(let relation, let value):
      appendSubject(comparison, columns)
      append(relation, mayBeNull: comparison.subject.isNullable)
      append(value, comparison)
    case .property(let relation, let other):
      appendSubject(comparison, columns)
      append(relation, mayBeNull: comparison.subject.isNullable || other.isNullable, isBothSided: true)
      appendSubject(PredicateComparison(other, comparison.test, folding: comparison.folding), columns)
    case .isNil(let isNil):
      appendSubject(comparison, columns)
      sql += isNil ? " IS NULL" : " IS NOT NULL"
    case .between(let lower, let upper):
      appendSubject(comparison, columns)
      sql += " BETWEEN "
      append(lower, comparison)
      sql += " AND "
      append(upper, comparison)
    case .oneOf(let values):
      guard !values.isEmpty else { return appendFalse() }
      appendSubject(comparison, columns)
      sql += " IN ("
      for (i, value) in values.enumerated() {
        if i > 0 { sql += ", " }
        append(value, comparison)
      }
      sql += ")"
    case .string(let stringOperator, let text):
      append(stringOperator, comparison.folding.folded(text), comparison, columns)
    }
  }

  private mutating func appendSubject(_ comparison: PredicateComparison, _ columns: SQLColumns) {
    let expression = columns[comparison.subject.key].expression
    if !comparison.folding.isEmpty {
      sql += "\(SQLFunction.name(of: comparison.folding))(\(expression))"
    } else if let mask = comparison.subject.mask {
      sql += "(\(expression) & ?)"
      values.append(.integer(mask))
    } else {
      sql += expression
    }
  }

  /// `!=` is true for an absent value, and `==` is true for two absent values.
  private mutating func append(
    _ relation: PredicateComparison.Relation, mayBeNull: Bool, isBothSided: Bool = false
  ) {
    switch relation {
    case .equal: sql += mayBeNull && isBothSided ? " IS " : " = "
    case .notEqual: sql += mayBeNull ? " IS NOT " : " <> "
    default: sql += " \(relation.rawValue) "
    }
  }

  private mutating func append(_ value: PropertyValue, _ comparison: PredicateComparison) {
    switch value {
    // A literal, so that a partial index on this value can be used.
    case .boolean(let value): sql += value ? "1" : "0"
    case .integer(let number): bind(.integer(number))
    case .real(let number): bind(.real(number))
    case .string(let text): bind(.text(comparison.folding.folded(text)))
    case .date(let date): bind(.integer(date.milliseconds))
    case .name: preconditionFailure("a name belongs to an enumeration")
    case .strings: preconditionFailure("a list is not a literal")
    }
  }

  /// Bound: with a literal 0 SQLite ignores the other terms and finds no usable partial index ("no query solution" with
  /// INDEXED BY).
  private mutating func appendFalse() { bind(.integer(0)) }

  private mutating func bind(_ value: SQLValue) {
    sql += "?"
    values.append(value)
  }

  // MARK: Enumerations

  /// The matching cases are computed here, so the stored values and their order do not matter.
  private mutating func append(
    _ comparison: PredicateComparison, _ enumeration: Enumeration, _ column: SQLColumns.Column
  ) {
    let fulfilling = enumeration.cases.filter { comparison.matches(SingleValue(value: .name($0.name))) }
    let others = enumeration.cases.count - fulfilling.count
    let isTrueOfNil = comparison.subject.isNullable && comparison.matches(SingleValue(value: nil))
    switch (fulfilling.count, others) {
    case (0, _): if isTrueOfNil { sql += "\(column.expression) IS NULL" } else { appendFalse() }
    case (_, 0): sql += comparison.subject.isNullable && !isTrueOfNil ? "\(column.expression) IS NOT NULL" : "1"
    default:
      if isTrueOfNil { sql += "(\(column.expression) IS NULL OR " }
      sql += column.expression + (fulfilling.count == 1 ? " = " : " IN (")
      for (i, element) in fulfilling.enumerated() {
        if i > 0 { sql += ", " }
        bind(column.value(ofCase: element.name))
      }
      if fulfilling.count > 1 { sql += ")" }
      if isTrueOfNil { sql += ")" }
    }
  }

  // MARK: Strings

  private mutating func append(
    _ stringOperator: PredicateComparison.StringOperator, _ text: String, _ comparison: PredicateComparison,
    _ columns: SQLColumns
  ) {
    switch stringOperator {
    case .beginsWith: appendPrefix(text, comparison, columns)
    case .endsWith: appendPart(text, comparison, columns, "substr(", ", -\(text.unicodeScalars.count)) = ?")
    case .contains: appendPart(text, comparison, columns, "instr(", ", ?) > 0")
    case .like: appendPattern(text, comparison, columns)
    }
  }

  /// A range of the column, which an index can serve; no index holds folded text.
  private mutating func appendPrefix(_ prefix: String, _ comparison: PredicateComparison, _ columns: SQLColumns) {
    guard comparison.folding.isEmpty, !prefix.isEmpty else {
      return appendPart(prefix, comparison, columns, "substr(", ", 1, \(prefix.unicodeScalars.count)) = ?")
    }
    appendSubject(comparison, columns)
    sql += " >= "
    bind(.text(prefix))
    guard let successor = prefix.codePointSuccessor else { return }
    sql += " AND "
    appendSubject(comparison, columns)
    sql += " < "
    bind(.text(successor))
  }

  /// Every present string contains, begins and ends with the empty string.
  private mutating func appendPart(
    _ part: String, _ comparison: PredicateComparison, _ columns: SQLColumns, _ start: String, _ end: String
  ) {
    if part.isEmpty {
      sql += "\(columns[comparison.subject.key].expression) IS NOT NULL"
    } else {
      sql += start
      appendSubject(comparison, columns)
      sql += end
      values.append(.text(part))
    }
  }

  /// Common patterns have simpler SQL.
  private mutating func appendPattern(_ pattern: String, _ comparison: PredicateComparison, _ columns: SQLColumns) {
    let parts = LikePattern.parts(pattern)
    switch (parts.count, parts.first, parts.dropFirst().first, parts.last) {
    case (0, _, _, _): appendWhole("", comparison, columns)
    case (1, .literal(let text), _, _): appendWhole(text, comparison, columns)
    case (1, .anyText, _, _): append(.contains, "", comparison, columns)
    case (2, .literal(let text), _, .anyText): append(.beginsWith, text, comparison, columns)
    case (2, .anyText, _, .literal(let text)): append(.endsWith, text, comparison, columns)
    case (3, .anyText, .literal(let text), .anyText): append(.contains, text, comparison, columns)
    default:
      if case .literal(let prefix) = parts.first, comparison.folding.isEmpty {
        appendPrefix(prefix, comparison, columns)
        sql += " AND "
      }
      sql += "\(SQLFunction.like.name)("
      appendSubject(comparison, columns)
      sql += ", ?)"
      values.append(.text(pattern))
    }
  }

  private mutating func appendWhole(_ text: String, _ comparison: PredicateComparison, _ columns: SQLColumns) {
    appendSubject(comparison, columns)
    sql += " = "
    bind(.text(text))
  }
}
