import PhotoModel

/// What a JPEG's frame header says of its components: what a plan needs to go without RGB (T.81 §B.2.2).
package struct JPEGComponents: Sendable, Hashable {
  /// How often a component is sampled where the most often sampled one is sampled `maximum` times (T.81 §A.1.1).
  package struct Sampling: Sendable, Hashable {
    package var across: Int
    package var down: Int
  }

  /// One entry a component, in the file's order.
  package var sampling: [Sampling]
  /// Luma and two of chroma, as libjpeg understands the file's markers and component numbers.
  package var isYCbCr: Bool

  /// The planes that a decode at `eighths` of the full size delivers when it makes no RGB of them. `nil` unless the file
  /// is YCbCr with its luma sampled as often as anything.
  package func planes(of size: PixelSize, eighths: Int) -> [PlaneGeometry]? {
    // §A.1.1: factors are 1 to 4. libjpeg refuses others by name, where it makes RGB.
    guard isYCbCr, sampling.count == 3, let luma = sampling.first,
      sampling.allSatisfy({ (1...4).contains($0.across) && (1...4).contains($0.down) })
    else { return nil }
    let most = Sampling(across: sampling.map(\.across).max() ?? 1, down: sampling.map(\.down).max() ?? 1)
    guard luma == most else { return nil }
    return sampling.map { PlaneGeometry(size, $0, most, eighths: eighths) }
  }
}

/// One component at the scale it is decoded at. Sample i covers [i / density, (i + 1) / density) of the full picture.
package struct PlaneGeometry: Sendable, Hashable {
  package let size: PixelSize
  /// Samples for each pixel of the picture at full size, at most 1.
  package let acrossPerPixel: Double
  package let downPerPixel: Double

  /// libjpeg enlarges the DCT scale of a subsampled component rather than to enlarge its samples afterwards, as far as it
  /// goes in whole steps (jdmaster.c, jpeg_calc_output_dimensions).
  init(_ picture: PixelSize, _ sampling: JPEGComponents.Sampling, _ most: JPEGComponents.Sampling, eighths: Int) {
    var scaled = eighths
    while scaled < 8, most.across * eighths % (sampling.across * scaled * 2) == 0,
      most.down * eighths % (sampling.down * scaled * 2) == 0
    {
      scaled *= 2
    }
    func count(_ side: Int, _ factor: Int, _ most: Int) -> Int { (side * factor * scaled + most * 8 - 1) / (most * 8) }
    size = PixelSize(
      width: count(picture.width, sampling.across, most.across),
      height: count(picture.height, sampling.down, most.down))
    acrossPerPixel = Double(sampling.across * scaled) / Double(most.across * 8)
    downPerPixel = Double(sampling.down * scaled) / Double(most.down * 8)
  }
}
