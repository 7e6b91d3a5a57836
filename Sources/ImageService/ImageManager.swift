// PHImageManager: asked for a picture of an asset, it delivers a frame, or a degraded frame and then the final one.
//
//     request -> cache: the final frame at once, whatever was asked for
//             -> line of the render workers -> look: open, read the header, plan; a thumbnail frame goes out here
//             -> memory for the plan, waited for if need be
//             -> render: a degraded frame if none went out yet, then the final one
//
// What is not in the cache each task renders for itself.

import ImageCodec
import ImageRender
import Logging
import OriginalStore
import PhotoModel
import Synchronization
import Telemetry

package final class ImageManager: Sendable {
  private let store: OriginalStore
  private let queue: WorkQueue
  private let budget: MemoryBudget
  private let limits: CodecLimits
  private let transforms: ColorTransforms
  private let cache: FrameCache
  private let logger: Logger
  /// Tasks whose render has not begun, wherever they wait.
  private let waiting = Atomic<Int>(0)
  private let maximumWaiting: Int

  /// - Parameters:
  ///   - queue: where codec work runs, and nothing else does. Its own line need have no limit.
  ///   - maximumWaiting: tasks that may wait, for a worker or for memory; one more is refused.
  ///   - cache: where final frames are kept.
  ///   - budget: what all renders together may hold.
  package init(
    store: OriginalStore, queue: WorkQueue, maximumWaiting: Int, cache: FrameCache, budget: MemoryBudget,
    limits: CodecLimits, logger: Logger
  ) {
    self.cache = cache
    self.maximumWaiting = maximumWaiting
    self.store = store
    self.queue = queue
    self.budget = budget
    self.limits = limits
    transforms = ColorTransforms(capacityBytes: limits.colorTransformBytes)
    self.logger = logger
  }

  /// Starts work on a picture. `deliver` is called in order, the last time with `.final` or `.failed`: here and now if the
  /// frame is in the cache, else on a worker.
  ///
  /// - Parameter bypassesCaches: render from the original, whatever is kept, and keep nothing of it.
  package func requestImage(
    for asset: Asset, _ request: ImageRequest, requestID: String, bypassesCaches: Bool = false,
    deliver: @escaping @Sendable (ImageDelivery) -> Void
  ) -> ImageTask {
    let task = ImageTask(requestID: requestID, asset: asset, request: request, bypassesCaches: bypassesCaches)
    if !bypassesCaches, let frame = cache.frame(for: RenditionKey(asset, request, source: .original)) {
      deliver(.final(ImageFrame(frame, requestID: requestID)))
      return task
    }
    // One may always be on its way to a worker.
    if waiting.add(1, ordering: .relaxed).newValue > max(1, maximumWaiting) {
      waiting.subtract(1, ordering: .relaxed)
      deliver(.failed(.queueFull))
      return task
    }
    let isAccepted = queue.submit { [self] in look(task, deliver) }
    if !isAccepted {
      waiting.subtract(1, ordering: .relaxed)
      deliver(.failed(.queueFull))
    }
    return task
  }

  /// The first step: what is there, and what will it take?
  private func look(_ task: ImageTask, _ deliver: @escaping @Sendable (ImageDelivery) -> Void) {
    let waited = ContinuousClock.now - task.created
    var goesOn = false
    defer { if !goesOn { waiting.subtract(1, ordering: .relaxed) } }
    attempt(task, deliver) { () throws(ImageServiceError) in
      let source = try open(task.asset)
      let header = try codec { () throws(CodecError) in try ImageHeader.read(from: source, limits: limits) }
      var render = Render(task: task, source: source, header: header, waited: waited)
      log(header.warnings, of: task)
      if task.request.deliveryMode != .highQualityFormat {
        render.thumbnail = EmbeddedThumbnail.best(for: task.request, of: header, in: source, limits: limits)
      }
      // What a small one takes need not be reserved.
      if render.thumbnailBytes == 0, let frame = thumbnailFrame(render) {
        if task.request.deliveryMode == .fastFormat { return deliver(.final(frame)) }
        deliver(.degraded(frame))
        render.hasDegradedFrame = true
      }
      let planner = RenderPlanner()
      render.final = planner.plan(header, task.request)
      render.degraded = render.hasDegradedFrame ? nil : planner.degradedPlan(header, task.request)
      let needed = max(render.final?.peakBytes ?? 0, render.degraded?.peakBytes ?? 0, render.thumbnailBytes)
      let prepared = render
      let fits = budget.reserve(needed) { [self] reservation in
        queue.proceed { [self] in
          carryOut(prepared, deliver)
          reservation.release()
        }
      }
      if !fits { throw .overBudget(needed: needed, budget: budget.capacityBytes) }
      goesOn = true
    }
  }

  /// The second step, with memory in hand.
  private func carryOut(_ render: Render, _ deliver: @escaping @Sendable (ImageDelivery) -> Void) {
    waiting.subtract(1, ordering: .relaxed)
    let task = render.task
    attempt(task, deliver) { () throws(ImageServiceError) in
      if task.request.deliveryMode != .highQualityFormat, !render.hasDegradedFrame,
        let frame = try degradedFrame(render)
      {
        if task.request.deliveryMode == .fastFormat { return deliver(.final(frame)) }
        deliver(.degraded(frame))
      }
      guard let plan = render.final else { preconditionFailure("a render without a plan") }
      var frame = try frame(plan, render, isDegraded: false)
      // Overwritten in place while it was read: its pixels may be half one picture and half another.
      guard render.source.isUnchanged else { throw .originalChanged }
      if !task.bypassesCaches && !frame.result.isIncomplete {
        frame.cached = cache.store(frame, for: RenditionKey(task.asset, task.request, source: .original))
      }
      deliver(.final(frame))
    }
  }

  /// A frame from a preview that needed a reservation, else from the original's own coefficients.
  private func degradedFrame(_ render: Render) throws(ImageServiceError) -> ImageFrame? {
    if render.thumbnailBytes > 0, let frame = thumbnailFrame(render) { return frame }
    guard let plan = render.degraded else { return nil }
    return try frame(plan, render, isDegraded: true)
  }

  /// The camera's own thumbnail as a frame; `nil` where there is none, none of this picture, or a damaged one.
  private func thumbnailFrame(_ render: Render) -> ImageFrame? {
    do throws(CodecError) {
      let image = try render.thumbnail?.render(
        for: render.task.request, of: render.header, in: render.source, transforms: transforms, limits: limits,
        stop: render.task.stop)
      return image.map { render.frame($0, isDegraded: true, source: .embedded) }
    } catch {
      logger.debug(
        "a thumbnail was not used",
        metadata: ["asset": "\(render.task.asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
  }

  private func frame(_ plan: RenderPlan, _ render: Render, isDegraded: Bool) throws(ImageServiceError) -> ImageFrame {
    let image = try codec { () throws(CodecError) in
      let renderer = try Renderer(
        plan, source: render.source, transforms: transforms, limits: limits, stop: render.task.stop)
      guard let image = try renderer.resume() else { throw .truncated(offset: render.source.size) }
      return image
    }
    for warnings in image.warnings { log(warnings, of: render.task) }
    return render.frame(image, isDegraded: isDegraded, source: .original)
  }

  private func log(_ warnings: CodecWarnings?, of task: ImageTask) {
    guard let warnings else { return }
    logger.info(
      "a codec warned",
      metadata: [
        "asset": "\(task.asset.localIdentifier)", "request": "\(task.requestID)", "library": "\(warnings.library)",
        "warnings": "\(warnings.count)", "first": "\(warnings.first)",
      ])
  }

  private func open(_ asset: Asset) throws(ImageServiceError) -> any ByteSource {
    do throws(OriginalStoreError) {
      return try store.open(asset.original)
    } catch {
      switch error {
      case .notFound: throw .originalMissing
      case .changed: throw .originalChanged
      case .failed(let error): throw .failed("\(error)")
      }
    }
  }

  private func codec<Value>(_ body: () throws(CodecError) -> Value) throws(ImageServiceError) -> Value {
    do throws(CodecError) {
      return try body()
    } catch {
      throw error == .stopped ? .cancelled : .codec(error)
    }
  }

  /// One step of a task: not begun when nobody waits any more, and ended by an error that is delivered.
  private func attempt(
    _ task: ImageTask, _ deliver: (ImageDelivery) -> Void, _ step: () throws(ImageServiceError) -> Void
  ) {
    do throws(ImageServiceError) {
      if task.stop.isRaised { throw .cancelled }
      try step()
    } catch {
      deliver(.failed(error))
    }
  }
}

/// What is known of a render between its steps.
private struct Render: Sendable {
  let task: ImageTask
  let source: any ByteSource
  let header: ImageHeader
  let waited: Duration
  /// What may be shown before the final frame.
  var thumbnail: EmbeddedThumbnail?
  var hasDegradedFrame = false
  var degraded: RenderPlan?
  var final: RenderPlan?

  /// What a frame from the thumbnail takes of the budget.
  var thumbnailBytes: Int { thumbnail?.peakBytes(for: task.request, of: header) ?? 0 }

  func frame(_ image: RenderedImage, isDegraded: Bool, source: ImageResult.Source) -> ImageFrame {
    var timings = StageTimings()
    timings[.queue] = waited
    timings[.read] = image.readTime
    timings[.decode] = image.decodeTime
    timings[.resize] = image.resizeTime
    timings[.encode] = image.encodeTime
    return ImageFrame(
      bytes: image.bytes, format: image.format,
      result: ImageResult(
        requestID: task.requestID, isDegraded: isDegraded, isIncomplete: image.isIncomplete, size: image.size,
        source: source),
      timings: timings)
  }
}
