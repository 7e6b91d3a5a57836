import Primitives

/// The difference between two lists: PHFetchResultChangeDetails.
///
/// Apply the parts to the old list in this order to get the new list:
///
/// 1. `removedIndexes`: positions in the old list. Remove all of them at once.
/// 2. `insertedIndexes`, ascending: insert one after the other, each so that it then stands at its index.
/// 3. `changedIndexes`: positions in the list after step 2, of assets that are in both lists and have changed
///    properties.
/// 4. `moves`: `from` is a position in the list after step 2, `to` a position in the new list. They are simultaneous:
///    take out all assets that move, put each at its `to`, and fill the remaining positions with the other assets in
///    their order.
///
/// Without moves an inserted index is a position in the new list. A removed or inserted asset is neither changed nor
/// moved; a moved asset may also be changed.
package struct FetchResultChangeDetails: Sendable, Hashable {
  package struct Move: Sendable, Hashable {
    package var from: Int
    package var to: Int

    package init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// The maximum number of entries of all kinds together. Above it there are no details, because reading the list again
  /// is cheaper for a client.
  static let maximumEntries = 50_000

  package private(set) var removedIndexes: [Int] = []
  package private(set) var insertedIndexes: [Int] = []
  package private(set) var changedIndexes: [Int] = []
  /// Ascending by `from`; the minimum number of moves.
  package private(set) var moves: [Move] = []

  /// The difference of two equal lists.
  package init() {}

  /// Computes the difference. Takes O(n) in the number of rows plus O(d log d) in the number d of differences, and
  /// memory for the differences.
  ///
  /// - Parameters:
  ///   - old: row numbers, each at most once; the same for `new`.
  ///   - touched: rows that may have entered, left, changed or moved. Other rows may have entered or left as well, as
  ///     the last rows of a limited fetch do, but that is slower.
  ///   - limit: the maximum number of entries; the initializer returns `nil` above it.
  package init?(
    from old: [UInt32], to new: [UInt32], touched: TouchedRows, limit: Int = maximumEntries
  ) {
    let comparison = old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        // A larger limit, because a moved row is set aside twice, and not every row set aside turns out to be moved.
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
    let middle = IntermediateList(removed: comparison.removed, inserted: comparison.inserted, staying: staying)
    insertedIndexes = middle.insertedIndexes
    changedIndexes = comparison.changed.map(middle.position(of:))
    moves = moving.flatMap { run in
      (0..<run.count).map { Move(from: middle.position(of: run.old + $0), to: run.new + $0) }
    }
  }

  package var isEmpty: Bool {
    removedIndexes.isEmpty && insertedIndexes.isEmpty && changedIndexes.isEmpty && moves.isEmpty
  }

  /// Whether the lists are equal except for changed properties of their assets.
  package var keepsOrder: Bool { removedIndexes.isEmpty && insertedIndexes.isEmpty && moves.isEmpty }

  /// Splits the runs into those that stay and those that must move, with as many rows staying as possible. The staying
  /// runs are the heaviest increasing subsequence of the positions in the new list (Fredman, "On computing the length
  /// of longest increasing subsequences", 1975, with a weight for each element).
  private static func split(
    _ runs: [RowListComparison.Run]
  ) -> (staying: [RowListComparison.Run], moving: [RowListComparison.Run]) {
    if zip(runs, runs.dropFirst()).allSatisfy({ $0.new < $1.new }) { return (runs, []) }
    var ranks = [Int](repeating: 0, count: runs.count)
    for (rank, index) in runs.indices.sorted(by: { runs[$0].new < runs[$1].new }).enumerated() {
      ranks[index] = rank + 1
    }
    // A Fenwick tree of prefix maxima (Fenwick, 1994): the heaviest subsequence that ends within the first ranks, as
    // its weight and its last run.
    var best = [(weight: Int, last: Int)](repeating: (0, -1), count: runs.count + 1)
    var previous = [Int](repeating: -1, count: runs.count)
    var heaviest = (weight: 0, last: -1)
    for (index, run) in runs.enumerated() {
      var before = (weight: 0, last: -1)
      var node = ranks[index] - 1
      while node > 0 {
        if best[node].weight > before.weight { before = best[node] }
        node &= node - 1
      }
      previous[index] = before.last
      let own = (weight: before.weight + run.count, last: index)
      if own.weight > heaviest.weight { heaviest = own }
      node = ranks[index]
      while node <= runs.count {
        if own.weight > best[node].weight { best[node] = own }
        node += node & -node
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

/// The list after the insertions and before the moves: rows that are in both lists, in the old order, and the inserted
/// rows, each after the staying row that precedes it in the new list.
private struct IntermediateList {
  private let removed: [Int]
  /// For each inserted row, its position in the list after the removals; ascending.
  private var insertionPoints: [Int] = []

  init(removed: [Int], inserted: [Int], staying: [RowListComparison.Run]) {
    self.removed = removed
    insertionPoints.reserveCapacity(inserted.count)
    var next = staying.startIndex
    for position in inserted {
      while next < staying.endIndex, staying[next].new < position { next += 1 }
      insertionPoints.append(next == 0 ? 0 : rank(of: staying[next - 1].old + staying[next - 1].count - 1) + 1)
    }
  }

  var insertedIndexes: [Int] { insertionPoints.enumerated().map { $0.element + $0.offset } }

  /// The position of a row that is in both lists, given its position in the old one.
  func position(of old: Int) -> Int {
    let rank = rank(of: old)
    return rank + insertionPoints.indices.partitioningIndex { insertionPoints[$0] > rank }
  }

  /// The position in the list after the removals.
  private func rank(of old: Int) -> Int { old - removed.indices.partitioningIndex { removed[$0] >= old } }
}
