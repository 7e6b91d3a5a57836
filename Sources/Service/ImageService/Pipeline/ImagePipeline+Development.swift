// Final frames that are developed from the sensor data of a RAW file, because its previews have too few pixels or another
// aspect ratio. That takes a second or more, so the largest preview is the degraded frame; and if it fails, because the
// camera is not supported, the file is damaged, or there is not enough memory, the preview is the last frame, and
// degraded.

import ImageCodec
import ImageRender
import Primitives

extension ImagePipeline {
  /// Queues the render of a final frame from the original's sensor data, if that is needed and there can be enough
  /// memory, else from the picture that its header describes.
  func queueOriginal(
    _ job: RenderJob, _ original: OpenedOriginal, preview: EmbeddedThumbnail?
  ) throws(ImageServiceError) {
    if let plan = renderer.planner.developmentPlan(original.header, job.wanted) {
      let shown = renderer.planner.plan(original.header, job.degradedRequest)
      let plans = RenderPlans(job, original.header, final: plan, degraded: shown, preview: preview)
      if plans.peakBytes <= renderCapacityBytes { return queueDevelopment(job, plans, original) }
    }
    try queueRender(job, original.header, preview: preview)
  }

  private func queueDevelopment(_ job: RenderJob, _ plans: RenderPlans, _ original: OpenedOriginal) {
    queue(job, bytes: plans.peakBytes) { [self] reservation throws(ImageServiceError) in
      guard let renderStart = jobs.renderStart(of: job) else { return }
      let began = now()
      do throws(ImageServiceError) {
        let degraded = try degradedFrame(job, plans, renderStart, stepBegan: began)
        if let frame = degraded.flatMap(cache.reservingMemory) { delivery.deliver(degraded: frame, job) }
        if job.stop.isRaised { return }
        try develop(job, plans, original, reservation, stepBegan: began)
      } catch {
        guard case .codec(let reason) = error, reason.isOfFile || reason.isOfMissingDecoder else {
          throw error
        }
        job.addWorkTime(began.duration(to: now()))
        try queueRender(job, original.header, preview: nil)
      }
    }
  }

  /// Develops the final frame, and derivatives for later.
  private func develop(
    _ job: RenderJob, _ plans: RenderPlans, _ original: OpenedOriginal, _ reservation: ByteBudget.Reservation,
    stepBegan: ContinuousClock.Instant
  ) throws(ImageServiceError) {
    let shared = sharing.development(of: job, plans.final, original.header, reservation)
    var failure: ImageServiceError?
    try renderer.render(
      shared.plan, from: original.source, of: job.asset, isUrgent: false, stops: shared.stops
    ) { member, result in
      if case .frame = shared.output(of: member), case .failure(let error) = result {
        failure = error
      } else {
        pictureFinished(shared, member, result, original.source, stepBegan: stepBegan)
      }
    }
    if let failure { throw failure }
  }
}
