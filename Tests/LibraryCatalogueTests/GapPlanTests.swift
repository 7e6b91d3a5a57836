import Testing

@testable import LibraryCatalogue

@Suite("Positions of an order with gaps")
struct GapPlanTests {
  @Test("new positions keep the order, with room between all elements and for the inserted ones", arguments: 0..<8)
  func renumbering(_ seed: Int) {
    var dice = Dice(seed + 9000)
    for _ in 0..<200 {
      let (count, added) = (1 + dice.below(40), 1 + dice.below(40))
      let insertion = dice.below(count)
      let first = Int64(dice.below(1 << 30) - 1 << 29)
      let last = first + Int64(count)
      let end = last + 1 + Int64(dice.below(1 << 15))
      let before: Int64? = dice.oneIn(4) ? nil : first
      let after: Int64? = dice.oneIn(4) ? nil : end
      guard let plan = GapPlan(before: before, after: after, last: last, count: count, added: added) else {
        if let before, let after {
          #expect(after - before < Int64(count + added + 1) * 256, "only a window between two positions is too small")
        } else {
          Issue.record("a window at an end has unlimited room")
        }
        continue
      }
      let targets = (0..<count).map { plan.target($0, isAfterInsertion: $0 >= insertion) }
      var all = targets
      if let before { all.insert(before, at: 0) }
      if let after { all.append(after) }
      #expect(zip(all, all.dropFirst()).allSatisfy { $1 - $0 >= 256 })
      if let lower = insertion > 0 ? targets[insertion - 1] : before {
        #expect(GapPlan.step(between: lower, and: targets[insertion], for: added) >= 256)
      }
    }
  }

  @Test("a gap has a step if and only if all inserted elements fit between its ends")
  func steps() {
    for count in 1..<30 {
      for width in Int64(1)..<60 {
        let step = GapPlan.step(between: -7, and: width - 7, for: count)
        #expect((step >= 1) == (width > Int64(count)))
        #expect(step * Int64(count) < width)
      }
    }
  }
}
