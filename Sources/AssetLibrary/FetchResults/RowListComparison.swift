// Two lists of rows side by side: what is in one alone, and what stays, in runs.
//
// What nobody touched has not changed its place among its like. So both lists are walked at once, and where they differ a
// touched row is set aside: what is set aside of the one list is looked for among what is set aside of the other. That
// takes a step for each row, and memory for what differs. Where rows differ that nobody touched, all from there to where the
// lists' ends are alike is set aside; so the outcome is right whatever was told of touched rows, only less quick.

struct RowListComparison {
  /// Rows that stand in both lists, one behind the other in both.
  struct Run: Hashable {
    var old: Int
    var new: Int
    var count: Int
  }

  /// Positions in the old list, ascending, of rows that are in it alone.
  private(set) var removed: [Int] = []
  /// Positions in the new list, ascending, of rows that are in it alone.
  private(set) var inserted: [Int] = []
  /// What is in both, in the old list's order.
  private(set) var runs: [Run] = []
  /// Positions in the old list, ascending, of rows that are in both and were changed.
  private(set) var changed: [Int] = []

  /// - Parameters:
  ///   - old: each row once; so in `new`.
  ///   - limit: how many rows may be set aside; `nil` is given where there are more.
  init?(
    _ old: UnsafeBufferPointer<UInt32>, _ new: UnsafeBufferPointer<UInt32>, touched: TouchedRows, limit: Int
  ) {
    var asideOld: [Int] = []
    var asideNew: [Int] = []
    var (i, j) = (0, 0)
    while i < old.count && j < new.count {
      if old[i] == new[j] {
        stays(old[i], i, j, touched)
        i += 1
        j += 1
      } else if touched.contains(old[i]) {
        asideOld.append(i)
        i += 1
      } else if touched.contains(new[j]) {
        asideNew.append(j)
        j += 1
      } else {
        break
      }
      if asideOld.count + asideNew.count > limit { return nil }
    }
    var same = 0
    while same < min(old.count - i, new.count - j), old[old.count - 1 - same] == new[new.count - 1 - same] { same += 1 }
    let (oldEnd, newEnd) = (old.count - same, new.count - same)
    if asideOld.count + asideNew.count + oldEnd - i + newEnd - j > limit { return nil }
    asideOld += i..<oldEnd
    asideNew += j..<newEnd
    for step in 0..<same { stays(old[oldEnd + step], oldEnd + step, newEnd + step, touched) }
    if !asideOld.isEmpty || !asideNew.isEmpty { pair(asideOld, asideNew, old, new, touched) }
  }

  private mutating func stays(_ row: UInt32, _ old: Int, _ new: Int, _ touched: TouchedRows) {
    if let last = runs.last, last.old + last.count == old, last.new + last.count == new {
      runs[runs.count - 1].count += 1
    } else {
      runs.append(Run(old: old, new: new, count: 1))
    }
    if touched.isChanged(row) { changed.append(old) }
  }

  private mutating func pair(
    _ asideOld: [Int], _ asideNew: [Int], _ old: UnsafeBufferPointer<UInt32>, _ new: UnsafeBufferPointer<UInt32>,
    _ touched: TouchedRows
  ) {
    var places: [UInt32: Int] = [:]
    places.reserveCapacity(asideNew.count)
    for (place, position) in asideNew.enumerated() { places[new[position]] = place }
    var isPaired = [Bool](repeating: false, count: asideNew.count)
    let aligned = runs
    runs = []
    var found: [Run] = []
    for position in asideOld {
      guard let place = places[old[position]] else {
        removed.append(position)
        continue
      }
      isPaired[place] = true
      found.append(Run(old: position, new: asideNew[place], count: 1))
      if touched.isChanged(old[position]) { changed.append(position) }
    }
    inserted = zip(asideNew, isPaired).filter { !$0.1 }.map(\.0)
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
