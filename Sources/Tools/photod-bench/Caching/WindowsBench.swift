// The gain of each rule of preheat windows, in a simulation: the same traces with all rules, without each one in turn,
// and without a window.

import ArgumentParser
import ImageService

struct WindowsBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "windows",
    abstract: "Simulated scrolling with all rules of preheat windows, without each in turn, and without a window.")

  @Option(help: "Number of photographs.")
  var assets = 10_000

  @Option(help: "The window's margin.")
  var margin = 40

  @Option(help: "The state at the start: warm or cold. Repeatable. Default: both.")
  var start: [CachingBench.Start] = []

  @Option(help: "Traces whose names contain this. Repeatable. Default: all.")
  var trace: [String] = []

  @Option(help: "The rules to switch off. Repeatable. Default: each.")
  var rule: [PreheatWindow.Rule] = []

  @Option(help: "Milliseconds of a frame from a 12 megapixel original.")
  var originalMilliseconds = 45.0

  @Option(help: "Milliseconds of a frame from a stored derivative.")
  var derivativeMilliseconds = 5.5

  func run() {
    print(
      """
      # Rules of preheat windows, simulated

      \(assets) photographs, \(ScrollTrace.visible) visible cells, six connections, a margin of \(margin), two cores. A \
      frame takes \(originalMilliseconds.text(1)) ms from the original, \(derivativeMilliseconds.text(1)) ms from a \
      derivative. Ready: the final frame within 16.7 ms of the moment when its cell becomes visible; for flings and \
      jumps within 100 ms of the stop. Wasted: the CPU seconds of frames that the window began and that were not shown.

      """)
    let table = Table(
      ["start", "trace", "variant", "ready", "p50 ms", "p99 ms", "prepared", "CPU s", "wasted s"], labels: 3)
    for start in start.isEmpty ? CachingBench.Start.allCases : start {
      for trace in traces {
        row(table, start, trace, "all rules", .init())
        for rule in rule.isEmpty ? PreheatWindow.Rule.allCases : rule {
          var parameters = PreheatWindow.Parameters()
          parameters.disabled = [rule]
          row(table, start, trace, "without \(rule.rawValue)", parameters)
        }
        row(table, start, trace, "no window", nil)
      }
    }
  }

  private var traces: [ScrollTrace] {
    let all = ScrollTrace.all(of: assets, seconds: 15, cycles: 12, rest: 1.5) + ScrollTrace.people(of: assets)
    return all.filter { candidate in trace.isEmpty || trace.contains { candidate.name.contains($0) } }
  }

  private func row(
    _ table: Table, _ start: CachingBench.Start, _ trace: ScrollTrace, _ variant: String,
    _ parameters: PreheatWindow.Parameters?
  ) {
    let costs = WindowSimulation.Costs(
      original: originalMilliseconds / 1000, derivative: derivativeMilliseconds / 1000)
    var simulation = WindowSimulation(
      trace, isWarm: start == .warm, count: assets, margin: margin, parameters: parameters, costs: costs)
    let outcome = simulation.run()
    let limit =
      switch trace.measurement {
      case .eachCell: 1.0 / 60
      case .stops: 0.1
      }
    let waits = outcome.waits.filter(\.isFinite).map { $0 * 1000 }
    table.row([
      start.rawValue, trace.name, variant, CachingBench.percent(outcome.share(within: limit)),
      waits.percentile(50).text(1), waits.percentile(99).text(1), "\(outcome.prepared)", outcome.cpu.text(2),
      outcome.wastedCPU.text(2),
    ])
  }
}

extension PreheatWindow.Rule: ExpressibleByArgument {}
