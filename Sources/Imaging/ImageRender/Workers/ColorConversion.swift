import CPhotodKernels
import ImageCodec

extension photod_ycc {
  /// The constants of a conversion (ITU-T H.273 §8.3) of sums to 0...`high`.
  ///
  /// - Parameters:
  ///   - bits: of a sample, 8...10.
  ///   - lumaWeight: samples in a sum of luma.
  ///   - chromaWeight: samples in a sum of chroma.
  init(_ conversion: YCbCrConversion, bits: Int, lumaWeight: Int, chromaWeight: Int, high: Double) {
    let one = Double(1 << (bits - 8))
    let full = Double((1 << bits) - 1)
    let (black, luma) = conversion.isFullRange ? (0, full) : (16 * one, 219 * one)
    let chroma = conversion.isFullRange ? full : 224 * one
    self.init()
    self.high = Float(high)
    y_scale = Float(high / luma / Double(lumaWeight))
    y_offset = Float(-high * black / luma)
    switch conversion.matrix {
    case .identity:
      // Green, blue, red: all three like luma.
      c_scale = Float(high / luma / Double(chromaWeight))
      c_offset = y_offset
      (y_red, cr_red, cb_green, cr_green, y_blue, cb_blue) = (0, 1, 0, 0, 0, 1)
    case .yCgCo:
      // Both planes of chroma have the scale of luma, also in the narrow range.
      c_scale = Float(high / luma / Double(chromaWeight))
      c_offset = Float(-high * 128 * one / luma)
      (y_red, cb_red, cr_red) = (1, -1, 1)
      cb_green = 1
      (y_blue, cb_blue, cr_blue) = (1, -1, -1)
    case .weights(let red, let blue):
      let green = 1 - red - blue
      c_scale = Float(high / chroma / Double(chromaWeight))
      c_offset = Float(-high * 128 * one / chroma)
      (y_red, y_blue) = (1, 1)
      cr_red = Float(2 * (1 - red))
      cb_blue = Float(2 * (1 - blue))
      cb_green = Float(-2 * blue * (1 - blue) / green)
      cr_green = Float(-2 * red * (1 - red) / green)
    }
  }
}
