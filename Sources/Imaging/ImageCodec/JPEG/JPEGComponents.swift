import PhotoModel

/// The components in a JPEG's frame header: the facts that a plan needs to work without RGB (T.81 §B.2.2).
package struct JPEGComponents: Sendable, Hashable {
  /// The sampling factors of a component: it is sampled this often where the component with the largest factor is
  /// sampled `maximum` times (T.81 §A.1.1).
  package struct Sampling: Sendable, Hashable {
    var across: Int
    var down: Int
  }

  /// One entry for each component, in the file's order.
  var sampling: [Sampling]
  /// Whether the components are luma and two chroma, as libjpeg interprets the file's markers and component numbers.
  package var isYCbCr: Bool

  /// Whether a JPEG XL can have the same coefficients. It states the sampling of luma and chroma (`jpeg_upsampling`
  /// beside `do_YCbCr` in the frame header of ISO/IEC 18181-1), but none of red, green and blue.
  package var canBeTranscoded: Bool {
    isYCbCr || sampling.count == 1 || sampling.allSatisfy { $0.across == 1 && $0.down == 1 }
  }

  /// The planes that a decode at `eighths` of the full size delivers without conversion to RGB. `nil` unless the file
  /// is YCbCr and no component is sampled more often than luma.
  package func planes(of size: PixelSize, eighths: Int) -> [PlaneGeometry]? {
    // §A.1.1: factors are 1 to 4. libjpeg reports a specific error for other factors when it makes RGB.
    guard isYCbCr, sampling.count == 3, let luma = sampling.first,
      sampling.allSatisfy({ (1...4).contains($0.across) && (1...4).contains($0.down) })
    else { return nil }
    let most = Sampling(across: sampling.map(\.across).max() ?? 1, down: sampling.map(\.down).max() ?? 1)
    guard luma == most else { return nil }
    return sampling.map { PlaneGeometry(size, $0, most, eighths: eighths) }
  }
}

/// One component at the scale at which it is decoded. Sample i covers [i / density, (i + 1) / density) of the full
/// picture.
package struct PlaneGeometry: Sendable, Hashable {
  package let size: PixelSize
  /// Samples for each pixel of the full-size picture, at most 1.
  package let acrossPerPixel: Double
  package let downPerPixel: Double

  /// For a subsampled component libjpeg uses a larger DCT scale instead of enlarging samples afterwards, as far as
  /// whole steps allow (jdmaster.c, jpeg_calc_output_dimensions).
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
