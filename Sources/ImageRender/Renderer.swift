// A plan carried out: decode -> resample -> turn upright -> encode, with memory for the rows in flight and no more.

import ImageCodec
import PhotoModel

/// A finished picture and how it came about.
package struct RenderedImage: Sendable {
  package let bytes: [UInt8]
  package let size: PixelSize
  package let format: OutputFormat
  /// The original ended early; what was there is shown.
  package let isIncomplete: Bool
  /// What the codecs complained of, and what was wrong with a profile that was ignored; for the log.
  package let warnings: [CodecWarnings]
  package var readTime = Duration.zero
  package var decodeTime = Duration.zero
  package var resizeTime = Duration.zero
  package var encodeTime = Duration.zero
}

/// A decoder, what stands between, and an encoder, joined: by interleaved rows or by planes.
protocol RenderPipeline: AnyObject {
  /// Goes on as far as there is input.
  func decode() throws(CodecError) -> DecodeOutcome

  /// The finished file, after the last row.
  func finish() throws(CodecError) -> [UInt8]

  var isTruncated: Bool { get }
  /// What the decoder and the encoder complained of so far.
  var warnings: [CodecWarnings] { get }
  /// What reading, the kernels and the encoder took, as part of what everything took.
  var readTime: Duration { get }
  var resizeTime: Duration { get }
  var encodeTime: Duration { get }
}

/// One render. Made and run on a render worker, one thread at a time; it holds its memory until it goes.
package final class Renderer {
  private let plan: RenderPlan
  private let pipeline: any RenderPipeline
  private let color: OutputColor
  private var elapsed = Duration.zero

  /// Opens the decoder and the encoder.
  ///
  /// - Parameter transforms: where conversions that were made before are found.
  package convenience init(
    _ plan: RenderPlan, source: any ByteSource, transforms: ColorTransforms? = nil, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    let started = ContinuousClock.now
    let color = try SourceColor(plan.header, in: source, limits: limits)
    let transforms = transforms ?? ColorTransforms(capacityBytes: 0)
    let output = transforms.outputColor(of: color, plan.sourceRows, as: plan.colorSpace)
    try self.init(plan, source: source, color: output, limits: limits, stop: stop)
    elapsed = ContinuousClock.now - started
  }

  /// For colours that the source itself does not tell.
  init(
    _ plan: RenderPlan, source: any ByteSource, color: OutputColor, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    self.plan = plan
    self.color = color
    // Colours are converted as RGB.
    pipeline =
      plan.planes.isEmpty || color.transform != nil
      ? try RowPipeline(plan, source: source, color: color, limits: limits, stop: stop)
      : try PlanePipeline(plan, source: source, profile: color.profile, limits: limits, stop: stop)
  }

  /// For rows that come from a decoder of the caller's.
  init(_ plan: RenderPlan, decoder: any RowDecoder, color: OutputColor, stop: StopFlag) throws(CodecError) {
    self.plan = plan
    self.color = color
    pipeline = try RowPipeline(plan, decoder: decoder, color: color, stop: stop)
  }

  /// Goes on as far as there is input. `nil`: the source had nothing for now; call again when it has.
  package func resume() throws(CodecError) -> RenderedImage? {
    let started = ContinuousClock.now
    defer { elapsed += ContinuousClock.now - started }
    if try pipeline.decode() == .needsInput { return nil }
    let bytes = try pipeline.finish()
    let total = elapsed + (ContinuousClock.now - started)
    return RenderedImage(
      bytes: bytes, size: plan.outputSize, format: plan.format, isIncomplete: pipeline.isTruncated,
      warnings: pipeline.warnings + [color.warnings].compactMap(\.self), readTime: pipeline.readTime,
      decodeTime: total - pipeline.readTime - pipeline.resizeTime - pipeline.encodeTime,
      resizeTime: pipeline.resizeTime, encodeTime: pipeline.encodeTime)
  }
}
