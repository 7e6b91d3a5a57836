// Renders an animation: paint a frame on the canvas -> resample, convert, turn -> the part that has changed -> a worker
// encodes it -> the next frame.

import ImageCodec
import PhotoModel

package struct AnimationRenderer {
  private let plan: AnimationPlan
  private let source: any ByteSource
  private let workers: (any CodedPictureDecoder)?
  private let color: OutputColor
  private let limits: CodecLimits
  private let stop: StopFlag

  package init(
    _ plan: AnimationPlan, source: any ByteSource, workers: (any CodedPictureDecoder)?, transforms: ColorTransforms,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    self.plan = plan
    self.source = source
    self.workers = workers
    self.limits = limits
    self.stop = stop
    let described = try plan.header.sourceColor(in: source, workers: workers, limits: limits, stop: stop)
    color = transforms.outputColor(
      of: described, plan.frame.sourceRows, as: plan.frame.colorSpace, isLinear: plan.frame.isLinear)
  }

  /// Renders all frames, except a last one that the end of the file cuts off. Blocks while the source is read and while
  /// workers encode.
  package func render() throws(CodecError) -> RenderedImage {
    guard let workers else { throw .encoderUnavailable(.webp) }
    let began = ContinuousClock.now
    let animation = plan.animation
    let size = plan.frame.outputSize
    let canvas = AnimationCanvas(animation.canvas, isGray: plan.frame.header.colorChannels == 1)
    var file = WebPAnimation(canvas: size, plays: animation.plays, profile: color.profile)
    var shown: [UInt8]?
    /// The part of the current frame that differs from the one before, and how long it is shown.
    var pending: (pixels: [UInt8], part: PixelRect, milliseconds: Int)?
    var isIncomplete = false
    for (i, frame) in animation.frames.enumerated() {
      if stop.isRaised { throw .stopped }
      do throws(CodecError) {
        try canvas.paint(frame, decoder(frame))
      } catch {
        // A file that ends in its last frame is shown without that frame.
        guard animation.mayEndEarly, error.isOfFile, i > 0, i + 1 == animation.frames.count else { throw error }
        isIncomplete = true
        break
      }
      let pixels = try resampled(canvas)
      canvas.dispose(frame)
      if let last = pending, let before = shown {
        let part = FrameDifference.part(of: pixels, differingFrom: before, size)
        if let part {
          try add(last, workers, &file)
          pending = (pixels, part, frame.milliseconds)
        } else {
          pending?.milliseconds = min(last.milliseconds + frame.milliseconds, 1 << 24 - 1)
        }
      } else {
        pending = (pixels, PixelRect(size), frame.milliseconds)
      }
      shown = pixels
    }
    if let pending { try add(pending, workers, &file) }
    return RenderedImage(
      bytes: file.bytes, size: size, format: .webp, decodedEighths: 8, isIncomplete: isIncomplete, warnings: [],
      encodeTime: ContinuousClock.now - began)
  }

  private func add(
    _ frame: (pixels: [UInt8], part: PixelRect, milliseconds: Int), _ workers: any CodedPictureDecoder,
    _ file: inout WebPAnimation
  ) throws(CodecError) {
    let width = plan.frame.outputSize.width
    let (part, isOpaque) = (frame.part, FrameDifference.isOpaque(frame.pixels, frame.part, width: width))
    var rows: [UInt8] = []
    rows.reserveCapacity(part.size.pixelCount * 4)
    for y in part.y..<part.y + part.height {
      let row = frame.pixels[(y * width + part.x) * 4..<(y * width + part.x + part.width) * 4]
      if isOpaque {
        for i in stride(from: row.startIndex, to: row.endIndex, by: 4) { rows += row[i..<i + 3] }
      } else {
        rows += row
      }
    }
    let encoding = WorkerEncoding(
      .webp, size: part.size, channels: isOpaque ? 3 : 4, quality: plan.quality, profileBytes: 0)
    let coded = try rows.withUnsafeBytes { bytes in
      Result { () throws(CodecError) in try workers.encode(encoding, profile: [], rows: bytes, stop: stop) }
    }.get()
    guard let first = coded.first else { throw .encodingFailed("the encoder sent nothing") }
    guard file.byteCount + first.count <= AnimationPlan.maximumBytes else {
      throw .limitExceeded(
        "the size of the encoded animation", limit: AnimationPlan.maximumBytes, found: file.byteCount + first.count)
    }
    try file.add(first, at: part, milliseconds: frame.milliseconds, hasAlpha: !isOpaque)
  }

  /// The canvas at the size of the output, upright, as RGBA.
  private func resampled(_ canvas: AnimationCanvas) throws(CodecError) -> [UInt8] {
    let renderer = Renderer(
      plan.frame, decoder: canvas, color: color, encoder: PixelCollector(plan.frame), stop: stop)
    return try renderer.pixels().rgba
  }

  private func decoder(_ frame: Animation.Frame) throws(CodecError) -> any RowDecoder {
    let size = frame.rect.size
    switch frame.coded {
    case .gif(let picture):
      return try GIFDecoder(picture, region: PixelRect(size), source: source, stop: stop)
    case .webP(let picture):
      guard let workers else { throw .decoderUnavailable(.webp) }
      return WebPRowDecoder(
        picture, eighths: 8, region: PixelRect(size), workers: workers, source: source, stop: stop)
    case .png:
      let file = MemoryByteSource(try plan.animation.pngFile(frame, in: source))
      return try PNGDecoder(source: file, size: size, limits: limits, stop: stop)
    }
  }
}

/// Finds the difference between two frames. Pixels are RGBA, (x, y) at `(y * width + x) * 4`.
enum FrameDifference {
  /// The smallest part at even columns and rows that contains all differing pixels; `nil` if there are none.
  static func part(of pixels: [UInt8], differingFrom before: [UInt8], _ size: PixelSize) -> PixelRect? {
    let rowBytes = size.width * 4
    var (left, right, top, bottom) = (size.width, -1, size.height, -1)
    pixels.withUnsafeBytes { now in
      before.withUnsafeBytes { old in
        for y in 0..<size.height {
          let row = UnsafeRawBufferPointer(rebasing: now[y * rowBytes..<(y + 1) * rowBytes])
          let other = UnsafeRawBufferPointer(rebasing: old[y * rowBytes..<(y + 1) * rowBytes])
          guard let first = zip(row, other).enumerated().first(where: { $0.element.0 != $0.element.1 })?.offset else {
            continue
          }
          var last = rowBytes - 1
          while row[last] == other[last] { last -= 1 }
          (left, right) = (min(left, first / 4), max(right, last / 4))
          (top, bottom) = (min(top, y), max(bottom, y))
        }
      }
    }
    guard right >= 0 else { return nil }
    let (x, y) = (left & ~1, top & ~1)
    return PixelRect(x: x, y: y, width: right + 1 - x, height: bottom + 1 - y)
  }

  static func isOpaque(_ pixels: [UInt8], _ part: PixelRect, width: Int) -> Bool {
    (part.y..<part.y + part.height).allSatisfy { y in
      (part.x..<part.x + part.width).allSatisfy { pixels[(y * width + $0) * 4 + 3] == 255 }
    }
  }
}
