/// The pixel format of a row.
struct RowFormat: Sendable, Hashable {
  enum Model: Sendable, Hashable {
    case gray, rgb
    /// In Adobe's polarity: 255 is no ink.
    case cmyk
  }

  var model: Model
  /// Alpha follows the colour channels, not premultiplied.
  var hasAlpha: Bool
  /// 8, or 16 in native byte order.
  var bitsPerChannel: Int
  /// Bits of a channel after a conversion: 8, or 16.
  var outputBits = 8

  var colorChannels: Int {
    switch model {
    case .gray: 1
    case .rgb: 3
    case .cmyk: 4
    }
  }

  var channels: Int { colorChannels + (hasAlpha ? 1 : 0) }
}

/// Converts source colours to output colours, one row at a time. Several renders use one transform concurrently.
protocol RowTransform: Sendable {
  /// The input format. The output has its `outputBits` a channel: gray from gray, else RGB, plus the unchanged alpha.
  var source: RowFormat { get }

  /// Converts `pixels` pixels; the two buffers must not overlap.
  func convert(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, pixels: Int)
}

/// Converts CMYK to RGB if no profile describes the inks: the light that remains after the ink and the black.
///
/// Printed colours are duller than this result. But no single profile would be right for most such files, and browsers
/// show this conversion.
struct NaiveCMYKTransform: RowTransform {
  let source = RowFormat(model: .cmyk, hasAlpha: false, bitsPerChannel: 8)

  func convert(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, pixels: Int) {
    let inks = from.assumingMemoryBound(to: UInt8.self)
    let rgb = to.assumingMemoryBound(to: UInt8.self)
    for x in 0..<pixels {
      let black = Int(inks[x * 4 + 3])
      for c in 0..<3 { rgb[x * 3 + c] = UInt8((Int(inks[x * 4 + c]) * black + 127) / 255) }
    }
  }
}
