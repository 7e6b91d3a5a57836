import ImageCodec
import MediaMetadata
import PhotoModel

/// The canvas of an animation: paints frames over each other, and passes the result on row by row like a decoder.
final class AnimationCanvas: RowDecoder {
  let layout: RowLayout
  let isTruncated = false
  let warnings: CodecWarnings? = nil
  let readTime = Duration.zero
  private let size: PixelSize
  /// Pixel (x, y) at `(y * size.width + x) * layout.channels`; alpha is not multiplied.
  private let pixels: RowBuffer<UInt8>
  /// The pixels before the current frame was painted, if the frame must be undone afterwards.
  private var saved: RowBuffer<UInt8>?

  /// - Parameter isGray: whether pixels are gray and alpha, as its frames must be; else RGBA.
  init(_ size: PixelSize, isGray: Bool) {
    self.size = size
    layout = RowLayout(
      imageSize: size, firstColumn: 0, width: size.width, channels: isGray ? 2 : 4, bitsPerChannel: 8)
    pixels = RowBuffer(count: size.pixelCount * layout.channels, zero: 0)
  }

  /// Two canvases, and a row of a frame with 16 bits a channel.
  static func byteCount(_ size: PixelSize) -> Int { size.pixelCount * 8 + size.width * 8 }

  func decode(into consumer: any RowConsumer) -> DecodeOutcome {
    for y in 0..<size.height {
      consumer.space(forRow: y).copyMemory(from: pixels.pointer + y * layout.rowBytes, byteCount: layout.rowBytes)
      if !consumer.rowArrived(y) { break }
    }
    return .finished
  }

  /// Paints a frame. Afterwards ``dispose(_:)`` prepares the canvas for the next one.
  func paint(_ frame: Animation.Frame, _ decoder: any RowDecoder) throws(CodecError) {
    if frame.disposal == .restore {
      let copy = saved ?? RowBuffer(count: byteCount, zero: 0)
      copy.pointer.update(from: pixels.pointer, count: byteCount)
      saved = copy
    }
    let painter = FramePainter(frame, decoder.layout, canvas: layout, pixels)
    guard try decoder.decode(into: painter) == .finished else { throw .truncated(offset: 0) }
  }

  func dispose(_ frame: Animation.Frame) {
    switch frame.disposal {
    case .keep: break
    case .restore:
      if let saved { pixels.pointer.update(from: saved.pointer, count: byteCount) }
    case .clear:
      let columns = (frame.rect.x..<frame.rect.x + frame.rect.width).clamped(to: 0..<size.width)
      for y in (frame.rect.y..<frame.rect.y + frame.rect.height).clamped(to: 0..<size.height) {
        let first = pixels.pointer + (y * size.width + columns.lowerBound) * layout.channels
        first.update(repeating: 0, count: columns.count * layout.channels)
      }
    }
  }

  private var byteCount: Int { size.pixelCount * layout.channels }
}

/// Takes the rows of a frame and paints them into its rectangle.
private final class FramePainter: RowConsumer {
  private let frame: Animation.Frame
  private let layout: RowLayout
  private let canvas: PixelSize
  /// Of the canvas: the last one is alpha.
  private let channels: Int
  private let pixels: RowBuffer<UInt8>
  private let row: RowBuffer<UInt16>

  init(_ frame: Animation.Frame, _ layout: RowLayout, canvas: RowLayout, _ pixels: RowBuffer<UInt8>) {
    self.frame = frame
    self.layout = layout
    self.canvas = canvas.imageSize
    channels = canvas.channels
    self.pixels = pixels
    row = RowBuffer(count: (layout.rowBytes + 1) / 2, zero: 0)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(row.pointer) }

  func rowArrived(_ y: Int) -> Bool {
    let to = frame.rect.y + y
    guard 0..<canvas.height ~= to else { return to < canvas.height }
    let columns = (frame.rect.x..<frame.rect.x + layout.width).clamped(to: 0..<canvas.width)
    for x in columns { paint(pixel(x - frame.rect.x), at: pixels.pointer + (to * canvas.width + x) * channels) }
    return true
  }

  /// A pixel of the row as RGBA of 8 bits.
  private func pixel(_ x: Int) -> SIMD4<Int> {
    let start = x * layout.channels
    func channel(_ c: Int) -> Int {
      if layout.bitsPerChannel == 16 { return (Int(row.pointer[start + c]) * 255 + 32_767) / 65_535 }
      return Int(UnsafeRawPointer(row.pointer).load(fromByteOffset: start + c, as: UInt8.self))
    }
    let isGray = layout.channels < 3
    let (red, green, blue) = isGray ? (channel(0), channel(0), channel(0)) : (channel(0), channel(1), channel(2))
    return SIMD4(red, green, blue, layout.hasAlpha ? channel(layout.channels - 1) : 255)
  }

  private func paint(_ color: SIMD4<Int>, at to: UnsafeMutablePointer<UInt8>) {
    let colors = channels - 1
    var result = color
    if frame.isBlended, color.w < 255 {
      if color.w == 0 { return }
      // PNG third edition §13.16: over, with alpha that is not multiplied.
      let below = Int(to[colors]) * (255 - color.w)
      let alpha = color.w * 255 + below
      for c in 0..<colors { result[c] = (color[c] * color.w * 255 + Int(to[c]) * below + alpha / 2) / alpha }
      result.w = (alpha + 127) / 255
    }
    for c in 0..<colors { to[c] = UInt8(truncatingIfNeeded: result[c]) }
    to[colors] = UInt8(truncatingIfNeeded: result.w)
  }
}
