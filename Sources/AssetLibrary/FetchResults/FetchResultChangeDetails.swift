/// What turns one list into another: PHFetchResultChangeDetails.
///
/// Applied to the old list in this order, it gives the new one:
///
/// 1. `removedIndexes`, positions in the old list: what stands there goes, all at once.
/// 2. `insertedIndexes`, ascending: what comes is put in one after the other, each so that it then stands at its position.
/// 3. `changedIndexes`: positions in the list that this gives, of what is in both lists and has other properties now.
/// 4. `moves`: `from` are positions in the list of step 3, `to` in the new one. They are simultaneous: all that moves is
///    taken out, each is put where it goes, and the rest fills the places that are left, in its order.
///
/// Without moves an inserted index is a position in the new list. What was removed or inserted is neither changed nor moved;
/// what moves may have changed.
package struct FetchResultChangeDetails: Sendable, Hashable {
  package struct Move: Sendable, Hashable {
    package var from: Int
    package var to: Int

    package init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// Of more than so many entries, all kinds together, nothing is told but that there are so many: who shows the list reads
  /// it again for less.
  package static let mostEntries = 50_000

  package private(set) var removedIndexes: [Int] = []
  package private(set) var insertedIndexes: [Int] = []
  package private(set) var changedIndexes: [Int] = []
  /// Ascending by `from`; as few as there can be.
  package private(set) var moves: [Move] = []

  /// Of two lists that are the same.
  package init() {}

  /// What turns `old` into `new`. Takes a step for each row, n log n of what differs, and memory for what differs.
  ///
  /// - Parameters:
  ///   - old: each row once; so in `new`.
  ///   - touched: rows that may have come, gone, changed or changed places. Others may have come or gone as well, as the last
  ///     of a limited fetch do, but that takes longer.
  ///   - limit: `nil` is given where there are more entries.
  package init?(
    from old: [UInt32], to new: [UInt32], touched: TouchedRows, limit: Int = mostEntries
  ) {
    let comparison = old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        // What moves is set aside in both lists; and of what is, not all moves.
        RowListComparison(old, new, touched: touched, limit: 4 * limit)
      }
    }
    guard let comparison else { return nil }
    let (staying, moving) = Self.split(comparison.runs)
    let moved = moving.reduce(0) { $0 + $1.count }
    guard comparison.removed.count + comparison.inserted.count + comparison.changed.count + moved <= limit else {
      return nil
    }
    removedIndexes = comparison.removed
    let middle = MiddleList(removed: comparison.removed, inserted: comparison.inserted, staying: staying)
    insertedIndexes = middle.insertedIndexes
    changedIndexes = comparison.changed.map(middle.position(of:))
    moves = moving.flatMap { run in
      (0..<run.count).map { Move(from: middle.position(of: run.old + $0), to: run.new + $0) }
    }
  }

  package var isEmpty: Bool {
    removedIndexes.isEmpty && insertedIndexes.isEmpty && changedIndexes.isEmpty && moves.isEmpty
  }

  /// Whether the lists are the same but for what changed of their members.
  package var keepsOrder: Bool { removedIndexes.isEmpty && insertedIndexes.isEmpty && moves.isEmpty }

  /// Runs of the old list's order: those that stay, which are as many rows as can, and those that have to move. What stays
  /// is the heaviest increasing subsequence of the positions in the new list (Fredman, "On computing the length of longest
  /// increasing subsequences", 1975, with a weight for each element).
  private static func split(
    _ runs: [RowListComparison.Run]
  ) -> (staying: [RowListComparison.Run], moving: [RowListComparison.Run]) {
    if zip(runs, runs.dropFirst()).allSatisfy({ $0.new < $1.new }) { return (runs, []) }
    var ranks = [Int](repeating: 0, count: runs.count)
    for (rank, index) in runs.indices.sorted(by: { runs[$0].new < runs[$1].new }).enumerated() {
      ranks[index] = rank + 1
    }
    // The best that ends among the first ranks, by a tree of prefixes (Fenwick, 1994): its weight and its last run.
    var best = [(weight: Int, last: Int)](repeating: (0, -1), count: runs.count + 1)
    var previous = [Int](repeating: -1, count: runs.count)
    var heaviest = (weight: 0, last: -1)
    for (index, run) in runs.enumerated() {
      var before = (weight: 0, last: -1)
      var place = ranks[index] - 1
      while place > 0 {
        if best[place].weight > before.weight { before = best[place] }
        place &= place - 1
      }
      previous[index] = before.last
      let own = (weight: before.weight + run.count, last: index)
      if own.weight > heaviest.weight { heaviest = own }
      place = ranks[index]
      while place <= runs.count {
        if own.weight > best[place].weight { best[place] = own }
        place += place & -place
      }
    }
    var stays = [Bool](repeating: false, count: runs.count)
    var index = heaviest.last
    while index >= 0 {
      stays[index] = true
      index = previous[index]
    }
    return (
      zip(runs, stays).filter(\.1).map(\.0), zip(runs, stays).filter { !$0.1 }.map(\.0)
    )
  }
}

/// The list behind the insertions and before the moves: what is in both lists in the old order, and what came, each behind
/// the one that it follows of those that stay.
private struct MiddleList {
  private let removed: [Int]
  /// For each that was inserted, the place that it was put at in the list behind the removals; ascending.
  private var places: [Int] = []

  init(removed: [Int], inserted: [Int], staying: [RowListComparison.Run]) {
    self.removed = removed
    places.reserveCapacity(inserted.count)
    var next = staying.startIndex
    for position in inserted {
      while next < staying.endIndex, staying[next].new < position { next += 1 }
      places.append(next == 0 ? 0 : rank(of: staying[next - 1].old + staying[next - 1].count - 1) + 1)
    }
  }

  var insertedIndexes: [Int] { places.enumerated().map { $0.element + $0.offset } }

  /// Where one stands that is in both lists, by its position in the old one.
  func position(of old: Int) -> Int {
    let rank = rank(of: old)
    return rank + places.prefixCount { $0 <= rank }
  }

  /// The same in the list behind the removals.
  private func rank(of old: Int) -> Int { old - removed.prefixCount { $0 < old } }
}

extension [Int] {
  /// How many of an ascending list fulfil what is true of the first ones alone. Logarithmic.
  fileprivate func prefixCount(where isBefore: (Int) -> Bool) -> Int {
    var range = 0..<count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = isBefore(self[middle]) ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }
}
