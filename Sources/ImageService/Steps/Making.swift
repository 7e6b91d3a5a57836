import ImageRender
import PhotoModel
import Telemetry

/// What is known of a frame before its pixels are.
struct Making: Sendable {
  let asset: Asset
  let isDegraded: Bool
  let source: ImageResult.Source
  let derivation: Derivation
  /// How long it was not worked on.
  let waited: Duration

  init(
    _ job: RenderJob, _ source: ImageResult.Source, derivation: Derivation = .original, isDegraded: Bool
  ) {
    asset = job.asset
    self.isDegraded = isDegraded
    self.source = source
    self.derivation = derivation
    waited = job.created.duration(to: .now)
  }

  func frame(_ image: RenderedImage) -> ImageFrame {
    var timings = StageTimings()
    timings[.queue] = waited
    timings[.read] = image.readTime
    timings[.decode] = image.decodeTime
    timings[.resize] = image.resizeTime
    timings[.encode] = image.encodeTime
    return ImageFrame(
      bytes: image.bytes, format: image.format,
      result: ImageResult(
        requestID: "", isDegraded: isDegraded, isIncomplete: image.isIncomplete, size: image.size, source: source),
      timings: timings, derivation: derivation)
  }

  /// A frame of bytes that were there: nothing was done for it.
  func frame(asItIs bytes: [UInt8], _ size: PixelSize, _ format: OutputFormat) -> ImageFrame {
    var timings = StageTimings()
    timings[.queue] = waited
    return ImageFrame(
      bytes: bytes, format: format,
      result: ImageResult(requestID: "", isDegraded: isDegraded, size: size, source: source), timings: timings,
      derivation: derivation)
  }
}
