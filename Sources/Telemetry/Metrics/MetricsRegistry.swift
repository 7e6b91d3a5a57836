// What the daemon counts, by name, as Prometheus reads it. swift-metrics is the face that writers see, this is what is
// behind it: whoever wants to count is given a registry, and no global one is set up.
//
// Writing is lock-free (`MetricCells`), and knows nothing of who reads. Reading calls the closures of those metrics that
// somebody else keeps, and never with the lock held.

import CoreMetrics
import Synchronization

package final class MetricsRegistry: MetricsFactory {
  /// TYPE of the exposition format.
  enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  /// Where the value of one series is.
  enum Cell: Sendable {
    case counter(CounterCell)
    case gauge(GaugeCell)
    case histogram(HistogramCell)
    /// Asked when it is read; `nil` where there is nothing to tell.
    case reading(@Sendable () -> Double?)
  }

  /// All series of one name.
  struct Family: Sendable {
    let kind: Kind
    let help: String
    /// Upper bounds of a histogram's buckets, ascending, without the infinite one.
    let bounds: [Double]
    /// By what stands between the braces.
    var cells: [String: Cell] = [:]
  }

  private struct State {
    var families: [String: Family] = [:]
    var seriesCount = 0
  }

  /// Buckets of durations, in seconds, where none are named.
  package static let standardBounds = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]

  private let maximumSeries: Int
  private let state = Mutex(State())

  /// - Parameter maximumSeries: names with their labels, in all. Those beyond it count for nobody.
  package init(maximumSeries: Int = 2048) {
    self.maximumSeries = maximumSeries
  }

  // MARK: Our own metrics

  /// A counter. Names end in `_total`; labels come from enumerations, so that their number is known.
  package func counter(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:]
  ) -> Counter {
    declare(name, .counter, help)
    return Counter(label: name, dimensions: Array(labels), factory: self)
  }

  /// A histogram of durations in seconds.
  package func timer(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:],
    bounds: [Double] = MetricsRegistry.standardBounds
  ) -> CoreMetrics.Timer {
    declare(name, .histogram, help, bounds: bounds)
    return CoreMetrics.Timer(label: name, dimensions: Array(labels), factory: self)
  }

  /// A gauge that somebody else keeps. `read` is called for each exposition, from any thread, and takes no longer than a
  /// look at memory or at /proc; `nil`: there is nothing to tell now.
  package func gauge(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:],
    read: @escaping @Sendable () -> Double?
  ) {
    declare(name, .gauge, help)
    let isNew = add(name, .gauge, Array(labels)) { _ in .reading(read) }.isNew
    precondition(isNew, "\(name) is registered twice")
  }

  /// A counter that somebody else keeps; as for gauges.
  package func counter(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:],
    read: @escaping @Sendable () -> Double?
  ) {
    declare(name, .counter, help)
    let isNew = add(name, .counter, Array(labels)) { _ in .reading(read) }.isNew
    precondition(isNew, "\(name) is registered twice")
  }

  private func declare(_ name: String, _ kind: Kind, _ help: String, bounds: [Double] = []) {
    precondition(Exposition.name(name) == name, "\(name) is no name of a metric")
    precondition(kind != .counter || name.hasSuffix("_total"), "\(name) is a counter and does not say so")
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "\(name) has bounds that do not ascend")
    state.withLock { state in
      if let known = state.families[name] {
        precondition(known.kind == kind && known.help == help, "\(name) is two metrics")
      } else {
        state.families[name] = Family(kind: kind, help: help, bounds: bounds)
      }
    }
  }

  // MARK: MetricsFactory

  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    if case .counter(let cell) = add(label, .counter, dimensions, { _ in .counter(CounterCell()) }).cell {
      return cell
    }
    return CounterCell()
  }

  package func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    gaugeCell(label, .counter, dimensions)
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    gaugeCell(label, .gauge, dimensions)
  }

  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    aggregate ? histogramCell(label, dimensions) : gaugeCell(label, .gauge, dimensions)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogramCell(label, dimensions)
  }

  // What was counted stays counted, for as long as the process runs.
  package func destroyCounter(_ handler: any CounterHandler) {}
  package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  package func destroyMeter(_ handler: any MeterHandler) {}
  package func destroyRecorder(_ handler: any RecorderHandler) {}
  package func destroyTimer(_ handler: any TimerHandler) {}

  private func gaugeCell(_ label: String, _ kind: Kind, _ dimensions: [(String, String)]) -> GaugeCell {
    if case .gauge(let cell) = add(label, kind, dimensions, { _ in .gauge(GaugeCell()) }).cell { return cell }
    return GaugeCell()
  }

  private func histogramCell(_ label: String, _ dimensions: [(String, String)]) -> HistogramCell {
    let made = add(label, .histogram, dimensions) { .histogram(HistogramCell(bounds: $0)) }
    if case .histogram(let cell) = made.cell { return cell }
    return HistogramCell(bounds: Self.standardBounds)
  }

  /// The cell of a series; made if there is none and there is room. `nil`: the name is one of another kind, or there is no
  /// room.
  private func add(
    _ name: String, _ kind: Kind, _ labels: [(String, String)], _ make: ([Double]) -> Cell
  ) -> (cell: Cell?, isNew: Bool) {
    let name = Exposition.name(name)
    let key = Exposition.labels(labels)
    return state.withLock { state in
      var family =
        state.families[name]
        ?? Family(kind: kind, help: "", bounds: kind == .histogram ? Self.standardBounds : [])
      guard family.kind == kind else { return (nil, false) }
      if let cell = family.cells[key] { return (cell, false) }
      guard state.seriesCount < maximumSeries else { return (nil, false) }
      let cell = make(family.bounds)
      family.cells[key] = cell
      state.families[name] = family
      state.seriesCount += 1
      return (cell, true)
    }
  }

  // MARK: Reading

  /// All metrics as text, in the order of their names and labels.
  package func exposition() -> [UInt8] {
    let families = state.withLock { $0.families }
    var text = Exposition()
    for (name, family) in families.sorted(by: { $0.key < $1.key }) { text.add(family, name) }
    return text.bytes
  }

  /// The media type of ``exposition()``.
  package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"
}
