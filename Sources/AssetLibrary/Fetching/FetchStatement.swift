// A fetch as one statement: its plan, a cursor's part, and what is read of each row.

import GRDB
import PhotoModel
import PhotoPredicate

struct FetchStatement {
  private let sql: String
  private let arguments: StatementArguments

  /// Not kept: clients write predicates and orders, and there is no end to them.
  func prepared(_ db: Database) throws -> Statement {
    let statement = try db.makeStatement(sql: sql)
    try statement.setArguments(arguments)
    return statement
  }

  /// - Parameters:
  ///   - columns: what is read of each row; the values of its order come behind them.
  ///   - joins: what is joined to `asset` for them.
  ///   - last: the values of the order in the last row of the page before.
  init(
    _ plan: FetchPlan, columns: String, joins: String = "", after last: [SQLValue]? = nil, limit: Int?,
    isOrdered: Bool = true
  ) {
    var conditions = [plan.condition]
    var values = plan.values
    if let last { conditions.append(Self.behind(last, plan.order, &values)) }
    let order = plan.order.map { $0.expression + ($0.isAscending ? "" : " DESC") }.joined(separator: ", ")
    let keys = isOrdered ? plan.order.map { ", " + $0.expression }.joined() : ""
    var sql = "SELECT \(columns)\(keys) FROM \(plan.source) \(joins) WHERE \(conditions.joined(separator: " AND "))"
    if isOrdered { sql += " ORDER BY \(order)" }
    if let limit {
      sql += " LIMIT ?"
      values.append(.integer(Int64(limit)))
    }
    self.sql = sql
    arguments = StatementArguments(values.map(\.databaseValue))
  }

  /// Rows of days since 1970 and how many assets are of each.
  ///
  /// - Parameter limit: how many assets are counted, the first ones in the plan's order.
  init(countingDaysOf plan: FetchPlan, limit: Int?) {
    let dates = FetchStatement(plan, columns: "asset.creationDate AS date", limit: limit, isOrdered: limit != nil)
    sql =
      "SELECT (date - ((date % 86400000) + 86400000) % 86400000) / 86400000, count(*) FROM (\(dates.sql)) GROUP BY 1"
    arguments = dates.arguments
  }

  init(counting plan: FetchPlan) {
    sql = "SELECT count(*) FROM \(plan.source) WHERE \(plan.condition)"
    arguments = StatementArguments(plan.values.map(\.databaseValue))
  }

  /// True of the rows that come behind one: behind in the first key, or equal there and behind in the next, and so on. NULL
  /// comes before everything.
  private static func behind(_ last: [SQLValue], _ order: [FetchPlan.Ordering], _ values: inout [SQLValue]) -> String {
    var alternatives: [String] = []
    var bound = ""
    // A bound of the first key that an index can begin at, which the alternatives say as well.
    if let first = order.first, !first.isNullable, last[0] != .null {
      bound = "\(first.expression) \(first.isAscending ? ">=" : "<=") ? AND "
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
