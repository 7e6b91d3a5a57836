// What each rule of preheat windows gains: the same traces with all rules, without each one in turn, and without a
// window.

import ArgumentParser
import Foundation
import ImageService

struct RuleComparison {
  /// Which rules apply.
  private enum Variant {
    case allRules
    case without(PreheatWindow.Rule)
    case noWindow

    var name: String {
      switch self {
      case .allRules: "all rules"
      case .without(let rule): "without \(rule.rawValue)"
      case .noWindow: "no window"
      }
    }

    var disabledRule: PreheatWindow.Rule? {
      if case .without(let rule) = self { rule } else { nil }
    }

    var hasWindow: Bool {
      if case .noWindow = self { false } else { true }
    }
  }

  let bench: CachingBench
  let library: CachingLibrary
  let data: (warm: String, cold: String)

  private var variants: [Variant] {
    let rules = bench.rule.isEmpty ? PreheatWindow.Rule.allCases : bench.rule
    return [.allRules] + rules.map { .without($0) } + [.noWindow]
  }

  func print() throws {
    Swift.print(
      """
      ## Rules of windows

      Medians of \(bench.ruleRounds) rounds, in which variants take turns. Ready: the final frame within 16.7 ms of \
      the moment when its cell becomes visible; for flings and jumps within 100 ms of the stop. Wasted: the prepared \
      or cancelled frames that were never shown.

      """)
    let table = Table(
      ["start", "side", "trace", "variant", "ready", "p50 ms", "p99 ms", "prepared", "wasted", "CPU s", "failed"],
      labels: 4)
    for start in bench.start.isEmpty ? CachingBench.Start.allCases : bench.start {
      for side in bench.side {
        for trace in bench.traces { try compare(start, side, trace, table) }
      }
    }
    Swift.print("")
  }

  private func compare(
    _ start: CachingBench.Start, _ side: Int, _ trace: ScrollTrace, _ table: Table
  ) throws {
    let variants = variants
    var found: [[CachingBench.Measurement]] = variants.map { _ in [] }
    for _ in 0..<max(1, bench.ruleRounds) {
      for (index, variant) in variants.enumerated() {
        found[index].append(
          try bench.measure(
            start, side, trace, hasWindow: variant.hasWindow, without: variant.disabledRule, library,
            start == .warm ? data.warm : data.cold))
      }
    }
    let limit =
      switch trace.measurement {
      case .eachCell: 1.0 / 60
      case .stops: 0.1
      }
    for (variant, rounds) in zip(variants, found) {
      func median(_ value: (CachingBench.Measurement) -> Double?) -> Double? { rounds.compactMap(value).median }
      table.row(
        [
          start.rawValue, "\(side)", trace.name, variant.name,
          CachingBench.percent(median { $0.outcome.share(within: limit, finalOnly: true) }),
          median { $0.outcome.waits.percentile(50) }.text(1), median { $0.outcome.waits.percentile(99) }.text(1),
          median { $0.prepared }.text(0), CachingBench.percent(median { $0.wastedShare }),
          median { $0.cpu }.text(1),
          "\(rounds.map(\.outcome.failures).reduce(0, +))",
        ])
    }
  }
}

extension PreheatWindow.Rule: ExpressibleByArgument {}
