// Where values are while they are counted: atomics without order among them, for each stands alone.

import CoreMetrics
import Synchronization

final class CounterCell: CounterHandler {
  private let count = Atomic<Int>(0)

  var value: Int { count.load(ordering: .relaxed) }

  func increment(by amount: Int64) { count.wrappingAdd(Int(amount), ordering: .relaxed) }
  func reset() { count.store(0, ordering: .relaxed) }
}

/// A number that goes up and down; also a counter of fractions.
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

/// How many values lay at or below each bound, and their sum.
final class HistogramCell: RecorderHandler, TimerHandler {
  /// Ascending, without the infinite one.
  let bounds: [Double]
  /// One for each bound, and one for what lies beyond the last; ours to free. Not cumulative.
  ///
  /// `nonisolated(unsafe)` because it never changes; what it points at are atomics.
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

  /// Values up to each bound and in all, and their sum. The counts are of one reading, so the last is never less than one
  /// before it.
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
  /// Adds to the number that the bits stand for.
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
