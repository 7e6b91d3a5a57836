import GRDB
import PhotoModel
import PhotoPredicate

/// Where a page of a fetch ended: the values of its order in the last row, and how many rows there were so far. So the next
/// page begins behind that row, whatever has come or gone since: none that stays is left out, and none comes twice.
struct FetchCursor {
  let values: [SQLValue]
  /// Rows of all pages before.
  let seen: Int

  private init(values: [SQLValue], seen: Int) {
    self.values = values
    self.seen = seen
  }

  init(text: String, of fetch: AssetFetch, _ plan: FetchPlan, _ seal: CursorSeal) throws(AssetSourceError) {
    let cursor = try PageCursor(text: text, seal)
    guard try cursor.fields(plan.order.count + 2)[0] == .text(Self.digest(plan)) else { throw .malformedCursor }
    seen = Int(clamping: try cursor.integer(1))
    guard seen > 0 else { throw .malformedCursor }
    values = cursor.fields.dropFirst(2).map { field in
      switch field {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      }
    }
  }

  fileprivate static func text(_ row: Row, _ plan: FetchPlan, _ seal: CursorSeal, seen: Int) -> String {
    // The values of the order are the row's last columns.
    let first = row.count - plan.order.count
    let values = (0..<plan.order.count).map { index -> PageCursor.Field in
      switch SQLValue(row[first + index] as DatabaseValue) {
      case .null: .null
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      }
    }
    return PageCursor([.text(digest(plan)), .integer(Int64(seen))] + values).text(seal)
  }

  /// Tells the cursor of one order from that of another, so that none is taken for what it is not. It is no secret.
  private static func digest(_ plan: FetchPlan) -> String {
    plan.order.map { ($0.isAscending ? "" : "-") + $0.expression.replacing("asset.", with: "") }.joined(separator: ",")
  }
}

extension FetchCursor? {
  /// How many rows of the next page there may be.
  func limit(_ asked: Int, of fetch: AssetFetch) -> Int {
    min(asked, max(0, (fetch.fetchLimit ?? .max) - (self?.seen ?? 0)))
  }

  /// The cursor behind a page's last row; `nil` where the fetch may go no further.
  func next(
    behind row: Row, _ count: Int, of fetch: AssetFetch, _ plan: FetchPlan, _ seal: CursorSeal
  ) -> String? {
    let seen = (self?.seen ?? 0) + count
    return seen < fetch.fetchLimit ?? .max ? FetchCursor.text(row, plan, seal, seen: seen) : nil
  }
}
