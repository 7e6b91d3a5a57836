import CPhotodKernels
import ImageCodec

/// Resamples pictures that the integer resamplers do not handle: those with alpha (premultiplied during averaging, so
/// that invisible colours do not bleed), those with 16 bits a channel, and those that are scaled in linear light. Four
/// float channels a pixel, 0...255.
///
/// The horizontal pass comes first, unlike in ``IntegerResampler``: at sixteen bytes a pixel, it is better to reduce
/// the number of pixels before rows are stored.
final class FloatResampler: RowResampler {
  private let layout: RowLayout
  private let horizontal: ResampleAxis
  private let vertical: ResampleAxis
  private let light: LinearLight?
  private let writer: RowWriter
  private let horizontalStarts: [Int32]
  private let staging: RowBuffer<UInt8>
  /// An input row as floats.
  private let line: RowBuffer<Float>
  /// A ring of rows of the output's width.
  private let ring: RowRing
  private let result: RowBuffer<Float>
  private var nextOutput = 0
  private(set) var resizeTime = Duration.zero

  /// - Parameter light: in which rows are scaled; `nil` for their own values.
  init(
    layout: RowLayout, horizontal: ResampleAxis, vertical: ResampleAxis, light: LinearLight?, writer: RowWriter
  ) {
    self.light = light
    self.layout = layout
    self.horizontal = horizontal
    self.vertical = vertical
    self.writer = writer
    horizontalStarts = horizontal.starts.map { $0 - Int32(layout.firstColumn) }
    staging = RowBuffer(count: layout.rowBytes + Int(PHOTOD_KERNEL_SLACK), zero: 0)
    line = RowBuffer(count: (layout.width + horizontal.taps) * 4, zero: 0)
    ring = RowRing(
      rowBytes: Self.rowBytes(horizontal), capacity: vertical.taps + 1, slackBytes: Int(PHOTOD_KERNEL_SLACK))
    result = RowBuffer(count: horizontal.outputLength * 4, zero: 0)
  }

  /// Bytes of one stored row.
  private static func rowBytes(_ horizontal: ResampleAxis) -> Int { horizontal.outputLength * 16 }

  /// Memory of a resampler, without its axes.
  ///
  /// - Parameters:
  ///   - width: pixels of an input row.
  ///   - pixelBytes: bytes of an input pixel.
  static func byteCount(_ horizontal: ResampleAxis, _ vertical: ResampleAxis, width: Int, pixelBytes: Int) -> Int {
    width * pixelBytes + (width + horizontal.taps) * 16 + 2 * rowBytes(horizontal)
      + RowRing.byteCount(rowBytes: rowBytes(horizontal), capacity: vertical.taps + 1)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(staging.pointer) }

  func rowArrived(_ y: Int) -> Bool {
    let started = ContinuousClock.now
    keepRow(y)
    resizeTime += ContinuousClock.now - started
    while nextOutput < vertical.outputLength {
      guard vertical.lastInput(of: nextOutput) <= y else { return true }
      let started = ContinuousClock.now
      makeRow(start: Int(vertical.starts[nextOutput]))
      resizeTime += ContinuousClock.now - started
      nextOutput += 1
      if !writer.rowArrived() { return false }
    }
    return false
  }

  private func keepRow(_ y: Int) {
    // Rows above the first needed row are decoded only because the decoder can't skip them.
    guard y >= vertical.inputRange.lowerBound else { return }
    if layout.bitsPerChannel == 16 {
      let samples = UnsafeRawPointer(staging.pointer).assumingMemoryBound(to: UInt16.self)
      if let light {
        light.load(samples, channels: layout.channels, to: line.pointer, width: layout.width)
      } else {
        photod_premultiply_u16(samples, Int32(layout.channels), line.pointer, layout.width)
      }
    } else if let light {
      light.load(
        UnsafePointer(staging.pointer), channels: layout.channels, to: line.pointer, width: layout.width)
    } else {
      photod_premultiply_u8(staging.pointer, Int32(layout.channels), line.pointer, layout.width)
    }
    photod_horizontal_f32x4(
      line.pointer, horizontalStarts, horizontal.weights, Int32(horizontal.taps),
      ring.row(y).assumingMemoryBound(to: Float.self), horizontal.outputLength)
  }

  private func makeRow(start: Int) {
    withUnsafeTemporaryAllocation(of: UnsafePointer<Float>?.self, capacity: vertical.taps) { rows in
      for k in 0..<vertical.taps {
        let row = ring.row(min(start + k, vertical.inputLength - 1))
        rows.initializeElement(at: k, to: UnsafePointer(row.assumingMemoryBound(to: Float.self)))
      }
      vertical.weights.withUnsafeBufferPointer { weights in
        photod_vertical_f32(
          rows.baseAddress, weights.baseAddress! + nextOutput * vertical.taps, Int32(vertical.taps), result.pointer,
          horizontal.outputLength * 4)
      }
    }
    switch writer.bitsPerChannel {
    case 16:
      let row = writer.rowSpace.assumingMemoryBound(to: UInt16.self)
      unpremultiply { row[$0] = UInt16(min(max($1, 0), 255) * 257 + 0.5) }
    default:
      let row = writer.rowSpace.assumingMemoryBound(to: UInt8.self)
      unpremultiply { row[$0] = UInt8(min(max($1, 0), 255) + 0.5) }
    }
  }

  /// Writes the finished row in the writer's channels. Blends it over white if the picture has alpha and the writer's
  /// rows do not; this happens only if rows are neither converted nor scaled in linear light.
  @inline(__always)
  private func unpremultiply(store: (Int, Float) -> Void) {
    let channels = writer.channels
    let keepsAlpha = channels == 2 || channels == 4
    let colors = keepsAlpha ? channels - 1 : channels
    for x in 0..<horizontal.outputLength {
      let from = result.pointer + x * 4
      // The kernel overshoots at the edges of opaque areas, and the colours with it.
      let opacity = max(from[3], 0)
      let alpha = min(opacity, 255)
      for c in 0..<colors {
        let value =
          keepsAlpha
          ? (opacity > 0 ? from[c] * 255 / opacity : 0)
          : (opacity > 255 ? from[c] * 255 / opacity : from[c]) + (255 - alpha)
        store(x * channels + c, light.map { $0.stored(value, channel: c) } ?? value)
      }
      if keepsAlpha { store(x * channels + colors, alpha) }
    }
  }
}
