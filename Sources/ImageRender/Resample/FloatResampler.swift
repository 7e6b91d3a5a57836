import CPhotodKernels
import ImageCodec

/// Resamples everything else: alpha (premultiplied while it is averaged, so that what can't be seen does not bleed) and
/// 16 bits a channel. Four float channels a pixel, 0...255.
final class FloatResampler: ResizingConsumer {
  private let layout: RowLayout
  private let horizontal: ResampleAxis
  private let vertical: ResampleAxis
  private let writer: OutputWriter
  private let horizontalStarts: [Int32]
  private let staging: RowBuffer<UInt8>
  private let ring: RowRing
  private let middle: RowBuffer<Float>
  private let result: RowBuffer<Float>
  private var nextOutput = 0
  private(set) var resizeTime = Duration.zero

  init(layout: RowLayout, horizontal: ResampleAxis, vertical: ResampleAxis, writer: OutputWriter) {
    self.layout = layout
    self.horizontal = horizontal
    self.vertical = vertical
    self.writer = writer
    horizontalStarts = horizontal.starts.map { $0 - Int32(layout.firstColumn) }
    staging = RowBuffer(count: layout.rowBytes, zero: 0)
    ring = RowRing(rowBytes: layout.width * 16, capacity: vertical.taps + 1, slackBytes: Int(PHOTOD_KERNEL_SLACK))
    middle = RowBuffer(count: (layout.width + horizontal.taps) * 4, zero: 0)
    result = RowBuffer(count: horizontal.outputLength * 4, zero: 0)
  }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(staging.pointer) }

  func rowArrived(_ y: Int) -> Bool {
    let started = ContinuousClock.now
    premultiply(into: ring.row(y).assumingMemoryBound(to: Float.self))
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

  /// The staged row as four floats a pixel: (r·a, g·a, b·a, a), gray in all three, a = 255 where there is no alpha.
  private func premultiply(into row: UnsafeMutablePointer<Float>) {
    switch layout.bitsPerChannel {
    case 16:
      let samples = UnsafeRawPointer(staging.pointer).assumingMemoryBound(to: UInt16.self)
      premultiply(into: row) { Float(samples[$0]) * (1 / 257) }
    default:
      let samples = UnsafePointer(staging.pointer)
      premultiply(into: row) { Float(samples[$0]) }
    }
  }

  @inline(__always)
  private func premultiply(into row: UnsafeMutablePointer<Float>, sample: (Int) -> Float) {
    let channels = layout.channels
    let hasColor = channels >= 3
    for x in 0..<layout.width {
      let i = x * channels
      let alpha: Float = layout.hasAlpha ? sample(i + channels - 1) : 255
      let share = alpha * (1 / 255)
      let out = row + x * 4
      out[0] = sample(i) * share
      out[1] = hasColor ? sample(i + 1) * share : out[0]
      out[2] = hasColor ? sample(i + 2) * share : out[0]
      out[3] = alpha
    }
  }

  private func makeRow(start: Int) {
    withUnsafeTemporaryAllocation(of: UnsafePointer<Float>?.self, capacity: vertical.taps) { rows in
      for k in 0..<vertical.taps {
        let row = ring.row(min(start + k, vertical.inputLength - 1))
        rows.initializeElement(at: k, to: UnsafePointer(row.assumingMemoryBound(to: Float.self)))
      }
      vertical.weights.withUnsafeBufferPointer { weights in
        photod_vertical_f32(
          rows.baseAddress, weights.baseAddress! + nextOutput * vertical.taps, Int32(vertical.taps), middle.pointer,
          layout.width * 4)
      }
    }
    photod_horizontal_f32x4(
      middle.pointer, horizontalStarts, horizontal.weights, Int32(horizontal.taps), result.pointer,
      horizontal.outputLength)
    switch writer.bitsPerChannel {
    case 16:
      let row = writer.rowSpace.assumingMemoryBound(to: UInt16.self)
      unpremultiply { row[$0] = UInt16(min(max($1, 0), 255) * 257 + 0.5) }
    default:
      let row = writer.rowSpace.assumingMemoryBound(to: UInt8.self)
      unpremultiply { row[$0] = UInt8(min(max($1, 0), 255) + 0.5) }
    }
  }

  /// The finished row in the writer's channels; over white where it carries no alpha and the picture has some.
  @inline(__always)
  private func unpremultiply(store: (Int, Float) -> Void) {
    let channels = writer.channels
    let keepsAlpha = channels == 2 || channels == 4
    let colors = keepsAlpha ? channels - 1 : channels
    for x in 0..<horizontal.outputLength {
      let from = result.pointer + x * 4
      let alpha = min(max(from[3], 0), 255)
      for c in 0..<colors {
        store(x * channels + c, keepsAlpha ? (alpha > 0 ? from[c] * 255 / alpha : 0) : from[c] + (255 - alpha))
      }
      if keepsAlpha { store(x * channels + colors, alpha) }
    }
  }
}
