// Where touched assets belong in a list whose other assets nobody touched: each is compared with a few of those, by what
// the fetch orders by. Most stay where they were, which two comparisons tell. The others are looked for by halves, all at
// the same time, so that those they are compared with are read once for all, and one statement reads a step's.

import GRDB
import PhotoModel
import PhotoPredicate

struct PlaceSearch {
  /// One of the touched assets that the fetch gives now.
  struct Found {
    let row: UInt32
    /// The token of the last change of it that the principal can see.
    let revision: Int64
    let key: [SQLValue]
    /// How many of the others stood before it in the old list.
    fileprivate var former: Int?
  }

  /// The old list without touched assets.
  private(set) var kept: [UInt32] = []
  /// In the fetch's order.
  private(set) var found: [Found] = []

  /// What is read for comparing may take about as long as reading the whole list.
  private let limit: Int
  private let order: [FetchPlan.Ordering]
  private let statement: Statement
  /// What is bound behind the list of rows.
  private let values: [SQLValue]
  /// Keys that were read, by their places among the others.
  private var keys: [Int: [SQLValue]] = [:]

  /// Reading by row number costs so many times as much as reading the next one of an index.
  private static let costOfOne = 16
  private static let fewest = 1000

  /// How many assets are looked for one by one, before reading the list costs less. A list that takes a look at every asset is
  /// read as seldom as can be.
  private static func limit(_ fetch: AssetFetch, old count: Int) -> Int {
    max(fewest, fetch.isFree ? count : count / costOfOne)
  }

  /// Whether so many touched assets may be looked up, to find those that the fetch gives, before reading the list costs less.
  static func pays(touched count: Int, _ fetch: AssetFetch, old: Int) -> Bool {
    fetch.isFree || count <= limit(fetch, old: old)
  }

  init(
    _ fetch: AssetFetch, _ old: [UInt32], touched: [UInt32], for principal: Principal, _ db: Database
  ) throws {
    let plan = FetchPlan(fetch, among: [])
    order = plan.order
    values = Array(plan.values.dropFirst())
    statement = try FetchStatement(
      plan, columns: "asset.id, \(AssetRow.revision(for: principal))", limit: nil
    ).prepared(db)
    limit = Self.limit(fetch, old: old.count)
    let isTouched = TouchedRows(touched.map { ($0, false) })
    var former: [UInt32: Int] = [:]
    kept.reserveCapacity(old.count)
    for row in old {
      if isTouched.contains(row) { former[row] = kept.count } else { kept.append(row) }
    }
    found = try read(touched)
    for index in found.indices { found[index].former = former[found[index].row] }
  }

  /// For each that was found, how many of the others stand before it; ascending. `nil`: it takes longer than reading the
  /// list, or the list is not what the history says.
  mutating func places() throws -> [Int]? {
    if found.count > limit { return nil }
    // Between which places each one's lies, both included.
    var ranges = [ClosedRange<Int>](repeating: 0...kept.count, count: found.count)
    var wanted: [[Int]] = found.map { one in
      one.former.map { [$0 - 1, $0].filter(kept.indices.contains) } ?? []
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
    let places = ranges.map(\.lowerBound)
    return zip(places, places.dropFirst()).allSatisfy(<=) ? places : nil
  }

  /// The place to compare with next: whatever the range, one that is the middle of many ranges.
  private static func middle(_ range: ClosedRange<Int>) -> Int {
    let bit = Int.bitWidth - 1 - (range.lowerBound ^ range.upperBound).leadingZeroBitCount
    return ((range.upperBound >> bit) << bit) - 1
  }

  /// Reads the keys of those places that are not known yet. `false`: that is too many.
  private mutating func load(_ places: [[Int]]) throws -> Bool {
    var missing: [UInt32: Int] = [:]
    for place in places.joined() where keys[place] == nil { missing[kept[place]] = place }
    if missing.isEmpty { return true }
    if keys.count + missing.count > limit { return false }
    for one in try read(Array(missing.keys)) { if let place = missing[one.row] { keys[place] = one.key } }
    return true
  }

  /// Those of some rows that the fetch gives, in its order.
  private func read(_ rows: [UInt32]) throws -> [Found] {
    let arguments = [SQLValue.text(FetchPlan.list(rows))] + values
    let cursor = try Row.fetchCursor(statement, arguments: StatementArguments(arguments.map(\.databaseValue)))
    var found: [Found] = []
    while let row = try cursor.next() {
      let key = order.indices.map { SQLValue(row[2 + $0] as DatabaseValue) }
      found.append(Found(row: row[0], revision: row[1], key: key))
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
  /// -1, 0 or 1: how SQLite orders two values of the collation BINARY (https://www.sqlite.org/datatype3.html#sort_order).
  fileprivate func order(_ other: SQLValue) -> Int {
    switch (self, other) {
    case (.null, .null): 0
    case (.integer(let first), .integer(let second)): first < second ? -1 : first == second ? 0 : 1
    case (.real(let first), .real(let second)): first < second ? -1 : first == second ? 0 : 1
    case (.text(let first), .text(let second)):
      first.utf8.lexicographicallyPrecedes(second.utf8) ? -1 : first.utf8.elementsEqual(second.utf8) ? 0 : 1
    // A column has values of one type, or none.
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
