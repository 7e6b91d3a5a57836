/// Divides premultiplied alpha out of decoded rows, which never have it (``RowLayout/channels``).
package enum PremultipliedAlpha {
  /// Divides in place. A colour greater than its alpha becomes the maximum, and one whose alpha is 0 becomes black.
  ///
  /// - Parameters:
  ///   - row: interleaved pixels; the last channel is alpha.
  ///   - bitsPerChannel: 8, or 16 in native byte order.
  package static func divideOut(
    of row: UnsafeMutableRawPointer, channels: Int, width: Int, bitsPerChannel: Int
  ) {
    if bitsPerChannel == 16 {
      divideOut(of: row.assumingMemoryBound(to: UInt16.self), channels, width)
    } else {
      divideOut(of: row.assumingMemoryBound(to: UInt8.self), channels, width)
    }
  }

  private static func divideOut<Sample: FixedWidthInteger & UnsignedInteger>(
    of pixels: UnsafeMutablePointer<Sample>, _ channels: Int, _ width: Int
  ) {
    for x in 0..<width {
      let alpha = UInt32(truncatingIfNeeded: pixels[x * channels + channels - 1])
      if alpha == UInt32(Sample.max) { continue }
      for c in 0..<channels - 1 {
        // At most 65535² and a half.
        let color = UInt32(truncatingIfNeeded: pixels[x * channels + c])
        let divided = alpha == 0 ? 0 : (color * UInt32(Sample.max) + alpha / 2) / alpha
        pixels[x * channels + c] = Sample(truncatingIfNeeded: min(divided, UInt32(Sample.max)))
      }
    }
  }
}
