import ImageService
import PhotoFixtures
import Testing

/// The positions that a window prepares, by its visible range and movement.
@Suite("Preheat window")
struct PreheatWindowTests {
  /// A sequence of moves: milliseconds since the previous one, and the visible range.
  struct Case: CustomTestStringConvertible {
    let testDescription: String
    var count = 10_000
    var margin = 40
    let moves: [(after: Int, visible: Range<Int>)]
    /// Time after the last move at which the plan is read.
    var lookedAtAfter = 0
    let range: Range<Int>
    var prepared: Range<Int>?
    var kept: Range<Int>?
    var quality = PreheatWindow.Quality.high
    var direction = 0
  }

  private static func steps(_ count: Int, of step: Int, every milliseconds: Int, from start: Int) -> [(Int, Range<Int>)]
  {
    (0..<count).map { (milliseconds, start + ($0 + 1) * step..<start + ($0 + 1) * step + 40) }
  }

  static let cases: [Case] = [
    Case(testDescription: "at rest: the margin on both sides", moves: [(0, 100..<140)], range: 60..<180),
    Case(testDescription: "the margin ends at the beginning of the list", moves: [(0, 10..<50)], range: 0..<90),
    Case(
      testDescription: "the margin ends at the end of the list", count: 150, moves: [(0, 100..<140)], range: 60..<150),
    Case(
      testDescription: "visible positions beyond the end are ignored", count: 120, moves: [(0, 100..<140)],
      range: 60..<120),
    Case(
      testDescription: "a visible range beyond the end is empty", count: 50, moves: [(0, 100..<140)], range: 10..<50),
    Case(testDescription: "an empty list", count: 0, moves: [(0, 0..<40)], range: 0..<0),
    Case(testDescription: "no margin", margin: 0, moves: [(0, 100..<140)], range: 100..<140),
    Case(
      testDescription: "without a margin, nothing is prepared ahead while scrolling", margin: 0,
      moves: [(0, 100..<140)] + steps(3, of: 1, every: 16, from: 100), range: 103..<143, direction: 1),
    Case(
      testDescription: "scrolling at 60 a second: the margin, and ahead half a second more",
      moves: [(0, 100..<140)] + steps(12, of: 6, every: 100, from: 100), range: 132..<282, kept: 92..<292,
      direction: 1),
    Case(
      testDescription: "scrolling towards the beginning at 60 a second",
      moves: [(0, 500..<540)] + steps(12, of: -6, every: 100, from: 500), range: 358..<508, kept: 348..<548,
      direction: -1),
    Case(
      testDescription: "at most twice the margin is prepared ahead",
      moves: [(0, 100..<140)] + steps(12, of: 15, every: 100, from: 100), range: 240..<400, kept: 200..<400,
      direction: 1),
    Case(
      testDescription: "a fling at 2,000 a second prepares nothing: no position stays visible",
      moves: [(0, 100..<140)] + steps(20, of: 32, every: 16, from: 100), range: 740..<780, prepared: 780..<780,
      kept: 660..<860, quality: .reduced, direction: 1),
    Case(
      testDescription: "a fling at 250 a second prepares the positions that stay visible a moment",
      moves: [(0, 100..<140)] + steps(20, of: 5, every: 20, from: 100), range: 200..<240, prepared: 212..<240,
      quality: .reduced, direction: 1),
    Case(
      testDescription: "a fling at 250 a second towards the beginning",
      moves: [(0, 500..<540)] + steps(20, of: -5, every: 20, from: 500), range: 400..<440, prepared: 400..<428,
      quality: .reduced, direction: -1),
    Case(
      testDescription:
        "the first move after a rest can be a fling, of unknown speed",
      moves: [(0, 100..<140), (5000, 133..<173)], range: 133..<173, prepared: 173..<173, quality: .reduced,
      direction: 1),
    Case(
      testDescription: "reporting the same range again ends a fling",
      moves: [(0, 100..<140)] + steps(20, of: 32, every: 16, from: 100) + [(16, 740..<780)], range: 700..<820),
    Case(
      testDescription: "a pause ends a fling",
      moves: [(0, 100..<140)] + steps(20, of: 32, every: 16, from: 100), lookedAtAfter: 250, range: 700..<820),
    Case(
      testDescription: "a shorter pause does not end a fling",
      moves: [(0, 100..<140)] + steps(20, of: 32, every: 16, from: 100), lookedAtAfter: 249, range: 740..<780,
      prepared: 780..<780, quality: .reduced, direction: 1),
    Case(
      testDescription: "a jump to a date is at first taken for a fling",
      moves: [(0, 100..<140), (3000, 7000..<7040)], range: 7000..<7040, prepared: 7040..<7040, quality: .reduced,
      direction: 1),
    Case(
      testDescription: "after 250 ms a jump has ended", moves: [(0, 100..<140), (3000, 7000..<7040)],
      lookedAtAfter: 250,
      range: 6960..<7080),
    Case(
      testDescription: "after a change of direction only the new direction counts",
      moves: [(0, 100..<140)] + steps(12, of: 6, every: 100, from: 100) + [(100, 169..<209)], range: 114..<249,
      direction: -1),
    Case(
      testDescription: "two moves at the same time are not a fling", moves: [(0, 100..<140), (0, 101..<141)],
      range: 61..<211, direction: 1),
  ]

  @Test("a window prepares the expected positions", arguments: cases)
  func plans(_ sample: Case) {
    var window = PreheatWindow()
    var now = ContinuousClock.now
    for (after, visible) in sample.moves {
      now += .milliseconds(after)
      window.moved(to: visible, of: sample.count, margin: sample.margin, at: now)
    }
    let plan = window.plan(at: now + .milliseconds(sample.lookedAtAfter))
    #expect(plan.range == sample.range)
    #expect(plan.prepared == sample.prepared ?? sample.range)
    if let kept = sample.kept { #expect(plan.kept == kept) }
    #expect(plan.quality == sample.quality)
    #expect(plan.direction == sample.direction)
    #expect(Set(plan.order) == Set(plan.prepared) && plan.order.count == plan.prepared.count)
  }

  @Test("visible positions come first, then others by distance, those ahead first")
  func order() {
    var window = PreheatWindow()
    var now = ContinuousClock.now
    window.moved(to: 100..<103, of: 1000, margin: 4, at: now)
    #expect(window.plan(at: now).order == [100, 101, 102, 103, 99, 104, 98, 105, 97, 106, 96])
    now += .milliseconds(100)
    window.moved(to: 101..<104, of: 1000, margin: 8, at: now)
    // At 10 a second, five more ahead.
    #expect(
      window.plan(at: now).order
        == [
          103, 102, 101, 104, 100, 105, 99, 106, 98, 107, 97, 108, 96, 109, 95, 110, 94, 111, 93, 112, 113, 114, 115,
          116,
        ])
    window.moved(to: 100..<103, of: 1000, margin: 2, at: now + .milliseconds(100))
    #expect(window.plan(at: now + .milliseconds(100)).order == [100, 101, 102, 99, 103, 98, 104, 97, 96])
  }

  @Test("an unseen margin shrinks to nothing, and grows again when it is seen")
  func yield() {
    var window = PreheatWindow()
    let now = ContinuousClock.now
    window.moved(to: 1000..<1040, of: 10_000, margin: 40, at: now)
    for _ in 0..<8 { window.frameLeft(.ahead, wasSeen: false) }
    #expect(window.plan(at: now).range.count == 40 + 2 * 24)
    for _ in 0..<80 { window.frameLeft(.ahead, wasSeen: false) }
    #expect(window.plan(at: now).range == 1000..<1040)
    for _ in 0..<8 { window.frameLeft(.ahead, wasSeen: true) }
    #expect(window.plan(at: now).range.count == 40 + 2 * 16)
    for _ in 0..<80 { window.frameLeft(.ahead, wasSeen: true) }
    #expect(window.plan(at: now).range == 960..<1080)
  }

  @Test("the last movement decides which positions are ahead and which behind, also at rest", arguments: [1, -1])
  func sides(heading: Int) {
    var window = PreheatWindow()
    let now = ContinuousClock.now
    window.moved(to: 5000..<5040, of: 10_000, margin: 40, at: now)
    #expect(window.plan(at: now).side(of: 4999) == nil && window.plan(at: now).side(of: 5040) == nil)
    let first = 5000 + heading
    for _ in 0..<2 { window.moved(to: first..<first + 40, of: 10_000, margin: 40, at: now) }
    for _ in 0..<80 { window.frameLeft(.behind, wasSeen: false) }
    let plan = window.plan(at: now)
    #expect(plan.direction == 0 && plan.side(of: first) == nil)
    #expect(plan.range == (heading > 0 ? first..<first + 80 : first - 40..<first + 40))
    #expect(plan.side(of: first + 40) == (heading > 0 ? .ahead : .behind))
    #expect(plan.side(of: first - 1) == (heading > 0 ? .behind : .ahead))
    for _ in 0..<80 { window.frameLeft(.ahead, wasSeen: false) }
    #expect(window.plan(at: now).range == first..<first + 40)
  }

  @Test("until frames behind have left, they are as likely to be seen as those ahead")
  func behindAtFirst() {
    var window = PreheatWindow()
    let now = ContinuousClock.now
    window.moved(to: 5000..<5040, of: 10_000, margin: 40, at: now)
    for _ in 0..<80 { window.frameLeft(.ahead, wasSeen: false) }
    for _ in 0..<2 { window.moved(to: 5001..<5041, of: 10_000, margin: 40, at: now) }
    #expect(window.plan(at: now).range == 5001..<5041)
    for _ in 0..<80 { window.frameLeft(.ahead, wasSeen: true) }
    #expect(window.plan(at: now).range == 4961..<5081)
    for _ in 0..<80 { window.frameLeft(.behind, wasSeen: true) }
    #expect(window.plan(at: now).range == 4961..<5081)
    for _ in 0..<160 { window.frameLeft(.behind, wasSeen: false) }
    #expect(window.plan(at: now).range == 5001..<5081)
  }

  /// Milliseconds between rows and between plans: a rest begins in the last of them.
  @Test(
    "scrolling row by row with rests leaves no prepared position unseen",
    arguments: [(83, 17, true), (300, 100, false), (300, 60, false)])
  func rows(_ everyRow: Int, _ everyLook: Int, saysItAgain: Bool) {
    var window = PreheatWindow()
    var now = ContinuousClock.now
    var prepared = Set<Int>()
    var first = 2000
    func look() {
      let plan = window.plan(at: now)
      let gone = prepared.filter { !plan.kept.contains($0) }
      #expect(gone.allSatisfy { $0 < first })
      prepared.subtract(gone)
      prepared.formUnion(plan.prepared)
    }
    for _ in 0..<200 {
      for time in stride(from: 0, to: everyRow, by: everyLook) {
        if time == 0 || saysItAgain { window.moved(to: first..<first + 40, of: 10_000, margin: 40, at: now) }
        look()
        now += .milliseconds(min(everyLook, everyRow - time))
      }
      look()
      first += 5
    }
    #expect(prepared.contains(first + 40 + 39 - 5))
  }

  @Test("in a rest longer than the previous ones, the whole margin is prepared")
  func longRest() throws {
    var window = PreheatWindow()
    var now = ContinuousClock.now
    func rest(at first: Int, seconds: Int) {
      window.moved(to: first..<first + 40, of: 10_000, margin: 40, at: now)
      window.moved(to: first..<first + 40, of: 10_000, margin: 40, at: now)
      #expect(window.plan(at: now).range == first..<first + 40)
      now += .seconds(seconds)
    }
    window.moved(to: 0..<40, of: 10_000, margin: 40, at: now)
    for side in [PreheatWindow.Side.ahead, .behind] {
      for _ in 0..<200 { window.frameLeft(side, wasSeen: false) }
    }
    now += .milliseconds(1500)
    // Short rests, each as long as the previous one.
    for stop in 1...5 {
      rest(at: stop * 1000, seconds: 1)
      #expect(window.plan(at: now).range == stop * 1000..<stop * 1000 + 40)
    }
    rest(at: 6000, seconds: 2)
    #expect(window.plan(at: now - .nanoseconds(1)).range == 6000..<6040)
    #expect(window.nextChange(after: now - .nanoseconds(1)) == now)
    #expect(window.plan(at: now).range == 5960..<6080 && window.nextChange(after: now) == nil)
    now += .seconds(1)
    // Rests of three seconds are usual now, so a long one has six.
    rest(at: 7000, seconds: 5)
    #expect(window.plan(at: now).range == 7000..<7040 && window.nextChange(after: now) == now + .seconds(1))
    now += .seconds(1)
    #expect(window.plan(at: now).range == 6960..<7080)
    // However long the rests are, ten seconds is a long one.
    now += .seconds(1000)
    rest(at: 8000, seconds: 10)
    #expect(window.plan(at: now).range == 7960..<8080)
  }

  @Test("the plan changes exactly at the announced time")
  func settling() throws {
    var random = Sampling.generator("settling windows")
    for _ in 0..<300 {
      var window = PreheatWindow()
      var now = ContinuousClock.now
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        now += .milliseconds(Int.random(in: 0...300, using: &random))
        let first = Int.random(in: 0..<1000, using: &random)
        window.moved(to: first..<first + 40, of: 1000, margin: Int.random(in: 1...80, using: &random), at: now)
      }
      var plan = window.plan(at: now)
      var changes = 0
      // The movement settles; then, unless the whole margin was likely, the rest becomes long.
      while let change = window.nextChange(after: now), changes < 3 {
        let next = window.plan(at: change)
        let isSame = window.plan(at: change - .nanoseconds(1)) == plan
        #expect(isSame && (next != plan || plan.direction == 0), "\(Sampling.note)")
        #expect(next.quality == .high && next.direction == 0, "\(Sampling.note)")
        (plan, now, changes) = (next, change, changes + 1)
      }
      let isSettled = window.plan(at: now + .seconds(1000)) == plan && plan.direction == 0
      #expect(isSettled && changes < 3, "\(Sampling.note)")
    }
  }

  /// The plans of a slow scroll, a rest in which frames turned out to be unseen, a long rest and a fling.
  private static func plans(without disabled: Set<PreheatWindow.Rule>) -> [String] {
    var parameters = PreheatWindow.Parameters()
    parameters.disabled = disabled
    var window = PreheatWindow(parameters)
    var now = ContinuousClock.now
    var plans: [String] = []
    func note(_ window: PreheatWindow, after milliseconds: Int = 0) {
      let plan = window.plan(at: now + .milliseconds(milliseconds))
      plans.append("\(plan.order) \(plan.kept) \(plan.quality)")
    }
    func move(_ steps: [(after: Int, visible: Range<Int>)]) {
      for step in steps {
        now += .milliseconds(step.after)
        window.moved(to: step.visible, of: 10_000, margin: 40, at: now)
        note(window)
      }
    }
    move([(0, 1000..<1040)] + steps(12, of: 6, every: 100, from: 1000))
    note(window, after: 300)
    for side in [PreheatWindow.Side.ahead, .behind] {
      for _ in 0..<8 { window.frameLeft(side, wasSeen: false) }
      note(window, after: 300)
    }
    note(window, after: 20_000)
    now += .milliseconds(20_000)
    move(steps(20, of: 5, every: 20, from: 1072))
    return plans
  }

  @Test("each rule changes what is planned, and only if it applies", arguments: PreheatWindow.Rule.allCases)
  func rules(_ rule: PreheatWindow.Rule) {
    #expect(Self.plans(without: [rule]) != Self.plans(without: []))
  }

  @Test("a plan is within the list, has visible positions first and never exceeds the margins")
  func bounds() {
    var random = Sampling.generator("bounds of windows")
    for _ in 0..<500 {
      var window = PreheatWindow()
      var now = ContinuousClock.now
      for _ in 0..<Int.random(in: 1...10, using: &random) {
        now += .milliseconds(Int.random(in: 0...400, using: &random))
        let count = Int.random(in: 0...300, using: &random)
        let first = Int.random(in: 0...400, using: &random)
        let margin = Int.random(in: 0...60, using: &random)
        let visible = first..<first + Int.random(in: 1...50, using: &random)
        window.moved(to: visible, of: count, margin: margin, at: now)
        if Bool.random(using: &random) {
          window.frameLeft(Bool.random(using: &random) ? .ahead : .behind, wasSeen: Bool.random(using: &random))
        }
        let plan = window.plan(at: now + .milliseconds(Int.random(in: 0...400, using: &random)))
        #expect(plan.range.clamped(to: 0..<count) == plan.range, "\(Sampling.note)")
        #expect(
          plan.prepared.isEmpty || plan.prepared.clamped(to: plan.range) == plan.prepared, "\(Sampling.note)")
        let isInOrder = plan.visible.allSatisfy(plan.range.contains) && plan.range.allSatisfy(plan.kept.contains)
        #expect(isInOrder, "\(Sampling.note)")
        #expect(plan.kept.clamped(to: 0..<count) == plan.kept, "\(Sampling.note)")
        #expect(plan.kept.count <= plan.visible.count + 4 * margin, "\(Sampling.note)")
        #expect(plan.range.count <= plan.visible.count + 3 * margin, "\(Sampling.note)")
        func distance(_ position: Int) -> Int {
          let isForward = position >= plan.visible.upperBound
          let steps = isForward ? position - plan.visible.upperBound + 1 : plan.visible.lowerBound - position
          return plan.visible.contains(position)
            ? 0 : steps
        }
        let distances = plan.order.map(distance)
        #expect(distances == distances.sorted() && plan.order.sorted() == Array(plan.prepared), "\(Sampling.note)")
        let prepared = Set(plan.order.prefix { plan.visible.contains($0) })
        #expect(prepared == Set(plan.visible.filter(plan.prepared.contains)), "\(Sampling.note)")
      }
    }
  }
}
