// Compares two lists of rows: finds the rows that are in only one of them, and runs of rows that are in both.
//
// Untouched rows have not moved relative to each other. So both lists are walked in parallel, and where they differ,
// the touched row is set aside. Rows set aside from one list are then matched with those set aside from the other. That
// takes linear time, and memory only for the differences. If an untouched row differs, everything up to the common end
// of both lists is set aside: the result is still correct, only slower.

struct RowListComparison {
  /// Consecutive rows that are consecutive in both lists.
  struct Run: Hashable {
    var old: Int
    var new: Int
    var count: Int
  }

  /// Positions in the old list, ascending, of rows that are only in the old list.
  private(set) var removed: [Int] = []
  /// Positions in the new list, ascending, of rows that are only in the new list.
  private(set) var inserted: [Int] = []
  /// Rows that are in both lists, in the old list's order.
  private(set) var runs: [Run] = []
  /// Positions in the old list, ascending, of changed rows that are in both lists.
  private(set) var changed: [Int] = []

  /// - Parameters:
  ///   - old: row numbers, each at most once; the same for `new`.
  ///   - limit: the maximum number of rows set aside; the initializer returns `nil` above it.
  init?(
    _ old: UnsafeBufferPointer<UInt32>, _ new: UnsafeBufferPointer<UInt32>, touched: TouchedRows, limit: Int
  ) {
    var unmatchedOld: [Int] = []
    var unmatchedNew: [Int] = []
    var (i, j) = (0, 0)
    while i < old.count && j < new.count {
      if old[i] == new[j] {
        stays(old[i], i, j, touched)
        i += 1
        j += 1
      } else if touched.contains(old[i]) {
        unmatchedOld.append(i)
        i += 1
      } else if touched.contains(new[j]) {
        unmatchedNew.append(j)
        j += 1
      } else {
        break
      }
      if unmatchedOld.count + unmatchedNew.count > limit { return nil }
    }
    var same = 0
    while same < min(old.count - i, new.count - j), old[old.count - 1 - same] == new[new.count - 1 - same] { same += 1 }
    let (oldEnd, newEnd) = (old.count - same, new.count - same)
    if unmatchedOld.count + unmatchedNew.count + oldEnd - i + newEnd - j > limit { return nil }
    unmatchedOld += i..<oldEnd
    unmatchedNew += j..<newEnd
    for step in 0..<same { stays(old[oldEnd + step], oldEnd + step, newEnd + step, touched) }
    if !unmatchedOld.isEmpty || !unmatchedNew.isEmpty { pair(unmatchedOld, unmatchedNew, old, new, touched) }
  }

  /// Appends a row that is in both lists to the runs.
  private mutating func stays(_ row: UInt32, _ old: Int, _ new: Int, _ touched: TouchedRows) {
    if let last = runs.last, last.old + last.count == old, last.new + last.count == new {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(old: old, new: new, count: 1))
    }
    if touched.isChanged(row) { changed.append(old) }
  }

  /// Matches the rows set aside from both lists, and adds the pairs to the runs.
  private mutating func pair(
    _ unmatchedOld: [Int], _ unmatchedNew: [Int], _ old: UnsafeBufferPointer<UInt32>,
    _ new: UnsafeBufferPointer<UInt32>,
    _ touched: TouchedRows
  ) {
    var indexes: [UInt32: Int] = [:]
    indexes.reserveCapacity(unmatchedNew.count)
    for (index, position) in unmatchedNew.enumerated() { indexes[new[position]] = index }
    var isPaired = [Bool](repeating: false, count: unmatchedNew.count)
    let aligned = runs
    runs = []
    var found: [Run] = []
    for position in unmatchedOld {
      guard let index = indexes[old[position]] else {
        removed.append(position)
        continue
      }
      isPaired[index] = true
      found.append(Run(old: position, new: unmatchedNew[index], count: 1))
      if touched.isChanged(old[position]) { changed.append(position) }
    }
    inserted = zip(unmatchedNew, isPaired).filter { !$0.1 }.map(\.0)
    changed.sort()
    for run in (aligned + found).sorted(by: { $0.old < $1.old }) {
      if let last = runs.last, last.old + last.count == run.old, last.new + last.count == run.new {
        runs[runs.count - 1].count += run.count
      } else {
        runs.append(run)
      }
    }
  }
}
