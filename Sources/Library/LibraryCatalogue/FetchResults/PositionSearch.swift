// Finds the positions of touched assets in a list whose other assets are unchanged, by comparing the sort values of
// both.
//
// Most touched assets have not moved, which two comparisons with their old neighbours confirm. The positions of the
// others are found by binary search, for all in parallel: each round reads the sort values of all rows that it needs in
// one statement, and a row that several searches need is read once.

import GRDB
import PhotoModel
import PhotoPredicate

struct PositionSearch {
  /// A touched asset that the fetch returns now.
  struct Match {
    let row: UInt32
    /// The token of its last change that the principal can see.
    let revision: Int64
    let key: [SQLValue]
    /// The number of untouched assets before it in the old list; `nil` if it was not in the list.
    fileprivate var former: Int?
  }

  /// The old list without touched assets.
  private(set) var kept: [UInt32] = []
  /// The touched assets that match, in the fetch's order.
  private(set) var found: [Match] = []

  /// The maximum number of rows to read for comparisons; beyond it, reading the whole list is faster.
  private let limit: Int
  private let order: [FetchPlan.Ordering]
  private let statement: Statement
  /// The values bound after the list of rows.
  private let values: [SQLValue]
  /// Sort values read so far, by position in `kept`.
  private var keys: [Int: [SQLValue]] = [:]

  /// The cost of a lookup by row number, in units of reading the next entry of an index.
  private static let lookupCost = 16
  private static let minimumLookups = 1000

  /// The number of lookups above which reading the list again is cheaper. It is high for a fetch that reads every
  /// asset.
  private static func limit(_ fetch: AssetFetch, old count: Int, for principal: Principal) -> Int {
    max(minimumLookups, fetch.needsFullScan(for: principal) ? count : count / lookupCost)
  }

  /// Whether looking up this many touched assets is cheaper than reading the list.
  static func isCheaperThanReading(
    touched count: Int, _ fetch: AssetFetch, old: Int, for principal: Principal
  ) -> Bool {
    fetch.needsFullScan(for: principal) || count <= limit(fetch, old: old, for: principal)
  }

  init(
    _ fetch: AssetFetch, _ old: [UInt32], touched: [UInt32], for principal: Principal, _ db: Database,
    _ statements: RecentStatements, _ albumTitles: AlbumTitles
  ) throws {
    let plan = FetchPlan(fetch, among: [], search: try SearchAccess(fetch, in: .whole, albumTitles, db))
    order = plan.order
    values = Array(plan.values.dropFirst())
    statement = try FetchStatement(
      plan, columns: "asset.id, \(AssetRow.revision(for: principal))", limit: nil
    ).prepared(db, in: statements)
    limit = Self.limit(fetch, old: old.count, for: principal)
    let isTouched = TouchedRows(touched.map { ($0, false) })
    var former: [UInt32: Int] = [:]
    kept.reserveCapacity(old.count)
    for row in old {
      if isTouched.contains(row) { former[row] = kept.count } else { kept.append(row) }
    }
    found = try read(touched)
    for index in found.indices { found[index].former = former[found[index].row] }
  }

  /// For each element of `found`, the number of kept assets before it; ascending. `nil` if reading the list is faster,
  /// or if the old list contradicts the history.
  mutating func positions() throws -> [Int]? {
    if found.count > limit { return nil }
    // The range of possible positions of each match, both ends included.
    var ranges = [ClosedRange<Int>](repeating: 0...kept.count, count: found.count)
    var wanted: [[Int]] = found.map { match in
      match.former.map { [$0 - 1, $0].filter(kept.indices.contains) } ?? []
    }
    while true {
      guard try load(wanted) else { return nil }
      var isDone = true
      for (index, probes) in wanted.enumerated() {
        for probe in probes {
          guard let key = keys[probe] else { return nil }
          let range = ranges[index]
          if precedes(found[index].key, key) {
            if probe < range.upperBound { ranges[index] = min(range.lowerBound, probe)...probe }
          } else if probe + 1 > range.lowerBound {
            ranges[index] = probe + 1...max(range.upperBound, probe + 1)
          }
        }
        if ranges[index].count == 1 {
          wanted[index] = []
        } else {
          wanted[index] = [Self.middle(ranges[index])]
          isDone = false
        }
      }
      if isDone { break }
    }
    let positions = ranges.map(\.lowerBound)
    return zip(positions, positions.dropFirst()).allSatisfy(<=) ? positions : nil
  }

  /// The position to compare with next: one less than the multiple of the largest power of two within the range, so
  /// that many searches compare with the same positions.
  private static func middle(_ range: ClosedRange<Int>) -> Int {
    let bit = Int.bitWidth - 1 - (range.lowerBound ^ range.upperBound).leadingZeroBitCount
    return ((range.upperBound >> bit) << bit) - 1
  }

  /// Reads the missing sort values for these positions. `false` if that exceeds the limit.
  private mutating func load(_ positions: [[Int]]) throws -> Bool {
    var missing: [UInt32: Int] = [:]
    for position in positions.joined() where keys[position] == nil { missing[kept[position]] = position }
    if missing.isEmpty { return true }
    if keys.count + missing.count > limit { return false }
    for match in try read(Array(missing.keys)) { if let position = missing[match.row] { keys[position] = match.key } }
    return true
  }

  /// Those of the rows that the fetch returns, in its order.
  private func read(_ rows: [UInt32]) throws -> [Match] {
    let arguments = [SQLValue.text(RowNumbers.json(rows))] + values
    let cursor = try Row.fetchCursor(statement, arguments: StatementArguments(arguments.map(\.databaseValue)))
    var found: [Match] = []
    while let row = try cursor.next() {
      let key = order.indices.map { SQLValue(row[2 + $0] as DatabaseValue) }
      found.append(Match(row: row[0], revision: row[1], key: key))
    }
    return found
  }

  private func precedes(_ first: [SQLValue], _ second: [SQLValue]) -> Bool {
    for (index, ordering) in order.enumerated() {
      let order = first[index].order(second[index])
      if order != 0 { return (order < 0) == ordering.isAscending }
    }
    return false
  }
}

extension SQLValue {
  /// -1, 0 or 1: SQLite's order of two values with the collation BINARY
  /// (https://www.sqlite.org/datatype3.html#sort_order).
  fileprivate func order(_ other: SQLValue) -> Int {
    switch (self, other) {
    case (.null, .null): 0
    case (.integer(let first), .integer(let second)): first < second ? -1 : first == second ? 0 : 1
    case (.real(let first), .real(let second)): first < second ? -1 : first == second ? 0 : 1
    case (.text(let first), .text(let second)):
      first.utf8.lexicographicallyPrecedes(second.utf8) ? -1 : first.utf8.elementsEqual(second.utf8) ? 0 : 1
    // The values of a column have one type, or are NULL.
    default: rank < other.rank ? -1 : rank == other.rank ? 0 : 1
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    }
  }
}
