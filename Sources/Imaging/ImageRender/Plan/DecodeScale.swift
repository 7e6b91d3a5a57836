import PhotoModel

/// The choice of the scale at which a picture is decoded, in eighths of its sides: 1, 2, 4 or 8, which libjpeg's DCT
/// has SIMD code for. Decoders of other formats that can scale have the same scales.
package enum DecodeScale {
  /// All scales, smallest first.
  package static let all = [1, 2, 4, 8]

  /// The purpose of the decoded pixels.
  package enum Purpose: Sendable {
    /// Resampling that reduces this many pixels to one, in each direction: the smallest scale with enough pixels for
    /// the kernel.
    case resampling(reduction: Double)
    /// An upright picture of the size `of` becomes one of this size by the decode alone, without resampling.
    case exactSize(PixelSize, of: PixelSize)
    /// Averages, for which a block's mean is as good as a kernel: the largest scale whose longer side is small enough.
    case averages(longerSide: Int, atMost: Int)
  }

  /// How many decoded pixels, in each direction, one output pixel needs. A scaled decode cuts off frequencies above its
  /// own limit block by block, and no linear filter can remove the aliasing that this causes: at 1.25, a least-squares
  /// reconstruction gains 0.1 dB over Lanczos where 1 dB is missing. From about 1.5 on nothing is missing; the constant
  /// is slightly lower because sizes are whole pixels.
  private static let oversampling = 1.49

  /// The scale for a purpose; `nil` if none serves it.
  package static func eighths(for purpose: Purpose) -> Int? {
    switch purpose {
    case .resampling(let reduction):
      all.first { reduction * Double($0) / 8 >= oversampling } ?? 8
    case .exactSize(let size, let upright):
      all.last { SizeRules.scaled(upright, byEighths: $0) == size }
    case .averages(let longerSide, let most):
      all.last { longerSide * $0 <= most * 8 }
    }
  }
}
