// Frames from small pictures: the camera's thumbnail, a thumbnail in the picture's own codec, and stored derivatives.

import ImageCodec
import ImageRender
import PhotoModel

extension ImagePipeline {
  /// Delivers the camera's thumbnail to tasks that take the first frame, if it has the pixels that they need: a frame
  /// from a derivative costs two to five times as much. Returns true if the job has ended with it.
  func deliverThumbnail(of job: RenderJob, stepBegan began: ContinuousClock.Instant) -> Bool {
    guard quickFrames.mayServeThumbnail(job), jobs.wantsOnlyFirstFrame(job) else { return false }
    do throws(ImageServiceError) {
      guard let original = try open(job),
        let frame = quickFrames.sufficientThumbnail(of: job, original, stepBegan: began)
      else { return false }
      delivery.deliver(degraded: frame, job)
      return job.stop.isRaised
    } catch {
      // Without its original, the picture may still have derivatives.
      return false
    }
  }

  /// Delivers a degraded frame from a small source, if there is one. Returns an embedded preview that is too large for
  /// the quick lane.
  func deliverDegradedFrame(
    _ job: RenderJob, _ original: OpenedOriginal, stepBegan: ContinuousClock.Instant
  ) -> EmbeddedThumbnail? {
    switch quickFrames.degradedFrame(of: job, original, stepBegan: stepBegan) {
    case .frame(let frame):
      delivery.deliver(degraded: frame, job)
      return nil
    case .needsReservation(let thumbnail): return thumbnail
    case .unavailable: return nil
    }
  }

  /// Queues the render of a final frame from a thumbnail of the picture's own codec. If the thumbnail is damaged, the
  /// picture itself may be sound: then it is rendered.
  func queueThumbnail(
    _ job: RenderJob, _ plan: RenderPlan, _ original: OpenedOriginal, preview: EmbeddedThumbnail?
  ) {
    queueShortcut(job, bytes: plan.peakBytes, from: original.source) { [self] began throws(ImageServiceError) in
      let attributes = FrameAttributes(job, .preview, isDegraded: false, stepBegan: began)
      return try renderer.frame(plan, from: original.source, attributes, stop: job.stop)
    } orElse: { [self] () throws(ImageServiceError) in
      try queueRender(job, original.header, preview: preview)
    }
  }

  /// Queues the render of a final frame from a derivative, for formats whose encoder needs more memory than a quick
  /// worker has. If the derivative is damaged, the original is rendered.
  func queueDerivative(_ job: RenderJob, _ derivative: QuickFrames.DerivativePlan) {
    let source = derivative.source
    queueShortcut(job, bytes: derivative.peakBytes, from: source) { [self] began throws(ImageServiceError) in
      let attributes = FrameAttributes(
        job, .derivative, derivation: derivative.derivation, isDegraded: false, stepBegan: began)
      return try renderer.frame(derivative.plan, from: source, attributes, stop: job.stop)
    } orElse: { [self] () throws(ImageServiceError) in
      guard let original = try open(job) else { return try waitForOriginal(job, stepBegan: now()) }
      _ = jobs.originalOpened(job, original)
      try queueOriginal(job, original, preview: nil)
    }
  }
}
