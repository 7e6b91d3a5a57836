// The registry of all metrics, by name, for Prometheus. Code that counts uses swift-metrics and is given this registry
// as the backend; no global registry is installed.
//
// Writing is lock-free (`MetricCells`) and independent of readers: the image manager and libraries write to atomic
// cells, each event loop to its own counters. Values are read when `/metrics` is requested. Reading calls the closures
// of externally kept metrics, such as those of caches, budgets and `/proc`, never with the lock held.

import CoreMetrics
import Primitives
import Synchronization

package final class MetricsRegistry: MetricsFactory {
  /// TYPE of the exposition format.
  enum Kind: String, Sendable {
    case counter, gauge, histogram
  }

  /// The storage of one series.
  enum Cell: Sendable {
    case counter(CounterCell)
    case gauge(GaugeCell)
    case histogram(HistogramCell)
    /// Called for each exposition; `nil` if there is no value now.
    case callback(@Sendable () -> Double?)
  }

  /// All series of one name.
  struct Family: Sendable {
    let kind: Kind
    let help: String
    /// Upper bounds of a histogram's buckets, ascending, without the infinite one.
    let bounds: [Double]
    /// Cells by the text of their labels.
    var cells: [String: Cell] = [:]
  }

  private struct State {
    var families: [String: Family] = [:]
    var seriesCount = 0
  }

  /// Default bucket bounds for durations, in seconds.
  static let defaultBounds = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]

  private let maximumSeries: Int
  private let state = Mutex(State())

  /// - Parameter maximumSeries: maximum number of series, that is names with labels. Further series are not counted.
  package init(maximumSeries: Int = 2048) {
    self.maximumSeries = maximumSeries
  }

  // MARK: Our own metrics

  /// A counter. Its name must end in `_total`. Label values come from enumerations, so that their number is bounded.
  package func counter(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:]
  ) -> Counter {
    declare(name, .counter, help)
    return Counter(label: name, dimensions: Array(labels), factory: self)
  }

  /// A histogram of durations in seconds.
  package func timer(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:],
    bounds: [Double] = MetricsRegistry.defaultBounds
  ) -> CoreMetrics.Timer {
    declare(name, .histogram, help, bounds: bounds)
    return CoreMetrics.Timer(label: name, dimensions: Array(labels), factory: self)
  }

  /// A gauge whose value is kept elsewhere. `read` is called for each exposition, from any thread, and may only read
  /// memory or /proc; it returns `nil` if there is no value now.
  package func gauge(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:],
    read: @escaping @Sendable () -> Double?
  ) {
    declare(name, .gauge, help)
    addCallback(name, .gauge, Array(labels), read)
  }

  /// A counter whose value is kept elsewhere. `read` follows the rules of `gauge`.
  package func counter(
    _ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:],
    read: @escaping @Sendable () -> Double?
  ) {
    declare(name, .counter, help)
    addCallback(name, .counter, Array(labels), read)
  }

  private func declare(_ name: String, _ kind: Kind, _ help: String, bounds: [Double] = []) {
    precondition(Exposition.name(name) == name, "\(name) is not a valid metric name")
    precondition(kind != .counter || name.hasSuffix("_total"), "\(name) is a counter, so its name must end in _total")
    precondition(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of \(name) are not ascending")
    state.withLock { state in
      if let known = state.families[name] {
        precondition(known.kind == kind && known.help == help, "\(name) is declared with two kinds or help texts")
      } else {
        state.families[name] = Family(kind: kind, help: help, bounds: bounds)
      }
    }
  }

  private func addCallback(
    _ name: String, _ kind: Kind, _ labels: [(String, String)], _ read: @escaping @Sendable () -> Double?
  ) {
    let (cell, isNew) = add(name, kind, labels) { _ in .callback(read) }
    precondition(cell != nil, "\(name) is beyond the limit of \(maximumSeries) series")
    precondition(isNew, "\(name) is registered twice")
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

  // Values are kept for the lifetime of the process.
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
    return HistogramCell(bounds: Self.defaultBounds)
  }

  /// The cell of a series, created if needed. The cell is `nil` if the name has another kind or the series limit is
  /// reached.
  private func add(
    _ name: String, _ kind: Kind, _ labels: [(String, String)], _ make: ([Double]) -> Cell
  ) -> (cell: Cell?, isNew: Bool) {
    let name = Exposition.name(name)
    let key = Exposition.labels(labels)
    return state.withLock { state in
      var family =
        state.families[name]
        ?? Family(kind: kind, help: "", bounds: kind == .histogram ? Self.defaultBounds : [])
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

  /// All metrics as text, ordered by name and labels.
  package func exposition() -> [UInt8] {
    let families = state.withLock { $0.families }
    var text = Exposition()
    for (name, family) in families.sortedByKey { text.add(family, name) }
    return text.bytes
  }

  /// The media type of ``exposition()``.
  package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"
}
