// Frames from small sources: a stored derivative, or a thumbnail that the camera embedded. Each takes a few
// milliseconds and little memory, so these run on the quick lane. This type makes frames; it delivers nothing and knows
// no tasks.

import ImageCodec
import ImageRender
import Logging
import PhotoModel

struct QuickFrames: Sendable {
  let cache: TieredFrameCache
  let renderer: FrameRenderer
  /// The most memory that one frame may take while it is made.
  let maximumBytes: Int
  /// Pixels of a picture whose tiles are made together.
  let minimumTiledPixels: Int
  let logger: Logger

  // MARK: Final frames

  /// The final frame from the smallest derivative that has enough detail; `nil` if there is none or it can't be used.
  /// Stores the frame in the caches.
  func finalFrame(of job: RenderJob, stepBegan: ContinuousClock.Instant) -> ImageFrame? {
    guard !job.bypassesCaches, !job.wanted.request.format.needsWorker,
      let rung = renderer.ladder.rung(for: job.wanted, hasAlpha: job.asset.hasAlpha),
      let frame = frame(from: rung, job, isDegraded: false, stepBegan: stepBegan)
    else { return nil }
    return cache.reservingMemory(for: cache.keep(frame, for: job.key.rendition))
  }

  /// How a final frame is made from a derivative in the render lane.
  struct DerivativePlan: Sendable {
    let plan: RenderPlan
    let source: MemoryByteSource
    let derivation: Derivation
    /// Memory of the render and of the derivative.
    let peakBytes: Int
  }

  /// The plan of a final frame whose encoder is a worker, from the smallest derivative that has enough detail; `nil` if
  /// there is none, or if the frame has another format.
  func derivativePlan(of job: RenderJob) -> DerivativePlan? {
    guard !job.bypassesCaches, job.wanted.request.format.needsWorker, !job.wanted.request.isAnimated,
      let rung = renderer.ladder.rung(for: job.wanted, hasAlpha: job.asset.hasAlpha),
      let derivative = cache.store.derivative(rung, of: job.asset)
    else { return nil }
    let source = MemoryByteSource(derivative.bytes)
    do throws(ImageServiceError) {
      let plan = renderer.planner.derivativePlan(try renderer.header(of: source), job.wanted)
      return DerivativePlan(
        plan: plan, source: source, derivation: .derivative(side: rung.side, eighths: derivative.eighths),
        peakBytes: plan.peakBytes + derivative.bytes.count)
    } catch {
      return nil
    }
  }

  /// Whether a stored derivative is good enough for the request. One system call.
  func canMake(_ wanted: ResolvedRequest) -> Bool {
    guard !wanted.request.isAnimated,
      let rung = renderer.ladder.rung(for: wanted.sized, hasAlpha: wanted.asset.hasAlpha)
    else { return false }
    return cache.store.hasDerivative(rung, of: wanted.asset)
  }

  /// Whether a derivative that a job could use is missing on this machine.
  ///
  /// - Parameter orDegraded: also a derivative that gives only a degraded frame.
  func lacksDerivative(_ job: RenderJob, orDegraded: Bool) -> Bool {
    guard !job.bypassesCaches, !job.wanted.request.isAnimated else { return false }
    if let rung = renderer.ladder.rung(for: job.wanted, hasAlpha: job.asset.hasAlpha) {
      return !cache.store.hasDerivative(rung, of: job.asset)
    }
    return orDegraded && degradedRung(job) == nil
  }

  /// How a final frame that is in no cache would be made now.
  func expectedDerivation(of wanted: ResolvedRequest) -> Derivation {
    guard !wanted.request.isAnimated,
      let rung = renderer.ladder.rung(for: wanted.sized, hasAlpha: wanted.asset.hasAlpha),
      let derivative = cache.store.derivative(rung, of: wanted.asset)
    else { return isTile(wanted) ? .tile : .original }
    return .derivative(side: rung.side, eighths: derivative.eighths)
  }

  /// Whether the frame is expected to come from a ``TilePass``, judging by the catalogue.
  private func isTile(_ wanted: ResolvedRequest) -> Bool {
    let asset = wanted.asset
    let grid = TileGrid(asset.pixelSize)
    return asset.pixelSize.pixelCount >= minimumTiledPixels && !asset.hasAlpha
      && TilePass.formats.contains { $0.uniformTypeIdentifier == asset.uniformTypeIdentifier }
      && grid.tile(of: wanted.sized).map { TilePass.serves($0, of: grid) } ?? false
      && cache.store.hasRoomForTiles(of: asset.pixelSize)
  }

  // MARK: Degraded frames

  enum DegradedFrameResult {
    case frame(ImageFrame)
    /// An embedded preview that is too large for the quick lane.
    indirect case needsReservation(EmbeddedThumbnail)
    case unavailable
  }

  /// A degraded frame from a derivative, or from the camera's embedded thumbnail.
  func degradedFrame(of job: RenderJob, _ original: OpenedOriginal, stepBegan: ContinuousClock.Instant)
    -> DegradedFrameResult
  {
    if job.stop.isRaised { return .unavailable }
    if !job.bypassesCaches, let rung = degradedRung(job),
      let frame = frame(from: rung, job, isDegraded: true, stepBegan: stepBegan).flatMap(cache.reservingMemory)
    {
      return .frame(frame)
    }
    let (header, source) = (original.header, original.source)
    guard
      let thumbnail = EmbeddedThumbnail.best(for: job.degradedRequest, of: header, in: source, limits: renderer.limits)
    else { return .unavailable }
    guard thumbnail.peakBytes(for: job.degradedRequest, of: header) == 0 else { return .needsReservation(thumbnail) }
    return frame(from: thumbnail, job, original, stepBegan: stepBegan).map(DegradedFrameResult.frame) ?? .unavailable
  }

  /// The longer side of the largest frame for which the camera's thumbnail is tried before a derivative. Most cameras
  /// write thumbnails of 160 pixels, and opening an original for nothing costs a tenth of a millisecond.
  private static let maximumThumbnailSide = 256

  /// Whether the camera's thumbnail may have the pixels of a job, judging by the catalogue.
  func mayServeThumbnail(_ job: RenderJob) -> Bool {
    let size = job.wanted.outputSize
    return !job.bypassesCaches && job.asset.original.embeddedThumbnail != nil && !job.wanted.request.isAnimated
      && max(size.width, size.height) <= Self.maximumThumbnailSide
  }

  /// The frame from the camera's thumbnail, if that has all pixels of the frame; `nil` otherwise.
  func sufficientThumbnail(
    of job: RenderJob, _ original: OpenedOriginal, stepBegan: ContinuousClock.Instant
  ) -> ImageFrame? {
    let wanted = job.degradedRequest
    guard let range = original.header.embeddedThumbnail,
      let thumbnail = EmbeddedThumbnail(
        at: range, in: original.source, of: original.header, limits: renderer.limits),
      thumbnail.hasPixels(of: wanted, of: original.header),
      thumbnail.peakBytes(for: wanted, of: original.header) == 0
    else { return nil }
    return frame(from: thumbnail, job, original, stepBegan: stepBegan)
  }

  /// A degraded frame for an original that is in the cloud: from the best stored derivative, or from the embedded
  /// thumbnail. `nil` if neither is local.
  ///
  /// - Parameter head: opens the parts of the original that are local or have been received.
  func localFrame(
    of job: RenderJob, head: () -> (any ByteSource)?, stepBegan: ContinuousClock.Instant
  ) -> ImageFrame? {
    if job.bypassesCaches { return nil }
    if let rung = degradedRung(job), let frame = frame(from: rung, job, isDegraded: true, stepBegan: stepBegan) {
      return cache.reservingMemory(for: frame)?.inCloud
    }
    guard let source = head() else { return nil }
    do throws(ImageServiceError) {
      let original = OpenedOriginal(source: source, header: try renderer.header(of: source))
      let wanted = job.degradedRequest
      guard
        let thumbnail = EmbeddedThumbnail.best(for: wanted, of: original.header, in: source, limits: renderer.limits),
        thumbnail.peakBytes(for: wanted, of: original.header) == 0
      else { return nil }
      return frame(from: thumbnail, job, original, stepBegan: stepBegan)?.inCloud
    } catch {
      // The header needs parts of the file that are missing.
      return nil
    }
  }

  /// A degraded frame from an embedded thumbnail for which no memory has to be reserved.
  private func frame(
    from thumbnail: EmbeddedThumbnail, _ job: RenderJob, _ original: OpenedOriginal, stepBegan: ContinuousClock.Instant
  ) -> ImageFrame? {
    let attributes = FrameAttributes(job, .embedded, isDegraded: true, stepBegan: stepBegan)
    return renderer.frame(thumbnail, for: job.degradedRequest, original, attributes, stop: job.stop)
      .flatMap(cache.reservingMemory)
  }

  private func degradedRung(_ job: RenderJob) -> DerivativeLadder.Rung? {
    let available = renderer.ladder.rungs(of: job.asset.pixelSize)
      .filter { cache.store.hasDerivative($0, of: job.asset) }
    return renderer.ladder.degradedRung(among: available, for: job.wanted)
  }

  // MARK: Derivatives

  /// A frame from a stored derivative. A damaged derivative is treated as missing.
  private func frame(
    from rung: DerivativeLadder.Rung, _ job: RenderJob, isDegraded: Bool, stepBegan: ContinuousClock.Instant
  ) -> ImageFrame? {
    guard let derivative = cache.store.derivative(rung, of: job.asset) else { return nil }
    let attributes = FrameAttributes(
      job, .derivative, derivation: .derivative(side: rung.side, eighths: derivative.eighths),
      isDegraded: isDegraded, stepBegan: stepBegan)
    let wanted = isDegraded ? job.degradedRequest : job.wanted
    do throws(ImageServiceError) {
      let source = MemoryByteSource(derivative.bytes)
      let header = try renderer.header(of: source)
      if isDegraded, DerivativeLadder.canServeUnchanged(header, for: wanted) {
        return attributes.frame(unchanged: derivative.bytes, header.storedSize, wanted.request.format)
      }
      let plan = renderer.planner.derivativePlan(header, wanted)
      // A derivative of a very narrow picture has another aspect ratio.
      guard plan.peakBytes + derivative.bytes.count <= maximumBytes, plan.outputSize.hasAspect(of: wanted.outputSize)
      else { return nil }
      return try renderer.frame(plan, from: source, attributes, stop: job.stop)
    } catch {
      logger.debug(
        "derivative not used",
        metadata: [
          "asset": "\(job.asset.localIdentifier)", "side": "\(rung.side)", "reason": "\(error)",
        ])
      return nil
    }
  }
}
