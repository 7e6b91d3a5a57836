#if canImport(Glibc)
  import Glibc
#endif

/// The weights of one direction of a separable resampling: which input samples make each output sample.
///
/// Output sample o is the sum over k in 0..<taps of `weights[o * taps + k]` times input sample `starts[o] + k`. Weights
/// of one output sum to 1. Samples are areas: input sample i covers [i, i + 1).
package struct ResampleAxis: Sendable, Hashable {
  /// Even, at least 2; the same for every output sample, padded with zero weights.
  package let taps: Int
  package let starts: [Int32]
  package let weights: [Float]
  package let outputLength: Int
  package let inputLength: Int
  /// Each output sample is one input sample: `starts[o]`, and they are neighbours.
  package let isIdentity: Bool

  /// Lanczos with three lobes, widened by the scale when shrinking so that nothing aliases.
  ///
  /// - Parameters:
  ///   - inputLength: how many samples there are.
  ///   - bounds: those of them that belong to the picture; what lies outside is never looked at. By default all.
  ///   - position: where the part that is shown begins, in input samples.
  ///   - length: how long it is, in input samples.
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
    let support = 3 * stretch
    var windows: [(start: Int, weights: [Double])] = []
    windows.reserveCapacity(outputLength)
    for o in 0..<outputLength {
      let centre = position + (Double(o) + 0.5) * scale
      let low = max(bounds.lowerBound, Int((centre - support).rounded(.down)))
      let high = min(bounds.upperBound, Int((centre + support).rounded(.up)))
      var window = (low..<high).map { Self.lanczos((Double($0) + 0.5 - centre) / stretch) }
      let sum = window.reduce(0, +)
      for i in window.indices { window[i] /= sum }
      windows.append((low, window))
    }
    for i in windows.indices { Self.trim(&windows[i]) }
    let widest = windows.map(\.weights.count).max() ?? 1
    let taps = max(2, widest + widest % 2)
    var starts = [Int32](repeating: 0, count: outputLength)
    var weights = [Float](repeating: 0, count: outputLength * taps)
    for (o, window) in windows.enumerated() {
      // Near the end the window begins earlier, so that it stays inside the input as long as there is enough of it.
      let start = max(0, min(window.start, inputLength - taps))
      starts[o] = Int32(start)
      for (k, weight) in window.weights.enumerated() { weights[o * taps + window.start - start + k] = Float(weight) }
    }
    self.taps = taps
    self.starts = starts
    self.weights = weights
  }

  /// The last input sample that an output sample needs; what its weights cover beyond that is multiplied by zero.
  package func lastInput(of output: Int) -> Int {
    min(Int(starts[output]) + (isIdentity ? 1 : taps), inputLength) - 1
  }

  /// The input samples that are looked at.
  package var inputRange: Range<Int> {
    guard let first = starts.first, outputLength > 0 else { return 0..<0 }
    return Int(first)..<lastInput(of: outputLength - 1) + 1
  }

  /// The weights as Q14 integers, each output's summing to exactly 16384: the rounding goes to its largest.
  package var fixedPointWeights: [Int16] {
    var fixed = [Int16](repeating: 0, count: weights.count)
    for o in 0..<outputLength {
      var sum = 0
      var largest = o * taps
      for i in o * taps..<(o + 1) * taps {
        let value = Int((weights[i] * 16384).rounded())
        fixed[i] = Int16(clamping: value)
        sum += value
        if weights[i] > weights[largest] { largest = i }
      }
      fixed[largest] = Int16(clamping: Int(fixed[largest]) + 16384 - sum)
    }
    return fixed
  }

  private static func lanczos(_ x: Double) -> Double {
    if abs(x) < 1e-9 { return 1 }
    if abs(x) >= 3 { return 0 }
    let a = Double.pi * x
    return 3 * sin(a) * sin(a / 3) / (a * a)
  }

  /// Without the weights at both ends that are too small to matter.
  private static func trim(_ window: inout (start: Int, weights: [Double])) {
    let threshold = 1.0 / 32768
    while window.weights.count > 1, abs(window.weights[window.weights.count - 1]) < threshold {
      window.weights.removeLast()
    }
    while window.weights.count > 1, abs(window.weights[0]) < threshold {
      window.weights.removeFirst()
      window.start += 1
    }
  }
}
