import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The weights of one direction of a separable resampling: which input samples make each output sample.
///
/// Output sample o is the sum over k in 0..<taps of `weights[o * taps + k]` times input sample `starts[o] + k`. Weights
/// of one output sum to 1. Samples are areas: input sample i covers [i, i + 1).
package struct ResampleAxis: Sendable, Hashable {
  /// Number of taps: even, at least 2, the same for every output sample, padded with zero weights.
  package let taps: Int
  package let starts: [Int32]
  package let weights: [Float]
  let outputLength: Int
  let inputLength: Int
  /// Whether each output sample is exactly one input sample, `starts[o]`, and these are consecutive.
  package let isIdentity: Bool
  private let kernelWeights = KernelWeights()

  /// Lanczos with three lobes, widened by the scale when shrinking, to avoid aliasing.
  ///
  /// - Parameters:
  ///   - inputLength: number of input samples.
  ///   - bounds: the input samples that belong to the picture; samples outside have no weight. By default all.
  ///   - position: start of the shown part, in input samples.
  ///   - length: length of the shown part, in input samples.
  package init(
    inputLength: Int, bounds: Range<Int>? = nil, position: Double, length: Double, outputLength: Int
  ) {
    let bounds = bounds ?? 0..<inputLength
    self.inputLength = inputLength
    self.outputLength = outputLength
    let scale = length / Double(outputLength)
    if abs(scale - 1) < 1e-9, abs(position - position.rounded()) < 1e-9 {
      isIdentity = true
      taps = 2
      starts = (0..<outputLength).map { Int32($0 + Int(position.rounded())) }
      weights = (0..<outputLength * 2).map { $0 % 2 == 0 ? 1 : 0 }
      return
    }
    isIdentity = false
    let stretch = max(1, scale)
    let reach = LanczosWindow.lobes * stretch
    let span = Int(reach.rounded(.up)) * 2 + 2
    var windows = [LanczosWindow](repeating: LanczosWindow(start: 0, first: 0, count: 0), count: outputLength)
    var all = [Double](repeating: 0, count: outputLength * span)
    all.withUnsafeMutableBufferPointer { all in
      for o in 0..<outputLength {
        windows[o] = LanczosWindow(
          centre: position + (Double(o) + 0.5) * scale, stretch: stretch, bounds: bounds, into: all, at: o * span)
      }
    }
    // No output may begin after a later one, or rows would be released, or never decoded, that the later one needs: an
    // output whose centre is that of a sample may need this sample only.
    var begins = windows.map(\.start)
    for o in begins.indices.dropLast().reversed() { begins[o] = min(begins[o], begins[o + 1]) }
    let widest = zip(windows, begins).map { $0.start + $0.count - $1 }.max() ?? 1
    let taps = max(2, widest + widest % 2)
    var starts = [Int32](repeating: 0, count: outputLength)
    var weights = [Float](repeating: 0, count: outputLength * taps)
    for (o, window) in windows.enumerated() {
      // Near the end the window starts earlier, so that it stays inside the input if the input is long enough.
      let start = max(0, min(begins[o], inputLength - taps))
      starts[o] = Int32(start)
      let to = o * taps + window.start - start
      for k in 0..<window.count { weights[to + k] = Float(all[window.first + k]) }
    }
    self.taps = taps
    self.starts = starts
    self.weights = weights
  }

  /// The input samples of a part that is scaled as if there was nothing around it: those that lie in it completely.
  ///
  /// One that lies in it partly, as pixels of a scaled decode do, would mix in what is next to the part. It is added
  /// only where otherwise an output sample would have none in the middle of its kernel: its other weights are partly
  /// negative, and sum to nearly nothing.
  ///
  /// - Parameters:
  ///   - part: in input samples; it contains the shown part.
  ///   - position: start of the shown part, as in the initializer.
  static func samples(
    in part: ClosedRange<Double>, inputLength: Int, position: Double, length: Double, outputLength: Int
  ) -> Range<Int> {
    let scale = length / Double(outputLength)
    // From the first and last output sample's middle to the sample that must be there.
    let inset = (scale - max(1, scale)) / 2 + 0.5
    let rounding = 1e-6
    let first = min(
      (part.lowerBound - rounding).rounded(.up), (position + scale - inset + rounding).rounded(.down))
    let end = max(
      (part.upperBound + rounding).rounded(.down), (position + length - scale + inset - rounding).rounded(.up))
    let start = min(max(0, Int(first)), inputLength - 1)
    return start..<max(start + 1, min(Int(end), inputLength))
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.kernelWeights === right.kernelWeights
      || left.inputLength == right.inputLength && left.isIdentity == right.isIdentity && left.starts == right.starts
        && left.weights == right.weights
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(inputLength)
    hasher.combine(outputLength)
    hasher.combine(taps)
    hasher.combine(starts.first)
  }

  /// Memory of the axis, including the copies of its weights for the kernels: as floats, as Q14 and as pairs.
  var byteCount: Int { outputLength * (4 + taps * 4 + (taps + 8) * 2 + 4 + (taps + 2) * 2) }

  /// The last input sample that an output sample needs; weights after it are zero.
  func lastInput(of output: Int) -> Int {
    min(Int(starts[output]) + (isIdentity ? 1 : taps), inputLength) - 1
  }

  /// The input samples that are read.
  var inputRange: Range<Int> {
    guard let first = starts.first, outputLength > 0 else { return 0..<0 }
    return Int(first)..<lastInput(of: outputLength - 1) + 1
  }

  /// The weights as Q14 integers. The weights of each output sample sum to exactly 16384; the largest absorbs the
  /// rounding error.
  ///
  /// - Parameter step: the number of taps is rounded up to a multiple of this; the weights of output o start at o times
  ///   that number.
  package func fixedPointWeights(tapsInMultiplesOf step: Int = 2) -> (weights: [Int16], taps: Int) {
    kernelWeights.get(\.fixedPoint, step) { computeFixedPointWeights(tapsInMultiplesOf: step) }
  }

  private func computeFixedPointWeights(tapsInMultiplesOf step: Int) -> (weights: [Int16], taps: Int) {
    let padded = (taps + step - 1) / step * step
    var fixed = [Int16](repeating: 0, count: outputLength * padded)
    for o in 0..<outputLength {
      var sum = 0
      var largest = 0
      for k in 0..<taps {
        let weight = weights[o * taps + k]
        let value = Int((weight * 16384).rounded())
        fixed[o * padded + k] = Int16(clamping: value)
        sum += value
        if weight > weights[o * taps + largest] { largest = k }
      }
      fixed[o * padded + largest] = Int16(clamping: Int(fixed[o * padded + largest]) + 16384 - sum)
    }
    return (fixed, padded)
  }

  /// The weights for a band of rows (``PlaneScaler``): two Q14 taps in each entry, the first in the low half; the
  /// entries of output o start at o times `pairs`. `starts` has the first pair of input samples of each output, because
  /// pairs start at even samples.
  var pairedWeights: (starts: [Int32], weights: [Int32], pairs: Int) {
    kernelWeights.get(\.paired, 0) { computePairedWeights() }
  }

  private func computePairedWeights() -> (starts: [Int32], weights: [Int32], pairs: Int) {
    let (fixed, taps) = fixedPointWeights()
    // One more pair if any output starts at the second sample of a pair.
    let pairs = taps / 2 + (starts.contains { $0 % 2 != 0 } ? 1 : 0)
    var paired = [Int32](repeating: 0, count: outputLength * pairs)
    for o in 0..<outputLength {
      let shift = Int(starts[o] % 2)
      for k in 0..<taps {
        let bits = Int32(UInt16(bitPattern: fixed[o * taps + k]))
        paired[o * pairs + (k + shift) / 2] |= (k + shift) % 2 == 0 ? bits : bits << 16
      }
    }
    return (starts.map { $0 / 2 }, paired, pairs)
  }
}

/// The weights of an axis as the kernels take them, each form computed when it is first needed and then kept, so that
/// renders that share the axis share them too.
private final class KernelWeights: Sendable {
  struct Cache {
    /// By the multiple that the number of taps is rounded up to.
    var fixedPoint: [Int: (weights: [Int16], taps: Int)] = [:]
    /// One entry, with key 0.
    var paired: [Int: (starts: [Int32], weights: [Int32], pairs: Int)] = [:]
  }

  private let cache = Mutex(Cache())

  func get<Form>(_ form: any WritableKeyPath<Cache, [Int: Form]> & Sendable, _ key: Int, compute: () -> Form) -> Form {
    if let known = cache.withLock({ $0[keyPath: form][key] }) { return known }
    // Outside the lock: two renders may compute the same form; the later one is kept.
    let computed = compute()
    cache.withLock { $0[keyPath: form][key] = computed }
    return computed
  }
}

/// Computes the weights of one output sample.
private struct LanczosWindow {
  static let lobes = 3.0

  /// The first input sample with a weight, the index of that weight, and the number of weights.
  var start: Int
  var first: Int
  var count: Int

  init(start: Int, first: Int, count: Int) {
    self.start = start
    self.first = first
    self.count = count
  }

  /// Writes the weights, which sum to 1, to `all[index...]`, without negligible weights at both ends.
  init(centre: Double, stretch: Double, bounds: Range<Int>, into all: UnsafeMutableBufferPointer<Double>, at index: Int)
  {
    let reach = Self.lobes * stretch
    start = max(bounds.lowerBound, Int((centre - reach).rounded(.down)))
    let end = min(bounds.upperBound, Int((centre + reach).rounded(.up)))
    count = end - start
    first = index
    var sum = 0.0
    for k in 0..<count {
      let weight = Self.table.value(at: abs(Double(start + k) + 0.5 - centre) / stretch)
      all[index + k] = weight
      sum += weight
    }
    var largest = 0.0
    for k in 0..<count {
      all[index + k] /= sum
      largest = max(largest, all[index + k])
    }
    // Relative to the others where all of them are small, as for thousands of samples.
    let threshold = min(1.0 / 32768, largest / 64)
    while count > 1, abs(all[first + count - 1]) < threshold { count -= 1 }
    while count > 1, abs(all[first]) < threshold {
      first += 1
      start += 1
      count -= 1
    }
  }

  /// The kernel's right half, in steps of 1/1024; linear interpolation between steps is exact to 2e-6. An axis of 1600
  /// samples needs 25,000 weights, and two sines for each would be a fiftieth of the picture's cost.
  private struct Table {
    private static let steps = 1024.0
    private let values: [Double]

    init() {
      values = (0...Int(LanczosWindow.lobes * Self.steps) + 1).map { i in
        let x = Double(i) / Self.steps
        if i == 0 { return 1 }
        if x >= LanczosWindow.lobes { return 0 }
        let a = Double.pi * x
        return LanczosWindow.lobes * sin(a) * sin(a / LanczosWindow.lobes) / (a * a)
      }
    }

    func value(at x: Double) -> Double {
      guard x < LanczosWindow.lobes else { return 0 }
      let place = x * Self.steps
      let below = Int(place)
      return values[below] + (values[below + 1] - values[below]) * (place - Double(below))
    }
  }

  private static let table = Table()
}
