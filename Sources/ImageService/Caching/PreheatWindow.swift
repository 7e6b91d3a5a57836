// The arithmetic of a preheat window: which positions of a list are worth preparing, in which order, and how well, by
// what is visible and how it moved. It knows numbers alone, no assets and no frames, and the time is passed in.
//
//     at rest       visible, and the margin on both sides
//     travelling    half a second of travel more than the margin ahead; behind a quarter of it
//     in a fling    of what is visible what will be for a moment longer, and only if that is nearly free
//
// What was prepared is kept for longer than it would be prepared: whoever scrolls by rows rests between them, and what
// lies ahead is not to come and go with that.
//
// A fling ends when the same range comes again, or when no move comes for about as long as two took. How much of the
// margin is prepared follows from what became of it before: where frames beyond the visible ones went unseen, there
// are fewer, and what lies in the way is told apart from what lies behind. A rest that lasts for longer than the ones
// before is another matter: there all of it is.

/// What a caller sees of a list, how it got there, and what follows from that.
package struct PreheatWindow: Sendable {
  package enum Quality: String, Sendable, Hashable {
    case high
    /// Only what is nearly free is prepared.
    case reduced
  }

  /// Seconds, where nothing else is said.
  package struct Rules: Sendable, Hashable {
    /// What passes by in less is in a fling.
    package var flingDwell = 0.25
    /// In a fling, what is visible for less than this is gone before it could be shown.
    package var soonestUse = 0.05
    /// Travel that is prepared ahead, beyond the margin.
    package var lookahead = 0.5
    /// Moves that the speed is taken of.
    package var memory = 0.15
    /// A move took no longer, however long the rest before it was.
    package var longestStep = 0.1
    /// A move took no less: a frame of a display.
    package var shortestStep = 1.0 / 60
    /// How long a pause ends the travel: twice the last step, within these.
    package var settling = 0.05...0.25
    /// How many frames beyond the visible ones are remembered, about, by whether they were seen.
    package var outcomes = 16.0
    /// The margin ahead is at most so many times what was asked for, and what is there is kept so far on both sides.
    package var widest = 2
    /// A rest of so many times the one before is a longer one, within `patience`.
    package var longerRest = 2.0
    package var patience = 2.0...10.0

    package init() {}
  }

  /// Where a position lies beyond what is visible, by where it went last; before it went anywhere all lies ahead.
  package enum Side: Sendable, Hashable {
    case ahead, behind
  }

  /// What is worth preparing now.
  package struct Plan: Sendable, Hashable {
    /// What the window covers: what is visible, and the margin as it is now.
    package let range: Range<Int>
    /// What of it is prepared: in a fling not all.
    package let prepared: Range<Int>
    /// What is kept if it is there. It holds the range.
    package let kept: Range<Int>
    package let visible: Range<Int>
    package let quality: Quality
    /// 1: towards the end; -1: towards the beginning; 0: at rest.
    package let direction: Int
    /// Where it went last, also at rest.
    fileprivate let heading: Int

    /// `nil`: it is visible.
    package func side(of position: Int) -> Side? {
      if visible.contains(position) { return nil }
      let isForward = position >= visible.upperBound
      return heading == 0 || isForward == (heading > 0) ? .ahead : .behind
    }

    /// The prepared positions, the most pressing first: what is visible, from the side that comes; then by distance,
    /// what lies behind counting four times as far. Linear.
    package var order: [Int] {
      let shown = visible.clamped(to: prepared)
      var order = direction > 0 ? shown.reversed() : Array(shown)
      let forward = max(0, prepared.upperBound - visible.upperBound)
      let backward = max(0, visible.lowerBound - prepared.lowerBound)
      let (ahead, behind) = direction < 0 ? (backward, forward) : (forward, backward)
      func position(_ distance: Int, isForward: Bool) -> Int {
        isForward ? visible.upperBound - 1 + distance : visible.lowerBound - distance
      }
      order.reserveCapacity(order.count + ahead + behind)
      // Both sides are in order; they are merged by distance, from 1.
      var (nextAhead, nextBehind) = (1, 1)
      while nextAhead <= ahead || nextBehind <= behind {
        let weight = direction == 0 ? nextBehind : 4 * nextBehind
        if nextBehind > behind || nextAhead <= ahead && nextAhead <= weight {
          order.append(position(nextAhead, isForward: direction >= 0))
          nextAhead += 1
        } else {
          order.append(position(nextBehind, isForward: direction < 0))
          nextBehind += 1
        }
      }
      return order
    }
  }

  private struct Sample: Sendable, Hashable {
    let position: Int
    let at: ContinuousClock.Instant
  }

  package let rules: Rules
  /// How many positions there are.
  package private(set) var count = 0
  package private(set) var visible = 0..<0
  /// What was asked for, on each side.
  package private(set) var margin = 0
  /// The share of frames on each side of the visible ones that were seen: ahead 1 in the beginning; behind `nil`, until the
  /// first has left from there.
  private var yields: (ahead: Double, behind: Double?) = (1, nil)
  /// Who looks at little of what lies ahead does so behind, as long as nothing else is known.
  private var likelyBehind: Double { yields.behind ?? yields.ahead }
  /// Where it was lately, the last one last.
  private var samples: [Sample] = []
  /// Positions a second, by the last moves; towards the beginning it is negative.
  private var lastSpeed = 0.0
  /// How fast that may have been: after a rest nobody knows how long the move took.
  private var fastestSpeed = 0.0
  private var settledAt: ContinuousClock.Instant?
  /// Where it went last: 1, -1, or 0 if it never moved.
  private var heading = 0
  /// When it moved last.
  private var restsSince: ContinuousClock.Instant?
  /// How long it rested before, in seconds.
  private var lastRest = 0.0

  package init(_ rules: Rules = Rules()) { self.rules = rules }

  // MARK: Events

  /// Something else is visible, or the same again. What lies outside the list is not there.
  package mutating func moved(
    to visible: Range<Int>, of count: Int, margin: Int, at now: ContinuousClock.Instant
  ) {
    let visible = visible.clamped(to: 0..<max(0, count))
    let previous = samples.last
    self.count = max(0, count)
    self.visible = visible
    self.margin = max(0, margin)
    let sample = Sample(position: visible.lowerBound, at: now)
    guard let previous, previous.position != sample.position else {
      samples = [sample]
      (lastSpeed, fastestSpeed) = (0, 0)
      settledAt = nil
      if previous == nil { restsSince = now }
      return
    }
    if let restsSince, speed(at: now) == 0 { lastRest = Self.seconds(from: restsSince, to: now) }
    restsSince = now
    let step = sample.position - previous.position
    heading = step.signum()
    // Turned round: what was before says nothing of where it goes.
    if Double(step) * lastSpeed < 0 { samples = [previous] }
    let memory = rules.memory
    samples.removeAll { Self.seconds(from: $0.at, to: now) > memory }
    if let first = samples.first {
      let elapsed = max(rules.shortestStep, Self.seconds(from: first.at, to: now))
      lastSpeed = Double(sample.position - first.position) / elapsed
      fastestSpeed = lastSpeed
    } else {
      // After a rest, the move itself took no longer than moves do.
      lastSpeed = Double(step) / rules.longestStep
      fastestSpeed = Double(step) / rules.shortestStep
    }
    samples.append(sample)
    let interval = Self.seconds(from: previous.at, to: now)
    settledAt =
      now + .seconds(min(max(2 * interval, rules.settling.lowerBound), rules.settling.upperBound))
  }

  /// The list has another length now, and what was visible is where it is told to be.
  package mutating func listChanged(count: Int, visible: Range<Int>) {
    self.count = max(0, count)
    self.visible = visible.clamped(to: 0..<self.count)
    if let last = samples.last { samples = [Sample(position: self.visible.lowerBound, at: last.at)] }
  }

  /// A frame that was prepared beyond what was visible has left the window.
  package mutating func left(_ side: Side, wasSeen: Bool) {
    func learned(_ yield: Double) -> Double { yield + ((wasSeen ? 1 : 0) - yield) / rules.outcomes }
    switch side {
    case .ahead: yields.ahead = learned(yields.ahead)
    case .behind: yields.behind = learned(likelyBehind)
    }
  }

  // MARK: What follows

  /// Positions a second; 0 once the travel has settled.
  package func speed(at now: ContinuousClock.Instant) -> Double {
    guard let settledAt, now < settledAt else { return 0 }
    return lastSpeed
  }

  /// When the plan will be another without any move; `nil`: never.
  package func nextChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    if let settledAt, now < settledAt, lastSpeed != 0 { return settledAt }
    return likelyMargins == (margin, margin) || isLongRest(at: now) ? nil : longRestBegins
  }

  package func plan(at now: ContinuousClock.Instant) -> Plan {
    let speed = speed(at: now)
    let direction = speed > 0 ? 1 : speed < 0 ? -1 : 0
    func around(before: Int, after: Int) -> Range<Int> {
      max(0, visible.lowerBound - before)..<min(count, visible.upperBound + after)
    }
    let farthest = margin * rules.widest
    let kept = around(before: farthest, after: farthest)
    if abs(speed) * rules.flingDwell > Double(visible.count) {
      let passed = min(visible.count, Int(abs(fastestSpeed) * rules.soonestUse))
      let prepared =
        direction > 0
        ? visible.lowerBound + passed..<visible.upperBound : visible.lowerBound..<visible.upperBound - passed
      return Plan(
        range: visible, prepared: prepared, kept: kept, visible: visible, quality: .reduced, direction: direction,
        heading: heading)
    }
    let margins = isLongRest(at: now) ? (ahead: margin, behind: margin) : likelyMargins
    let ahead = min(margins.ahead + Int(abs(speed) * rules.lookahead), farthest)
    let behind = direction == 0 ? margins.behind : margins.behind / 4
    let range = heading < 0 ? around(before: ahead, after: behind) : around(before: behind, after: ahead)
    return Plan(
      range: range, prepared: range, kept: kept, visible: visible, quality: .high, direction: direction,
      heading: heading)
  }

  /// As much of the margin as is likely to be seen.
  private var likelyMargins: (ahead: Int, behind: Int) {
    func share(_ yield: Double) -> Int { Int((Double(margin) * yield).rounded()) }
    return (share(yields.ahead), share(heading == 0 ? yields.ahead : likelyBehind))
  }

  private var longRestBegins: ContinuousClock.Instant? {
    let patience = min(max(rules.longerRest * lastRest, rules.patience.lowerBound), rules.patience.upperBound)
    return restsSince.map { $0 + .seconds(patience) }
  }

  private func isLongRest(at now: ContinuousClock.Instant) -> Bool {
    guard speed(at: now) == 0, let longRestBegins else { return false }
    return now >= longRestBegins
  }

  private static func seconds(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) -> Double {
    start.duration(to: end) / .seconds(1)
  }
}
