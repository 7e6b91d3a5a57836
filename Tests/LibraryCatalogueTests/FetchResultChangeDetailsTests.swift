import LibraryCatalogue
import PhotoFixtures
import Testing

/// The change details between two lists of row numbers.
@Suite("Change details of two lists")
struct FetchResultChangeDetailsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let old: [UInt32]
    let new: [UInt32]
    var changed: Set<UInt32> = []
    var removed: [Int] = []
    var inserted: [Int] = []
    var changedIndexes: [Int] = []
    /// `nil`: any set of `moveCount` moves is correct.
    var moves: [[Int]]? = []
    var moveCount = 0

    var testDescription: String { name }
  }

  static let cases = [
    Case(name: "both empty", old: [], new: []),
    Case(name: "the same", old: [1, 2, 3], new: [1, 2, 3]),
    Case(name: "from nothing", old: [], new: [3, 1, 2], inserted: [0, 1, 2]),
    Case(name: "to nothing", old: [3, 1, 2], new: [], removed: [0, 1, 2]),
    Case(name: "all replaced", old: [1, 2], new: [3, 4, 5], removed: [0, 1], inserted: [0, 1, 2]),
    Case(name: "the first gone", old: [1, 2, 3], new: [2, 3], removed: [0]),
    Case(name: "the last gone", old: [1, 2, 3], new: [1, 2], removed: [2]),
    Case(name: "the middle gone", old: [1, 2, 3, 4], new: [1, 4], removed: [1, 2]),
    Case(name: "one first", old: [1, 2], new: [9, 1, 2], inserted: [0]),
    Case(name: "one last", old: [1, 2], new: [1, 2, 9], inserted: [2]),
    Case(name: "some between", old: [1, 2, 3], new: [1, 8, 2, 9, 7, 3], inserted: [1, 3, 4]),
    Case(
      name: "removed by old positions, inserted by new ones", old: [1, 2, 3, 4], new: [8, 2, 9, 4], removed: [0, 2],
      inserted: [0, 2]),
    Case(name: "changed alone", old: [1, 2, 3], new: [1, 2, 3], changed: [1, 3], changedIndexes: [0, 2]),
    Case(
      name: "changed behind what goes and comes", old: [1, 2, 3], new: [8, 9, 3, 2], changed: [2, 3], removed: [0],
      inserted: [0, 1], changedIndexes: [2, 3], moves: nil, moveCount: 1),
    Case(name: "what is inserted is not changed", old: [1], new: [1, 2], changed: [2], inserted: [1]),
    Case(name: "what is removed is not changed", old: [1, 2], new: [1], changed: [2], removed: [1]),
    Case(name: "two exchanged", old: [1, 2], new: [2, 1], moves: nil, moveCount: 1),
    Case(name: "the ends exchanged", old: [1, 2, 3, 4], new: [4, 2, 3, 1], moves: [[0, 3], [3, 0]]),
    Case(name: "the first to the end", old: [1, 2, 3, 4], new: [2, 3, 4, 1], moves: [[0, 3]]),
    Case(name: "the last to the front", old: [1, 2, 3, 4], new: [4, 1, 2, 3], moves: [[3, 0]]),
    Case(name: "one forward", old: [1, 2, 3, 4, 5], new: [1, 3, 4, 2, 5], moves: [[1, 3]]),
    Case(name: "one backward", old: [1, 2, 3, 4, 5], new: [1, 4, 2, 3, 5], moves: [[3, 1]]),
    Case(name: "reversed", old: [1, 2, 3, 4, 5], new: [5, 4, 3, 2, 1], moves: nil, moveCount: 4),
    Case(
      name: "moved and changed: by its place before the move", old: [1, 2, 3, 4], new: [4, 1, 2, 3], changed: [4],
      changedIndexes: [3], moves: [[3, 0]]),
    Case(
      name: "a move counts what came, and not what went", old: [1, 2, 3, 4], new: [9, 4, 2, 3], removed: [0],
      inserted: [0], moves: [[3, 1]]),
    Case(
      name: "two runs exchanged: the shorter moves", old: [1, 2, 3, 4, 5], new: [4, 5, 1, 2, 3],
      moves: [[3, 0], [4, 1]]),
  ]

  @Test("the change details of example lists match the contract", arguments: cases)
  func table(_ one: Case) throws {
    for hint in Hint.allCases {
      let details = try #require(self.details(one.old, one.new, one.changed, hint))
      #expect(details.removedIndexes == one.removed && details.insertedIndexes == one.inserted, "\(hint)")
      if let moves = one.moves { #expect(details.moves.map { [$0.from, $0.to] } == moves, "\(hint)") }
      if one.moves == nil { #expect(details.moves.count == one.moveCount, "\(hint)") }
      if one.moves != nil || one.moveCount == 0 { #expect(details.changedIndexes == one.changedIndexes) }
      #expect(details.isEmpty == (one.old == one.new && one.changed.isEmpty))
      #expect(details.keepsOrder == (one.old == one.new))
      check(details, one.old, one.new, one.changed, "\(one.name), \(hint)")
    }
  }

  /// Touched rows that are passed in addition to the changed ones. They may save work, and never change the result.
  enum Hint: CaseIterable { case nothing, justRight, everything }

  @Test(
    "change details applied in the contract's order turn the old list into the new one, for any touched rows",
    arguments: Sampling.cases(6, of: 0..<20, "change details"))
  func property(_ seed: Int) throws {
    var dice = Dice(seed)
    for _ in 0..<500 {
      let all = (1...1 + UInt32(dice.below(24))).shuffled(using: &dice)
      let old = Array(all.prefix(dice.below(all.count + 1)))
      var new = old
      for _ in 0..<dice.below(8) {
        switch dice.below(4) {
        case 0: if !new.isEmpty { new.remove(at: dice.below(new.count)) }
        case 1:
          if let row = all.filter({ !new.contains($0) }).randomElement(using: &dice) {
            new.insert(row, at: dice.below(new.count + 1))
          }
        case 2:
          if !new.isEmpty {
            let row = new.remove(at: dice.below(new.count))
            new.insert(row, at: dice.below(new.count + 1))
          }
        default: if dice.oneIn(6) { new.shuffle(using: &dice) }
        }
      }
      let changed = Set(all.filter { _ in dice.oneIn(5) })
      let hint = dice.one(of: Hint.allCases)
      let details = try #require(self.details(old, new, changed, hint))
      let comment = "\(seed): \(old) -> \(new), changed \(changed), \(hint)"
      check(details, old, new, changed, comment)
      let kept = old.filter(new.contains)
      #expect(details.removedIndexes.count == old.count - kept.count, "\(comment)")
      #expect(details.insertedIndexes.count == new.count - kept.count, "\(comment)")
      #expect(details.moves.count == kept.count - longest(kept.map { new.firstIndex(of: $0)! }), "\(comment)")
      checkPositions(details, old, new, comment, &dice)
      if details.moves.isEmpty {
        #expect(details.insertedIndexes == new.indices.filter { !old.contains(new[$0]) }, "final positions: \(comment)")
      }
    }
  }

  /// The position of an old index in the new list, so that the visible part stays on screen.
  private func checkPositions(
    _ details: FetchResultChangeDetails, _ old: [UInt32], _ new: [UInt32], _ comment: String, _ dice: inout Dice
  ) {
    let positions = FetchResultPositions(details)
    for (index, row) in old.enumerated() {
      #expect(positions.position(of: index) == new.firstIndex(of: row), "\(index): \(comment): \(details)")
    }
    let first = dice.below(old.count + 1)
    let visible = first..<first + dice.below(old.count - first + 1)
    let shown = positions.visible(visible, count: new.count)
    #expect(shown.count == min(visible.count, new.count) && shown.upperBound <= new.count, "\(visible): \(comment)")
    let moved = Set(details.moves.map { new[$0.to] })
    if let stays = old[visible].first(where: { new.contains($0) && !moved.contains($0) }) {
      let place = new.firstIndex(of: stays) ?? -1
      #expect(shown.lowerBound == min(place, new.count - shown.count), "\(visible) -> \(shown): \(comment)")
      #expect(shown.contains(place), "\(visible) -> \(shown): \(comment)")
    } else if details.moves.isEmpty {
      // All members were deleted: the position is between their former neighbours.
      let before = old[..<visible.lowerBound].last(where: new.contains).flatMap(new.firstIndex(of:)) ?? -1
      let behind = old[visible.upperBound...].first(where: new.contains).flatMap(new.firstIndex(of:)) ?? new.count
      let start = (before + 1...max(before + 1, behind)).clamped(to: 0...new.count - shown.count)
      #expect(start.contains(shown.lowerBound), "\(visible) -> \(shown): \(comment)")
    }
  }

  @Test("there are no change details beyond the limit of entries")
  func limits() {
    let old = Array(1...20 as ClosedRange<UInt32>)
    let touched = TouchedRows(old.map { ($0, true) })
    #expect(FetchResultChangeDetails(from: old, to: old, touched: touched, limit: 20) != nil)
    #expect(FetchResultChangeDetails(from: old, to: old, touched: touched, limit: 19) == nil)
    let none = TouchedRows([])
    #expect(FetchResultChangeDetails(from: old, to: [], touched: none, limit: 20) != nil)
    #expect(FetchResultChangeDetails(from: old, to: [], touched: none, limit: 19) == nil)
    #expect(FetchResultChangeDetails(from: [], to: old, touched: none, limit: 19) == nil)
    #expect(FetchResultChangeDetails(from: old, to: old.reversed(), touched: touched, limit: 38) == nil)
    #expect(FetchResultChangeDetails(from: old, to: old.reversed(), touched: touched, limit: 39) != nil)
    // The differing rows are held in memory even if there are too many.
    let shifted = Array(old.dropFirst(5)) + [40, 41, 42, 43, 44]
    #expect(FetchResultChangeDetails(from: old, to: shifted, touched: none, limit: 9) == nil)
    let hinted = TouchedRows((old.prefix(5) + [40, 41, 42, 43, 44]).map { ($0, false) })
    #expect(FetchResultChangeDetails(from: old, to: shifted, touched: hinted, limit: 10) != nil)
  }

  @Test("rows with the same lowest bits are distinguished")
  func sieve() {
    let rows = (0..<100).map { UInt32($0) * 1024 + 5 }
    let touched = TouchedRows(rows.map { ($0, $0 % 2048 == 5) })
    #expect(rows.allSatisfy(touched.contains))
    #expect(rows.filter(touched.isChanged).count == 50)
    #expect(
      !touched.contains(4) && !touched.contains(100 * 1024 + 5) && !touched.contains(.max) && !touched.isChanged(6))
  }

  private func details(
    _ old: [UInt32], _ new: [UInt32], _ changed: Set<UInt32>, _ hint: Hint
  ) -> FetchResultChangeDetails? {
    let touched: Set<UInt32>
    switch hint {
    case .nothing: touched = []
    case .everything: touched = Set(old + new)
    case .justRight:
      let kept = old.filter(new.contains)
      let order = new.filter(kept.contains)
      touched = Set(old + new).subtracting(kept).union(
        kept == order ? [] : Set(zip(kept, order).filter { $0 != $1 }.map(\.0)))
    }
    return FetchResultChangeDetails(
      from: old, to: new, touched: TouchedRows(touched.union(changed).sorted().map { ($0, changed.contains($0)) }))
  }

  private func check(
    _ details: FetchResultChangeDetails, _ old: [UInt32], _ new: [UInt32], _ changed: Set<UInt32>, _ comment: String
  ) {
    let before = old.map { Listed(row: Int64($0), revision: 1) }
    let after = new.map { Listed(row: Int64($0), revision: changed.contains($0) || !old.contains($0) ? 2 : 1) }
    #expect(before.applying(details, toBecome: after) == after, "\(comment): \(details)")
  }

  /// The length of the longest increasing subsequence, by the naive method.
  private func longest(_ numbers: [Int]) -> Int {
    var lengths: [Int] = []
    for (i, number) in numbers.enumerated() {
      lengths.append(1 + (zip(numbers, lengths).prefix(i).filter { $0.0 < number }.map(\.1).max() ?? 0))
    }
    return lengths.max() ?? 0
  }
}

/// A member of a list as a client knows it.
struct Listed: Hashable, Sendable {
  var row: Int64
  var revision: Int64
}

private enum Cell { case known(Listed), changed(Listed), inserted }

extension [Listed] {
  /// Applies change details literally as the contract says. Only inserted and changed members are looked up in the new
  /// list.
  func applying(_ details: FetchResultChangeDetails, toBecome new: [Listed]) -> [Listed]? {
    guard details.removedIndexes.allSatisfy(indices.contains) else { return nil }
    // 1: removals, all at once, by index in the old list.
    let removed = Set(details.removedIndexes)
    var cells = enumerated().filter { !removed.contains($0.offset) }.map { Cell.known($0.element) }
    // 2: insertions, one after the other, in ascending order.
    for index in details.insertedIndexes {
      guard index <= cells.count else { return nil }
      cells.insert(.inserted, at: index)
    }
    guard zip(details.insertedIndexes, details.insertedIndexes.dropFirst()).allSatisfy(<) else { return nil }
    // 3: changes, by index in this list.
    for index in details.changedIndexes {
      guard cells.indices.contains(index), case .known(let member) = cells[index] else { return nil }
      cells[index] = .changed(member)
    }
    // 4: moves, simultaneously.
    guard cells.count == new.count,
      details.moves.allSatisfy({ cells.indices.contains($0.from) && new.indices.contains($0.to) })
    else { return nil }
    let moving = Dictionary(details.moves.map { ($0.to, $0.from) }, uniquingKeysWith: { first, _ in first })
    let from = Set(details.moves.map(\.from))
    guard moving.count == details.moves.count, from.count == details.moves.count else { return nil }
    var rest = cells.indices.filter { !from.contains($0) }.makeIterator()
    return new.indices.map { index in
      let cell = moving[index].map { cells[$0] } ?? cells[rest.next()!]
      switch cell {
      case .known(let member): return member
      // The same asset must be there, with another revision.
      case .changed(let member):
        return new[index].row == member.row && new[index].revision != member.revision ? new[index] : member
      case .inserted: return contains { $0.row == new[index].row } ? Listed(row: -1, revision: -1) : new[index]
      }
    }
  }
}
