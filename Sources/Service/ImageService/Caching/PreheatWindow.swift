// The arithmetic of a preheat window: which positions of a list are worth preparing, in which order and in which
// quality, given the visible range and its moves. A pure struct: it handles only numbers, no assets or frames, and
// the time is passed in.
//
//     at rest       the visible range and the margin on both sides
//     scrolling     also, ahead, half a second of scrolling
//     in a fling    of the visible range, only positions that stay visible a moment longer, and only if they are cheap
//
// Prepared positions are kept over a larger range than new ones are prepared. A user who scrolls row by row rests
// between the rows, and the positions ahead must not come and go each time.
//
// A fling ends when the same range is reported again, or when no move arrives for a quarter of a second. The prepared
// part of the margin depends on the past: the more frames beyond the visible range left the window unseen, the fewer
// are prepared. The leading and the trailing side are counted separately. A rest that is longer than earlier rests is
// an exception: then the whole margin is prepared.

import Primitives

/// The visible range of a list, its moves, and the positions to prepare.
package struct PreheatWindow: Sendable {
  package enum Quality: String, Sendable, Hashable, CaseIterable {
    case high
    /// Prepare only frames that need no decode of the original.
    case reduced
  }

  /// A part of the plan that `scripts/bench windows` switches off to measure its effect.
  package enum Rule: String, Sendable, Hashable, CaseIterable {
    /// Half a second of scrolling is prepared ahead, in addition to the margin.
    case lookahead
    /// In a fling, only cheap visible frames are prepared.
    case flingQuality
    /// In a fling, positions that scroll out of view before they could be shown are not prepared.
    case flingPassed
    /// Fewer positions ahead are prepared if frames there were not seen.
    case learningAhead
    /// The same for the trailing side. Without this rule, the share of the leading side counts for both sides.
    case learningBehind
    /// Frames are kept beyond the range that is prepared.
    case keeping
    /// After a long rest, the whole margin is prepared.
    case longRest
  }

  /// Constants of the plan. The unit is in the name.
  package struct Parameters: Sendable, Hashable {
    /// A fling moves so fast that the whole visible range passes in less than this.
    var flingDwellSeconds = 0.25
    /// In a fling, a position that is visible for less than this could not be shown in time.
    var minimumVisibleSeconds = 0.05
    /// How much scrolling is prepared ahead, in addition to the margin.
    var lookaheadSeconds = 0.5
    /// The speed is computed from moves within this time.
    var speedSampleSeconds = 0.15
    /// Longest assumed duration of one move, however long the rest before it was.
    var maximumStepSeconds = 0.1
    /// Shortest assumed duration of one move: one frame of a display.
    var minimumStepSeconds = 1.0 / 60
    /// The pause that ends the scrolling.
    var settleSeconds = 0.25
    /// About how many frames beyond the visible range are remembered as seen or unseen.
    package var rememberedOutcomes = 16.0
    /// Factor of the requested margin: the largest distance that is prepared ahead, and the distance that existing
    /// frames are kept on both sides.
    var maximumMarginFactor = 2
    /// A rest counts as long after this factor times the previous rest, limited to `longRestSeconds`.
    var longRestFactor = 2.0
    var longRestSeconds = 2.0...10.0
    /// The rules that are switched off: none, except in measurements.
    package var disabled: Set<Rule> = []

    package init() {}

    func isEnabled(_ rule: Rule) -> Bool { !disabled.contains(rule) }
  }

  /// On which side of the visible range a position is, relative to the last move.
  package enum Side: Sendable, Hashable {
    case ahead, behind
  }

  /// The positions that are worth preparing now.
  package struct Plan: Sendable, Hashable {
    /// The positions that the window covers: the visible range and the current margin.
    package let range: Range<Int>
    /// The part of `range` that is prepared; in a fling not all of it.
    package let prepared: Range<Int>
    /// Positions whose existing frames are kept. Contains `range`.
    package let kept: Range<Int>
    package let visible: Range<Int>
    package let quality: Quality
    /// 1: towards the end; -1: towards the beginning; 0: at rest.
    package let direction: Int
    /// Direction of the last move, also at rest.
    fileprivate let heading: Int

    /// `nil` if the position is visible, or if there was no move yet.
    package func side(of position: Int) -> Side? {
      if heading == 0 || visible.contains(position) { return nil }
      let isForward = position >= visible.upperBound
      return isForward == (heading > 0) ? .ahead : .behind
    }

    /// The prepared positions, most urgent first: visible positions, starting on the side that scrolling reveals;
    /// then by distance, at equal distances those ahead first. Linear.
    package var order: [Int] {
      let shown = visible.clamped(to: prepared)
      var order = direction > 0 ? shown.reversed() : Array(shown)
      appendMargin(of: prepared, to: &order)
      return order
    }

    /// The kept positions that are not prepared, nearest to the visible range first. Linear.
    var keptOrder: [Int] {
      var order = Array(visible)
      appendMargin(of: kept, to: &order)
      return order.filter { !prepared.contains($0) }
    }

    /// Appends the positions of a range that are outside the visible one, by distance; at equal distances those ahead
    /// first.
    private func appendMargin(of range: Range<Int>, to order: inout [Int]) {
      let forward = max(0, range.upperBound - visible.upperBound)
      let backward = max(0, visible.lowerBound - range.lowerBound)
      order.reserveCapacity(order.count + forward + backward)
      for distance in 1..<max(forward, backward) + 1 {
        let after = distance <= forward ? visible.upperBound - 1 + distance : nil
        let before = distance <= backward ? visible.lowerBound - distance : nil
        order += (heading < 0 ? [before, after] : [after, before]).compactMap(\.self)
      }
    }
  }

  private struct Sample: Sendable, Hashable {
    let position: Int
    let at: ContinuousClock.Instant
  }

  let parameters: Parameters
  /// Number of positions in the list.
  package private(set) var count = 0
  package private(set) var visible = 0..<0
  /// The requested margin on each side.
  package private(set) var margin = 0
  /// The learned share of frames on each side of the visible range that were seen. Ahead starts at 1; behind is `nil`
  /// until the first frame has left on that side.
  private var viewedShares: (ahead: Double, behind: Double?) = (1, nil)
  /// Until frames behind have been counted, the share ahead is the best estimate.
  private var likelyBehind: Double { viewedShares.behind ?? viewedShares.ahead }
  /// Recent positions, the latest last.
  private var samples: [Sample] = []
  /// Positions per second over the last moves; negative towards the beginning.
  private var lastSpeed = 0.0
  /// The highest speed that the last move may have had: after a rest, the duration of the move is unknown.
  private var fastestSpeed = 0.0
  private var settlesAt: ContinuousClock.Instant?
  /// Direction of the last move: 1, -1, or 0 before any move.
  private var heading = 0
  /// The time of the last move.
  private var lastMove: ContinuousClock.Instant?
  /// Duration of the previous rest, in seconds.
  private var lastRest = 0.0

  package init(_ parameters: Parameters = Parameters()) { self.parameters = parameters }

  // MARK: Events

  /// The visible range was reported; it may be unchanged. Positions outside the list are ignored.
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
      settlesAt = nil
      if previous == nil { lastMove = now }
      return
    }
    if let lastMove, speed(at: now) == 0 { lastRest = Self.seconds(from: lastMove, to: now) }
    lastMove = now
    let step = sample.position - previous.position
    heading = step.signum()
    // After a change of direction, earlier positions do not predict the next ones.
    if Double(step) * lastSpeed < 0 { samples = [previous] }
    let span = parameters.speedSampleSeconds
    samples.removeAll { Self.seconds(from: $0.at, to: now) > span }
    if let first = samples.first {
      let elapsed = max(parameters.minimumStepSeconds, Self.seconds(from: first.at, to: now))
      lastSpeed = Double(sample.position - first.position) / elapsed
      fastestSpeed = lastSpeed
    } else {
      // After a rest, limit the assumed duration of the move.
      lastSpeed = Double(step) / parameters.maximumStepSeconds
      fastestSpeed = Double(step) / parameters.minimumStepSeconds
    }
    samples.append(sample)
    settlesAt = now + .seconds(parameters.settleSeconds)
  }

  /// The list's length has changed, and the visible assets are now at `visible`.
  mutating func listChanged(count: Int, visible: Range<Int>) {
    self.count = max(0, count)
    self.visible = visible.clamped(to: 0..<self.count)
    if let last = samples.last { samples = [Sample(position: self.visible.lowerBound, at: last.at)] }
  }

  /// A frame that was prepared outside the visible range has left the window.
  package mutating func frameLeft(_ side: Side, wasSeen: Bool) {
    func learned(_ share: Double) -> Double { share + ((wasSeen ? 1 : 0) - share) / parameters.rememberedOutcomes }
    switch side {
    case .ahead: if parameters.isEnabled(.learningAhead) { viewedShares.ahead = learned(viewedShares.ahead) }
    case .behind: if parameters.isEnabled(.learningBehind) { viewedShares.behind = learned(likelyBehind) }
    }
  }

  // MARK: Plan

  /// Positions per second; 0 after the scrolling has settled.
  func speed(at now: ContinuousClock.Instant) -> Double {
    guard let settlesAt, now < settlesAt else { return 0 }
    return lastSpeed
  }

  /// When the plan will change without any move; `nil` for never.
  package func nextChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    if let settlesAt, now < settlesAt, lastSpeed != 0 { return settlesAt }
    guard parameters.isEnabled(.longRest), likelyMargins != (margin, margin), !isLongRest(at: now) else { return nil }
    return longRestBegins
  }

  package func plan(at now: ContinuousClock.Instant) -> Plan {
    let speed = speed(at: now)
    let direction = speed > 0 ? 1 : speed < 0 ? -1 : 0
    func around(before: Int, after: Int) -> Range<Int> {
      max(0, visible.lowerBound - before)..<min(count, visible.upperBound + after)
    }
    let farthest = margin * parameters.maximumMarginFactor
    let kept = around(before: farthest, after: farthest)
    if parameters.isEnabled(.flingQuality), abs(speed) * parameters.flingDwellSeconds > Double(visible.count) {
      let passed =
        parameters.isEnabled(.flingPassed)
        ? min(visible.count, Int(abs(fastestSpeed) * parameters.minimumVisibleSeconds)) : 0
      let prepared =
        direction > 0
        ? visible.lowerBound + passed..<visible.upperBound : visible.lowerBound..<visible.upperBound - passed
      return Plan(
        range: visible, prepared: prepared, kept: parameters.isEnabled(.keeping) ? kept : visible, visible: visible,
        quality: .reduced, direction: direction, heading: heading)
    }
    let margins = isLongRest(at: now) ? (ahead: margin, behind: margin) : likelyMargins
    let lookahead = parameters.isEnabled(.lookahead) ? Int(abs(speed) * parameters.lookaheadSeconds) : 0
    let ahead = min(margins.ahead + lookahead, farthest)
    let range =
      heading < 0
      ? around(before: ahead, after: margins.behind) : around(before: margins.behind, after: ahead)
    return Plan(
      range: range, prepared: range, kept: parameters.isEnabled(.keeping) ? kept : range, visible: visible,
      quality: .high, direction: direction, heading: heading)
  }

  /// The part of the margin that is likely to be seen.
  private var likelyMargins: (ahead: Int, behind: Int) {
    func positions(_ share: Double) -> Int { Int((Double(margin) * share).rounded()) }
    return (positions(viewedShares.ahead), positions(heading == 0 ? viewedShares.ahead : likelyBehind))
  }

  private var longRestBegins: ContinuousClock.Instant? {
    let limits = parameters.longRestSeconds
    let seconds = min(max(parameters.longRestFactor * lastRest, limits.lowerBound), limits.upperBound)
    return lastMove.map { $0 + .seconds(seconds) }
  }

  private func isLongRest(at now: ContinuousClock.Instant) -> Bool {
    guard parameters.isEnabled(.longRest), speed(at: now) == 0, let longRestBegins else { return false }
    return now >= longRestBegins
  }

  private static func seconds(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) -> Double {
    start.duration(to: end).seconds
  }
}
