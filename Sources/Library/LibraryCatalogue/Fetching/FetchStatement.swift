// One SELECT statement of a fetch: the plan, the cursor's condition, and the requested columns.

import GRDB
import PhotoModel
import PhotoPredicate

struct FetchStatement {
  private let sql: String
  private let arguments: StatementArguments

  func prepared(_ db: Database, in statements: RecentStatements) throws -> Statement {
    let statement = try statements.prepared(sql, db)
    try statement.setArguments(arguments)
    return statement
  }

  /// - Parameters:
  ///   - columns: the columns to read; the sort values follow them. `asset` is joined if the statement names one of its
  ///     columns.
  ///   - joins: tables joined to `asset` for these columns.
  ///   - last: the sort values of the last row of the previous page.
  ///   - end: the number of the last document of the page, for a plan with a date stream.
  init(
    _ plan: FetchPlan, columns: String, joins: String = "", after last: [SQLValue]? = nil, through end: Int64? = nil,
    limit: Int?, isOrdered: Bool = true
  ) {
    var conditions = [plan.condition]
    var values = plan.values
    if let last { conditions.append(Self.rowsAfter(last, plan, &values)) }
    if let end, let stream = plan.dateStream {
      let range = SearchDocument.range(end >> 32)
      conditions.append("search.rowid \(stream == .newestFirst ? "<=" : ">=") ?")
      values.append(.integer(stream == .newestFirst ? range.upperBound : range.lowerBound))
    }
    let order = plan.order.map { $0.expression + ($0.isAscending ? "" : " DESC") }.joined(separator: ", ")
    let keys = isOrdered ? plan.order.map { ", " + $0.expression }.joined() : ""
    let condition = conditions.joined(separator: " AND ")
    let source = plan.source(joiningAsset: Self.namesAsset([columns, joins, condition, order]))
    var sql = "SELECT \(columns)\(keys) FROM \(source) \(joins) WHERE \(condition)"
    if isOrdered { sql += " ORDER BY \(order)" }
    if let limit {
      sql += " LIMIT ?"
      values.append(.integer(Int64(limit)))
    }
    self.sql = sql
    arguments = StatementArguments(values.map(\.databaseValue))
  }

  /// Finds the document at a position, for a plan with a date stream: one row with its number, or none.
  ///
  /// Documents are numbered by periods of a few seconds. So the rows up to the end of that document's period include
  /// the first `position + 1` rows of the fetch, and hardly any others.
  init(documentAt position: Int, of plan: FetchPlan, after last: [SQLValue]?) {
    var conditions = [plan.condition]
    var values = plan.values
    if let last { conditions.append(Self.rowsAfter(last, plan, &values)) }
    let condition = conditions.joined(separator: " AND ")
    sql = """
      SELECT search.rowid FROM \(plan.source(joiningAsset: Self.namesAsset([condition]))) WHERE \(condition)
      ORDER BY search.rowid\(plan.dateStream == .oldestFirst ? " DESC" : "") LIMIT 1 OFFSET ?
      """
    values.append(.integer(Int64(position)))
    arguments = StatementArguments(values.map(\.databaseValue))
  }

  /// Counts assets by day: rows of the day number since 1970 and the count.
  ///
  /// - Parameter limit: counts only this many assets, the first in the plan's order.
  init(countingDaysOf plan: FetchPlan, limit: Int?) {
    let days = FetchStatement(plan, columns: "\(plan.table).localDay AS day", limit: limit, isOrdered: limit != nil)
    sql = "SELECT day, count(*) FROM (\(days.sql)) GROUP BY day"
    arguments = days.arguments
  }

  init(counting plan: FetchPlan) {
    self.init(aggregating: "count(*)", plan)
  }

  /// One row: the number of assets, and their oldest and newest creation date, which are NULL if there is none.
  init(summarizing plan: FetchPlan) {
    let date = "\(plan.table).creationDate"
    self.init(aggregating: "count(*), min(\(date)), max(\(date))", plan)
  }

  private init(aggregating columns: String, _ plan: FetchPlan) {
    let source = plan.source(joiningAsset: Self.namesAsset([columns, plan.condition]))
    sql = "SELECT \(columns) FROM \(source) WHERE \(plan.condition)"
    arguments = StatementArguments(plan.values.map(\.databaseValue))
  }

  /// Whether SQL text names a column of `asset`. A text search suffices, because values of clients are bound.
  static func namesAsset(_ sql: [String]) -> Bool { sql.contains { $0.contains("asset.") } }

  /// A condition for the rows after the given one: after it in the first key, or equal there and after it in the next
  /// key, and so on. NULL sorts before all values.
  private static func rowsAfter(_ last: [SQLValue], _ plan: FetchPlan, _ values: inout [SQLValue]) -> String {
    let order = plan.order
    var alternatives: [String] = []
    var bound = ""
    if let stream = plan.dateStream, case .integer(let date) = last[0] {
      let range = SearchDocument.range(SearchDocument.period(date))
      bound = "search.rowid \(stream == .newestFirst ? ">=" : "<=") ? AND "
      values.append(.integer(stream == .newestFirst ? range.lowerBound : range.upperBound))
    }
    // Redundant with the alternatives, but a bound at which SQLite can start in the index.
    if let first = order.first, !first.isNullable, last[0] != .null {
      bound += "\(first.expression) \(first.isAscending ? ">=" : "<=") ? AND "
      values.append(last[0])
    }
    for (depth, key) in order.enumerated() {
      var terms: [String] = []
      var bindings: [SQLValue] = []
      for (previous, value) in zip(order, last).prefix(depth) {
        terms.append("\(previous.expression) IS ?")
        bindings.append(value)
      }
      switch (last[depth], key.isAscending) {
      case (.null, true): terms.append("\(key.expression) IS NOT NULL")
      case (.null, false): continue
      case (let value, true):
        terms.append("\(key.expression) > ?")
        bindings.append(value)
      case (let value, false):
        terms.append(key.isNullable ? "(\(key.expression) < ? OR \(key.expression) IS NULL)" : "\(key.expression) < ?")
        bindings.append(value)
      }
      alternatives.append("(\(terms.joined(separator: " AND ")))")
      values += bindings
    }
    return "\(bound)(\(alternatives.isEmpty ? "0" : alternatives.joined(separator: " OR ")))"
  }
}
