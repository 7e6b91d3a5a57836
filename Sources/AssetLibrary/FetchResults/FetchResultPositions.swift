/// Where things stand after changes that stood somewhere before: what ``FetchResultChangeDetails`` tells, applied to single
/// positions. To be asked takes logarithmic time in what changed.
package struct FetchResultPositions: Sendable {
  private let details: FetchResultChangeDetails
  /// The places that moves go to, ascending.
  private let taken: [Int]

  package init(_ details: FetchResultChangeDetails) {
    self.details = details
    taken = details.moves.map(\.to).sorted()
  }

  /// Where something stands now that stood at a position of the old list; `nil`: it was removed.
  package func position(of old: Int) -> Int? { found(old)?.position }

  /// What is on screen when a range was on screen before: the same, from the first that is still there and did not move; or,
  /// where none is, what has come to their place. It is as long as before, as far as the list is.
  ///
  /// - Parameter count: how many the new list has.
  package func visible(_ old: Range<Int>, count: Int) -> Range<Int> {
    let staying = old.lazy.compactMap(found).first { !$0.hasMoved }?.position
    let start = max(0, min(staying ?? behindMoves(behindInsertions(rank(old.lowerBound))), count - old.count))
    return start..<min(count, start + old.count)
  }

  private func found(_ old: Int) -> (position: Int, hasMoved: Bool)? {
    let removed = details.removedIndexes
    let before = Self.prefix(removed.count) { removed[$0] < old }
    if before < removed.count, removed[before] == old { return nil }
    let position = behindInsertions(old - before)
    let moves = details.moves
    let move = Self.prefix(moves.count) { moves[$0].from < position }
    if move < moves.count, moves[move].from == position { return (moves[move].to, true) }
    return (behindMoves(position), false)
  }

  private func rank(_ old: Int) -> Int {
    let removed = details.removedIndexes
    return old - Self.prefix(removed.count) { removed[$0] < old }
  }

  /// By its place among those that stay.
  private func behindInsertions(_ rank: Int) -> Int {
    let inserted = details.insertedIndexes
    return rank + Self.prefix(inserted.count) { inserted[$0] - $0 <= rank }
  }

  /// Of one that does not move itself.
  private func behindMoves(_ position: Int) -> Int {
    let moves = details.moves
    let rank = position - Self.prefix(moves.count) { moves[$0].from < position }
    return rank + Self.prefix(taken.count) { taken[$0] - $0 <= rank }
  }

  /// How many of the first numbers fulfil what is true of the first ones alone.
  private static func prefix(_ count: Int, where isBefore: (Int) -> Bool) -> Int {
    var range = 0..<count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = isBefore(middle) ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }
}
