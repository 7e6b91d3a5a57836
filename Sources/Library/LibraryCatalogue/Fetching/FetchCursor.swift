import GRDB
import PhotoModel
import PhotoPredicate

/// The end of a page of a fetch: the sort values of its last row, and the number of rows so far. The next page begins
/// after these values, so insertions and deletions between two pages neither skip nor repeat a row that stays.
struct FetchCursor {
  let values: [SQLValue]
  /// The number of rows of all pages so far.
  let rowsBefore: Int

  init(_ cursor: PageCursor, of plan: FetchPlan) throws(AssetSourceError) {
    guard try cursor.fields(plan.order.count + 2)[0] == .text(Self.orderSignature(plan)) else { throw .malformedCursor }
    rowsBefore = Int(clamping: try cursor.integer(1))
    guard rowsBefore > 0 else { throw .malformedCursor }
    values = cursor.fields.dropFirst(2).map { field in
      switch field {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      }
    }
  }

  fileprivate static func pageCursor(_ row: Row, _ plan: FetchPlan, rowsBefore: Int) -> PageCursor {
    // The sort values are the last columns of the row.
    let first = row.count - plan.order.count
    let values = (0..<plan.order.count).map { index -> PageCursor.Field in
      switch SQLValue(row[first + index] as DatabaseValue) {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      }
    }
    return PageCursor([.text(orderSignature(plan)), .integer(Int64(rowsBefore))] + values)
  }

  /// Identifies the sort order, so that a cursor of another order is rejected.
  private static func orderSignature(_ plan: FetchPlan) -> String {
    plan.order.map { ($0.isAscending ? "" : "-") + $0.expression.replacing("asset.", with: "") }.joined(separator: ",")
  }
}

extension FetchCursor? {
  /// The maximum number of rows of the next page.
  func limit(_ asked: Int, of fetch: AssetFetch) -> Int {
    min(asked, max(0, (fetch.fetchLimit ?? .max) - (self?.rowsBefore ?? 0)))
  }

  /// The cursor after the last row of a page; `nil` if the fetch limit is reached.
  func next(after row: Row, _ count: Int, of fetch: AssetFetch, _ plan: FetchPlan) -> PageCursor? {
    let rowsBefore = (self?.rowsBefore ?? 0) + count
    return rowsBefore < fetch.fetchLimit ?? .max ? FetchCursor.pageCursor(row, plan, rowsBefore: rowsBefore) : nil
  }
}
