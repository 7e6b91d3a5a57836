// Renders a small picture to pixels instead of a file, for computations. Uses the same plan and the same rows as a
// frame.

import ImageCodec
import MediaMetadata
import PhotoModel

/// A picture's pixels, upright, in sRGB.
package struct RenderedPixels: Sendable {
  /// Pixel (x, y) at `(y * size.width + x) * 4`: red, green, blue, and alpha, not premultiplied.
  package let rgba: [UInt8]
  package let size: PixelSize
  /// The original ended early; the decoded part is shown.
  let isIncomplete: Bool
  /// For the log.
  let warnings: [CodecWarnings]
}

extension Renderer {
  /// Renders a plan to pixels. Blocks while the source is read.
  ///
  /// - Parameters:
  ///   - plan: made by `RenderPlanner.pixelPlan`.
  ///   - workers: decode formats whose decoder runs in a process of its own; `nil` if there are none.
  package static func pixels(
    _ plan: RenderPlan, source: any ByteSource, workers: (any CodedPictureDecoder)? = nil, transforms: ColorTransforms,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) -> RenderedPixels {
    let color = try plan.header.sourceColor(in: source, workers: workers, limits: limits, stop: stop)
    let output = transforms.outputColor(of: color, plan.sourceRows, as: plan.colorSpace)
    let renderer = try Renderer(
      plan, source: source, workers: workers, color: output, encoder: PixelCollector(plan), limits: limits, stop: stop)
    return try renderer.pixels()
  }

  /// Renders, and returns the pixels that a ``PixelCollector`` gathered.
  func pixels() throws(CodecError) -> RenderedPixels {
    let image = try render()
    return RenderedPixels(
      rgba: image.bytes, size: image.size, isIncomplete: image.isIncomplete, warnings: image.warnings)
  }
}

/// Takes rows like an encoder but writes no file: its `finish` returns the pixels of ``RenderedPixels``.
final class PixelCollector: RowEncoder {
  private let width: Int
  private let channels: Int
  private var rgba: [UInt8] = []
  let warnings: CodecWarnings? = nil

  init(_ plan: RenderPlan) {
    width = plan.outputSize.width
    channels = plan.outputChannels
    rgba.reserveCapacity(plan.outputSize.pixelCount * 4)
  }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) {
    for y in 0..<count {
      let row = UnsafeRawBufferPointer(start: rows + y * strideBytes, count: width * channels)
      for x in 0..<width {
        let pixel = UnsafeRawBufferPointer(rebasing: row[x * channels..<(x + 1) * channels])
        rgba.append(pixel[0])
        rgba.append(channels < 3 ? pixel[0] : pixel[1])
        rgba.append(channels < 3 ? pixel[0] : pixel[2])
        rgba.append(channels % 2 == 0 ? pixel[channels - 1] : 255)
      }
    }
  }

  func finish() -> [UInt8] { rgba }
}
