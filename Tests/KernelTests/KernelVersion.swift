import CPhotodKernels
import PhotoFixtures
import Testing

/// A version of the integer kernels that this processor can run.
struct KernelVersion: CustomTestStringConvertible, Sendable {
  static let all = (0..<photod_integer_version_count()).map { KernelVersion(index: $0) }
  /// The definition of the others.
  static let plain = KernelVersion(index: 0)

  let index: Int32

  var kernels: photod_integer_kernels { photod_integer_version(index).pointee }
  var testDescription: String { String(cString: kernels.name) }
}

/// What the integer kernels multiply.
enum KernelValues: CaseIterable, Sendable {
  /// Weights that sum to 1, some of them negative, and samples between black and white.
  case picture
  /// Anything whose sums fit into 32 bits.
  case random
  /// Sums far above white, and far below black.
  case highest, lowest

  /// Weights in Q14.
  func weights(_ taps: Int, _ random: inout SplitMix) -> [Int16] {
    switch self {
    case .picture:
      let limit = Int16(12_000 / taps)
      var weights = (0..<taps).map { _ in Int16.random(in: -limit...limit, using: &random) }
      weights[taps / 2] = 0
      let sum = weights.reduce(0) { $0 + Int($1) }
      weights[taps / 2] = Int16(16_384 - sum)
      return weights
    case .random:
      let limit = Int16(60_000 / taps)
      return (0..<taps).map { _ in Int16.random(in: -limit...limit, using: &random) }
    case .highest: return Array(repeating: Int16(60_000 / taps), count: taps)
    case .lowest: return Array(repeating: Int16(-60_000 / taps), count: taps)
    }
  }

  /// Samples in Q6, as the vertical pass makes them.
  func samples(_ count: Int, _ random: inout SplitMix) -> [Int16] {
    switch self {
    case .picture: (0..<count).map { _ in Int16.random(in: 0...16_320, using: &random) }
    case .random: (0..<count).map { _ in Int16.random(in: Int16.min...Int16.max, using: &random) }
    case .highest, .lowest: Array(repeating: Int16.max, count: count)
    }
  }

  /// Samples of a picture.
  func bytes(_ count: Int, _ random: inout SplitMix) -> [UInt8] {
    switch self {
    case .picture, .random: (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    case .highest, .lowest: Array(repeating: 255, count: count)
    }
  }
}
