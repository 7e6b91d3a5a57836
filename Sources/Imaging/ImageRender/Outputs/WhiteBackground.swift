/// The white background of a picture with alpha in a frame without alpha.
enum WhiteBackground {
  /// Blends pixels of 8 bits a channel over white, in their own values, and leaves out their alpha.
  ///
  /// - Parameters:
  ///   - from: the last channel is alpha, not premultiplied.
  ///   - channels: the channels of `from`.
  ///   - to: may be `from`: no sample is written before it has been read.
  static func blend(
    _ from: UnsafePointer<UInt8>, channels: Int, to: UnsafeMutablePointer<UInt8>, pixels: Int
  ) {
    let colors = channels - 1
    for x in 0..<pixels {
      let pixel = from + x * channels
      let alpha = Int(pixel[colors])
      let white = 255 * (255 - alpha)
      for c in 0..<colors {
        let sum = Int(pixel[c]) * alpha + white
        to[x * colors + c] = UInt8((sum + 127) / 255)
      }
    }
  }
}
