import ImageRender
import PhotoModel
import Synchronization
import Telemetry

/// Facts about a frame that are known before its pixels exist.
struct FrameAttributes: Sendable {
  let asset: Asset
  let isDegraded: Bool
  let source: ImageResult.Source
  let derivation: Derivation
  /// How long the frame's job waited for a worker and for memory.
  let queueTime: Duration

  /// - Parameter stepBegan: when the step that makes the frame began.
  init(
    _ job: RenderJob, _ source: ImageResult.Source, derivation: Derivation = .original, isDegraded: Bool,
    stepBegan: ContinuousClock.Instant
  ) {
    asset = job.asset
    self.isDegraded = isDegraded || derivation.isSmallPreview
    self.source = source == .original && job.hasDownloaded.load(ordering: .relaxed) ? .network : source
    self.derivation = derivation
    queueTime = job.queueTime(before: stepBegan)
  }

  func frame(_ image: RenderedImage) -> ImageFrame {
    var timings = StageTimings()
    timings[.queue] = queueTime
    timings[.read] = image.readTime
    timings[.worker] = image.workerTime
    timings[.decode] = image.decodeTime
    timings[.resize] = image.resizeTime
    timings[.encode] = image.encodeTime
    return ImageFrame(
      bytes: image.bytes, format: image.format,
      result: ImageResult(
        requestID: "", isDegraded: isDegraded, isIncomplete: image.isIncomplete, size: image.size, source: source,
        isHDR: image.hasGainMap || image.isHDR),
      timings: timings, derivation: derivation)
  }

  /// A frame whose pixels already existed in coded form: no render work was done for it.
  func frame(
    asItIs bytes: [UInt8], _ size: PixelSize, _ format: OutputFormat, encodeTime: Duration = .zero
  ) -> ImageFrame {
    var timings = StageTimings()
    timings[.queue] = queueTime
    timings[.encode] = encodeTime
    return ImageFrame(
      bytes: bytes, format: format,
      result: ImageResult(requestID: "", isDegraded: isDegraded, size: size, source: source), timings: timings,
      derivation: derivation)
  }
}
