import Primitives

/// Maps positions of the old list to positions of the new list, by ``FetchResultChangeDetails``. Each lookup takes
/// logarithmic time in the number of changes.
package struct FetchResultPositions: Sendable {
  private let details: FetchResultChangeDetails
  /// The target positions of moves, ascending.
  private let moveTargets: [Int]

  package init(_ details: FetchResultChangeDetails) {
    self.details = details
    moveTargets = details.moves.map(\.to).sorted()
  }

  /// The new position of the row at a position of the old list; `nil` if it was removed.
  package func position(of old: Int) -> Int? { found(old)?.position }

  /// The range to show after the changes when `old` was on screen. It starts with the first row of `old` that was
  /// neither removed nor moved; if there is none, where the first row was. It has the length of `old`, unless the new
  /// list is shorter.
  ///
  /// - Parameter count: the number of rows in the new list.
  package func visible(_ old: Range<Int>, count: Int) -> Range<Int> {
    let staying = old.lazy.compactMap(found).first { !$0.hasMoved }?.position
    let start = max(
      0, min(staying ?? positionAfterMoves(positionAfterInsertions(rank(old.lowerBound))), count - old.count))
    return start..<min(count, start + old.count)
  }

  private func found(_ old: Int) -> (position: Int, hasMoved: Bool)? {
    let removed = details.removedIndexes
    let before = removed.indices.partitioningIndex { removed[$0] >= old }
    if before < removed.count, removed[before] == old { return nil }
    let position = positionAfterInsertions(old - before)
    let moves = details.moves
    let move = moves.indices.partitioningIndex { moves[$0].from >= position }
    if move < moves.count, moves[move].from == position { return (moves[move].to, true) }
    return (positionAfterMoves(position), false)
  }

  private func rank(_ old: Int) -> Int {
    let removed = details.removedIndexes
    return old - removed.indices.partitioningIndex { removed[$0] >= old }
  }

  /// The position after the insertions, given the position after the removals.
  private func positionAfterInsertions(_ rank: Int) -> Int {
    let inserted = details.insertedIndexes
    return rank + inserted.indices.partitioningIndex { inserted[$0] - $0 > rank }
  }

  /// The new position of a row that does not move itself, given its position after the insertions.
  private func positionAfterMoves(_ position: Int) -> Int {
    let moves = details.moves
    let rank = position - moves.indices.partitioningIndex { moves[$0].from >= position }
    return rank + moveTargets.indices.partitioningIndex { moveTargets[$0] - $0 > rank }
  }
}
