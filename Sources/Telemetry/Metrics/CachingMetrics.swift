import CoreMetrics

/// What caching managers count.
package struct CachingMetrics: Sendable {
  private let preparedCounter: Counter
  private let usedCounter: Counter
  private let wastedCounter: Counter
  private let givenUpCounter: Counter

  package init(_ registry: MetricsRegistry) {
    preparedCounter = registry.counter(
      "photod_preheat_prepared_total", "Frames that caching managers brought into memory before they were asked for.")
    usedCounter = registry.counter(
      "photod_preheat_used_total", "Prepared frames that were asked for while they were kept.")
    wastedCounter = registry.counter(
      "photod_preheat_wasted_total", "Prepared frames that were dropped unseen.")
    givenUpCounter = registry.counter(
      "photod_preheat_given_up_total",
      "Renders for caching managers that were stopped half-way: nobody wanted the frame.")
  }

  package func prepared() { preparedCounter.increment() }
  package func used() { usedCounter.increment() }
  package func wasted() { wastedCounter.increment() }
  package func gaveUp() { givenUpCounter.increment() }
}
