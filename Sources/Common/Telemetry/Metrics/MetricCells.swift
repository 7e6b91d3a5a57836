// The storage of metric values: relaxed atomics, because the values are independent of each other.

import CoreMetrics
import Synchronization

final class CounterCell: CounterHandler {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func increment(by amount: Int64) { count.wrappingAdd(Int(amount), ordering: .relaxed) }
  func reset() { count.store(0, ordering: .relaxed) }
}

/// A value that can rise and fall; also used for floating-point counters.
final class GaugeCell: MeterHandler, RecorderHandler, FloatingPointCounterHandler {
  private let bits = Atomic<UInt64>(0)

  var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }
  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func increment(by amount: Double) { bits.add(amount) }
  func decrement(by amount: Double) { bits.add(-amount) }
  func reset() { set(0.0) }
}

/// Counts values by bucket, and their sum.
final class HistogramCell: RecorderHandler, TimerHandler {
  /// Upper bounds of the buckets, ascending, without the infinite one.
  let bounds: [Double]
  /// One count per bound and one for larger values; not cumulative. Allocated and freed by this object.
  ///
  /// `nonisolated(unsafe)` because the pointer never changes and points to atomics.
  private nonisolated(unsafe) let counts: UnsafeMutablePointer<Atomic<Int>>
  private let sum = Atomic<UInt64>(0)

  init(bounds: [Double]) {
    self.bounds = bounds
    counts = .allocate(capacity: bounds.count + 1)
    for i in 0...bounds.count { (counts + i).initialize(to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize(count: bounds.count + 1)
    counts.deallocate()
  }

  /// The cumulative counts up to each bound, the total count, and the sum. The counts come from one pass, so the total
  /// is never less than a bucket.
  var values: (cumulative: [Int], sum: Double) {
    var total = 0
    let cumulative = (0...bounds.count).map { i in
      total += counts[i].load(ordering: .relaxed)
      return total
    }
    return (cumulative, Double(bitPattern: sum.load(ordering: .relaxed)))
  }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    var i = 0
    while i < bounds.count, !(value <= bounds[i]) { i += 1 }
    counts[i].wrappingAdd(1, ordering: .relaxed)
    sum.add(value)
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}

extension Atomic<UInt64> {
  /// Adds to the Double whose bit pattern is stored.
  fileprivate func add(_ amount: Double) {
    var current = load(ordering: .relaxed)
    while true {
      let next = (Double(bitPattern: current) + amount).bitPattern
      let (isDone, found) = weakCompareExchange(expected: current, desired: next, ordering: .relaxed)
      if isDone { return }
      current = found
    }
  }
}
