import ImageCodec
import MediaMetadata
import PhotoModel

/// An output JPEG that is made from the three planes of another JPEG, each plane separately.
final class PlaneOutput: RenderOutput, PlaneConsumer {
  private let writer: PlaneWriter
  private let resampler: PlaneResampler

  /// - Parameters:
  ///   - layouts: layouts of the decoded planes.
  ///   - profile: the profile to embed in the output.
  init(_ plan: RenderPlan, layouts: [PlaneLayout], profile: [UInt8]?, stop: StopFlag) throws(CodecError) {
    let encoder = try JPEGEncoder(
      size: plan.outputSize, channels: 3, quality: plan.quality, profile: profile, coding: plan.jpegCoding,
      isPlanar: true)
    writer = PlaneWriter(
      sizes: plan.planes.map(\.storedOutput), chromaStep: plan.chromaStep, orientation: plan.orientation,
      encoder: encoder, stop: stop)
    resampler = PlaneResampler(layouts: layouts, axes: plan.planes, writer: writer)
  }

  var failure: CodecError? { writer.failure }
  var warnings: CodecWarnings? { writer.warnings }
  var resizeTime: Duration { resampler.resizeTime }
  var encodeTime: Duration { writer.encodeTime }

  func space(forRow y: Int, ofPlane plane: Int) -> UnsafeMutablePointer<UInt8> {
    resampler.space(forRow: y, ofPlane: plane)
  }

  func groupArrived(_ group: Int) -> Bool { resampler.groupArrived(group) }
  func finish() throws(CodecError) -> [UInt8] { try writer.finish() }
}
