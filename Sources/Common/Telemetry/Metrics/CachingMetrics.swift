import CoreMetrics

/// The metrics of the caching managers.
package struct CachingMetrics: Sendable {
  private let preparedCounter: Counter
  private let usedCounter: Counter
  private let wastedCounter: Counter
  private let cancelledCounter: Counter

  package init(_ registry: MetricsRegistry) {
    preparedCounter = registry.counter(
      "photod_preheat_prepared_total", "Frames that caching managers prepared in memory before they were requested.")
    usedCounter = registry.counter(
      "photod_preheat_used_total", "Prepared frames that were requested while in memory.")
    wastedCounter = registry.counter(
      "photod_preheat_wasted_total", "Prepared frames that were dropped without a request.")
    cancelledCounter = registry.counter(
      "photod_preheat_cancelled_total",
      "Unfinished renders of caching managers that were cancelled because no task needed the frame.")
  }

  package func prepared() { preparedCounter.increment() }
  package func used() { usedCounter.increment() }
  package func wasted() { wastedCounter.increment() }
  package func cancelled() { cancelledCounter.increment() }
}
