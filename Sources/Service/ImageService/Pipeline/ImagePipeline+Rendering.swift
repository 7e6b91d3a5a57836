// The steps of a job in the render lane: a degraded frame if one is still wanted and quicker, then one decode for the
// final frame, the frames of siblings, and derivatives.

import ImageRender
import PhotoModel
import Primitives

extension ImagePipeline {
  func render(
    _ job: RenderJob, _ plans: RenderPlans, _ reservation: ByteBudget.Reservation
  ) throws(ImageServiceError) {
    guard let renderStart = jobs.renderStart(of: job) else { return }
    let began = now()
    if let frame = try degradedFrame(job, plans, renderStart, stepBegan: began).flatMap(cache.reservingMemory) {
      delivery.deliver(degraded: frame, job)
      if job.stop.isRaised { return }
    }
    let source = renderStart.original.source
    let shared = sharing.sharedRender(of: job, plans.final, renderStart.original.header, reservation)
    do throws(ImageServiceError) {
      // Several workers finish one picture sooner, but don't raise the throughput.
      let isUrgent = jobs.priority(of: job)?.isInteractive == true && !renderLane.hasOtherWork
      try renderer.render(
        shared.plan, from: source, of: job.asset, isUrgent: isUrgent, stops: shared.stops
      ) { member, result in
        pictureFinished(shared, member, result, source, stepBegan: began)
      }
    } catch {
      for member in shared.members { delivery.fail(member, error) }
    }
  }

  /// A degraded frame that needs a memory reservation. `nil` unless a task wants one that shows more than the degraded
  /// frame it already has.
  func degradedFrame(
    _ job: RenderJob, _ plans: RenderPlans, _ renderStart: JobTable.RenderStart, stepBegan: ContinuousClock.Instant
  ) throws(ImageServiceError) -> ImageFrame? {
    let demand = renderStart.degradedDemand
    if case .nothing = demand { return nil }
    if let preview = plans.preview {
      let attributes = FrameAttributes(job, .embedded, isDegraded: true, stepBegan: stepBegan)
      let frame = renderer.frame(preview, for: job.degradedRequest, renderStart.original, attributes, stop: job.stop)
      if let frame, demand.includes(frame.result.size) { return frame }
    }
    guard let plan = plans.degraded, demand.includes(plan.outputSize) else { return nil }
    let source = renderStart.original.source
    let isStandIn = plan.header.raw == nil && plan.header.storedSize != renderStart.original.header.storedSize
    guard isStandIn else {
      let attributes = FrameAttributes(job, plan.header.source, isDegraded: true, stepBegan: stepBegan)
      return try renderer.frame(plan, from: source, attributes, stop: job.stop)
    }
    // A smaller picture in the file: if it is damaged, the picture itself may still be sound.
    let attributes = FrameAttributes(job, .preview, isDegraded: true, stepBegan: stepBegan)
    return renderer.optionalFrame(plan, from: source, attributes, stop: job.stop)
  }

  /// One picture of a shared render is finished or has failed: it is stored, and its job ends.
  func pictureFinished(
    _ shared: SharedRender, _ member: Int, _ result: Result<RenderedImage, ImageServiceError>,
    _ source: any ByteSource, stepBegan: ContinuousClock.Instant
  ) {
    // The file may have been overwritten in place during the read, so its pixels may mix two pictures.
    let isSound = source.isUnchanged
    switch (shared.output(of: member), result) {
    case (.derivative(let rung), .success(let image)) where isSound && !image.isIncomplete:
      cache.store.store(image, as: rung, of: shared.jobs[0].asset)
    case (.derivative, _): break
    case (.frame(let job), .failure(let error)): delivery.fail(job, error)
    case (.frame(let job), .success) where !isSound: delivery.fail(job, .originalChanged)
    case (.frame(let job), .success(let image)):
      finish(job, shared.frame(image, for: job, stepBegan: stepBegan)) { shared.splitReservation($0) }
    }
  }

  /// Keeps a final frame in the caches and ends its job.
  ///
  /// - Parameter split: splits bytes off the render's reservation.
  func finish(_ job: RenderJob, _ frame: ImageFrame, split: (Int) -> ByteBudget.Reservation?) {
    var frame = frame
    if !job.bypassesCaches && !frame.result.isIncomplete { frame = cache.keep(frame, for: job.key.rendition) }
    // A frame in no cache keeps part of the render's reservation until it has been sent.
    if frame.memoryOwner == nil { frame.memoryOwner = split(frame.bytes.capacity) }
    delivery.finish(job, frame)
  }
}
