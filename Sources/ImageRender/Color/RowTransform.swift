/// What the pixels of a row are.
struct RowFormat: Sendable, Hashable {
  enum Model: Sendable, Hashable {
    case gray, rgb
    /// As Adobe stores it: 255 is no ink.
    case cmyk
  }

  var model: Model
  /// Behind the colours, not premultiplied.
  var hasAlpha: Bool
  /// 8, or 16 in the machine's byte order.
  var bitsPerChannel: Int

  var colorChannels: Int {
    switch model {
    case .gray: 1
    case .rgb: 3
    case .cmyk: 4
    }
  }

  var channels: Int { colorChannels + (hasAlpha ? 1 : 0) }
}

/// Makes the colours of the output out of those of the source, a row at a time. Used by several renders at once.
protocol RowTransform: Sendable {
  /// What goes in. Out come 8 bits a channel: gray from gray, else RGB, and the alpha that went in.
  var source: RowFormat { get }

  /// Converts `pixels` pixels from one place to another; the two do not overlap.
  func convert(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, pixels: Int)
}

/// CMYK to RGB where no profile says what the inks look like: what is left of the light after the ink and the black.
///
/// Printed colours are duller than that. But there is no profile that most such files would be right with, and this one is
/// what browsers show.
struct PlainInks: RowTransform {
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
