import ImageCodec
import PhotoModel

/// A YCbCr JPEG made into another one, its three planes each on their own all the way.
final class PlanePipeline: RenderPipeline {
  private let decoder: JPEGPlaneDecoder
  private let resampler: PlaneResampler
  private let writer: PlaneWriter

  /// - Parameter profile: what the output is to carry.
  init(
    _ plan: RenderPlan, source: any ByteSource, profile: [UInt8]?, limits: CodecLimits, stop: StopFlag
  ) throws(CodecError) {
    decoder = try JPEGPlaneDecoder(
      source: source, header: plan.header, eighths: plan.eighths, firstScanOnly: plan.firstScanOnly, limits: limits,
      stop: stop)
    let encoder = try JPEGEncoder(
      size: plan.outputSize, channels: 3, quality: plan.quality, profile: profile, isPlanar: true)
    writer = PlaneWriter(
      sizes: plan.planes.map(\.storedOutput), chromaStep: plan.chromaStep, orientation: plan.orientation,
      encoder: encoder, stop: stop)
    resampler = PlaneResampler(layouts: decoder.planes, axes: plan.planes, writer: writer)
  }

  var isTruncated: Bool { decoder.isTruncated }
  var warnings: [CodecWarnings] { [decoder.warnings, writer.warnings].compactMap(\.self) }
  var readTime: Duration { decoder.readTime }
  var resizeTime: Duration { resampler.resizeTime }
  var encodeTime: Duration { writer.encodeTime }

  func decode() throws(CodecError) -> DecodeOutcome {
    let outcome = try decoder.decode(into: resampler)
    if let failure = writer.failure { throw failure }
    return outcome
  }

  func finish() throws(CodecError) -> [UInt8] { try writer.finish() }
}
