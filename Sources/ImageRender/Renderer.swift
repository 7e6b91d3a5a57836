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
  /// A codec's complaint, for the log.
  package let warning: String?
  /// Why an embedded profile was ignored, for the log.
  package var profileWarning: String?
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
  var warning: String? { get }
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
  /// - Parameters:
  ///   - color: what is known of the source's colours, where the source itself is not all there is to know; by default
  ///     what its header points at.
  ///   - transforms: where conversions that were made before are found.
  package init(
    _ plan: RenderPlan, source: any ByteSource, color: SourceColor? = nil, transforms: ColorTransforms? = nil,
    limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    let started = ContinuousClock.now
    self.plan = plan
    let color = try Self.outputColor(plan, source, color, transforms, limits)
    self.color = color
    // Colours are converted as RGB.
    pipeline =
      plan.planes.isEmpty || color.transform != nil
      ? try RowPipeline(plan, source: source, color: color, limits: limits, stop: stop)
      : try PlanePipeline(plan, source: source, profile: color.profile, limits: limits, stop: stop)
    elapsed = ContinuousClock.now - started
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
      warning: pipeline.warning, profileWarning: color.warning, readTime: pipeline.readTime,
      decodeTime: total - pipeline.readTime - pipeline.resizeTime - pipeline.encodeTime,
      resizeTime: pipeline.resizeTime, encodeTime: pipeline.encodeTime)
  }
  private static func outputColor(
    _ plan: RenderPlan, _ source: any ByteSource, _ color: SourceColor?, _ transforms: ColorTransforms?,
    _ limits: CodecLimits
  ) throws(CodecError) -> OutputColor {
    var color = color
    if color == nil { color = try SourceColor(plan.header, in: source, limits: limits) }
    let transforms = transforms ?? ColorTransforms(capacityBytes: 0)
    return transforms.outputColor(of: color ?? SourceColor(), plan.sourceRows, as: plan.colorSpace)
  }
}
