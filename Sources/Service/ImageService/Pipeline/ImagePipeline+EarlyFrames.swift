// Frames from an original that is still being downloaded, so that work and network overlap. Nothing here waits for
// bytes:
//
//     bytesArrived, on the downloads' queue, again and again
//       on photod.quick, when enough bytes have been received: the header
//         an embedded thumbnail -> degraded frame, if there is none yet
//         a progressive JPEG, when its scans with the DC coefficients have been received -> degraded frame, on
//             photod.render
//         a JPEG: an EarlyRender begins -> its slices, on photod.render
//     continueEarlyRender, when the download is verified: the last slice -> final frames
//
// Degraded frames of bytes that turn out to be wrong are followed by an error, or by the final frame if the right bytes
// took their place. A final frame is made only of bytes that have been verified, so an EarlyRender keeps its pictures
// until then.

import ImageCodec
import ImageRender
import PhotoModel

extension ImagePipeline {
  /// Smaller originals arrive too quickly to be worth an early frame.
  private static let minimumOriginalBytes: Int64 = 256 << 10

  /// More bytes of a job's original have been received. Returns quickly.
  func bytesArrived(_ source: any ArrivingSource, _ job: RenderJob) {
    let share = source.availableShare
    for task in jobs.downloadProgressed(job, share) { task.receive(progress: share) }
    guard earlyRenders.limit > 0 else { return }
    if let render = earlyRenders.render(of: job) { proceed(render, render.bytesArrived()) }
    guard let early = jobs.earlyStepBegins(job, source) else { return }
    // If the queue is full, tasks only miss early frames.
    _ = quickLane.submit { [self] in earlySteps(job, source, early) }
  }

  /// The next steps of a job for which there are enough bytes.
  private func earlySteps(_ job: RenderJob, _ source: any ArrivingSource, _ first: EarlyProgress) {
    let began = now()
    var next: EarlyProgress? = first
    while var early = next, !job.stop.isRaised {
      earlyStep(job, source, &early, stepBegan: began)
      jobs.earlyStepEnded(job, early)
      next = jobs.earlyStepBegins(job, source)
    }
    job.addWorkTime(began.duration(to: now()))
  }

  private func earlyStep(
    _ job: RenderJob, _ source: any ArrivingSource, _ early: inout EarlyProgress, stepBegan: ContinuousClock.Instant
  ) {
    guard let header = early.header else {
      // The source reads as if the file ended where the bytes end, so an incomplete header is an error.
      guard let header = try? renderer.header(of: source) else { return early.headerIncomplete() }
      early.headerRead(header)
      if case .any = jobs.degradedDemand(of: job),
        let frame = quickFrames.localFrame(of: job, head: { source }, stepBegan: stepBegan)
      {
        delivery.deliver(degraded: frame, job)
      }
      return beginEarlyRender(job, header, source)
    }
    guard let plan = renderer.planner.degradedPlan(header, job.degradedRequest),
      jobs.degradedDemand(of: job).includes(plan.outputSize), plan.peakBytes <= renderLane.capacityBytes
    else { return early.scansNotWanted() }
    let available = source.availableBytes
    guard (try? early.scans.advance(in: source)) != nil, early.scans.completeScans >= early.neededScans else {
      return early.scansIncomplete(available, of: source.size)
    }
    early.scansUsed()
    queueEarlyFrame(job, plan, source)
  }

  /// Queues a degraded frame from the DC coefficients that have been received. It needs the memory of all coefficients.
  private func queueEarlyFrame(_ job: RenderJob, _ plan: RenderPlan, _ source: any ArrivingSource) {
    let priority = jobs.priority(of: job) ?? .normal
    let ticket = renderLane.submit(priority, bytes: plan.peakBytes, for: job.caller) { [self] _ in
      guard !job.stop.isRaised, jobs.stage(job.key) == .downloading else { return }
      let attributes = FrameAttributes(job, .network, isDegraded: true, stepBegan: now())
      let frame = renderer.optionalFrame(plan, from: source, attributes, stop: job.stop)
      if let frame = frame.flatMap(cache.reservingMemory) { delivery.deliver(degraded: frame.inCloud, job) }
    }
    // Tasks may have joined or left before the ticket was recorded.
    guard jobs.earlyFrameQueued(job, ticket), delivery.applyPriority(of: job) == ticket else {
      return _ = renderLane.withdraw(ticket)
    }
    shareTurn(ticket, of: job)
  }

  // MARK: Final frames

  private func beginEarlyRender(_ job: RenderJob, _ header: ImageHeader, _ source: any ArrivingSource) {
    guard mayBeginEarly(job, header, source) else { return }
    let siblings = jobs.downloadSiblings(of: job, delaying: sharing.waitingCallers(at: job)).filter {
      mayBeginEarly($0, header, source)
    }
    guard
      let (plan, members, rungs) = sharing.earlyRender(
        of: job, with: siblings, header, maximumBytes: earlyRenders.availableBytes)
    else { return }
    let render = EarlyRender(plan, members, rungs, source: source)
    guard earlyRenders.insert(render) else { return }
    queueSlice(render, bytes: plan.peakBytes)
    // Its jobs may have ended before it was inserted.
    earlyRenders.dropAbandoned()
  }

  /// Whether a render that begins before the file is complete gives the same picture as one of the complete file, at
  /// about the same cost.
  private func mayBeginEarly(_ job: RenderJob, _ header: ImageHeader, _ source: any ArrivingSource) -> Bool {
    // A gain map comes after the picture. A JPEG XL may be made of the file's own coefficients.
    guard source.size >= Self.minimumOriginalBytes, header.format == .jpeg, header.raw == nil,
      !job.asset.mayHaveGainMap, !job.wanted.request.isAnimated, job.wanted.request.format != .jxl
    else { return false }
    // While bytes may be missing, what is not shown is decoded too.
    let plan = renderer.planner.plan(header, job.wanted)
    let shown = plan.region.width * plan.region.height
    guard shown * 2 >= Double(header.storedSize.pixelCount) else { return false }
    let pass = TilePass(header, minimumPixels: quickFrames.minimumTiledPixels)
    return pass?.grid.tile(of: job.wanted) == nil
  }

  private func queueSlice(_ render: EarlyRender, bytes: Int) {
    let priority = render.jobs.compactMap { jobs.priority(of: $0) }.max() ?? .normal
    let ticket = renderLane.makeTicket()
    render.sliceQueued(as: ticket)
    renderLane.submit(priority, bytes: bytes, for: render.jobs.first?.caller ?? "", as: ticket) { [self] memory in
      guard render.sliceBegan(memory) else { return }
      let next = render.runSlice(renderer)
      if case .wait = next { earlyRenders.suspended() }
      proceed(render, next)
    }
    for job in render.jobs { prioritize(ticket, for: job) }
  }

  private func proceed(_ render: EarlyRender, _ next: EarlyRender.CallerAction) {
    switch next {
    case .wait: break
    case .queueSlice: queueSlice(render, bytes: 0)
    case .dropped(let jobs):
      earlyRenders.drop(render)
      for (job, original) in jobs { renderFromCompleteOriginal(job, original) }
    case .finished(let pictures):
      earlyRenders.finished(render)
      deliver(pictures)
    }
  }

  /// The download of a job's original is verified: ends the render that has begun with its first bytes. Returns false
  /// if there is none, or if it has read another header or other bytes than the complete file has.
  func continueEarlyRender(of job: RenderJob, _ original: OpenedOriginal) -> Bool {
    guard let render = earlyRenders.render(of: job) else { return false }
    guard render.plan.header == original.header, render.source.isUnchanged else {
      earlyRenders.drop(render)
      return false
    }
    proceed(render, render.originalVerified((job, original)))
    return true
  }

  /// Delivers pictures as other renders do.
  private func deliver(_ pictures: EarlyRender.Pictures) {
    let began = now()
    var delivered: [RenderJob] = []
    for (member, image) in pictures.images {
      let output = pictures.shared.output(of: member)
      for warnings in image.warnings { renderer.log(warnings, of: pictures.shared.jobs[0].asset) }
      if case .frame(let job) = output {
        job.hasDownloaded.store(true, ordering: .relaxed)
        delivered.append(job)
      }
      pictureFinished(
        pictures.shared, member, .success(image), pictures.verified[0].original.source, stepBegan: began)
    }
    for (job, original) in pictures.verified where !delivered.contains(where: { $0 === job }) {
      renderFromCompleteOriginal(job, original)
    }
  }

  private func renderFromCompleteOriginal(_ job: RenderJob, _ original: OpenedOriginal) {
    queueQuickStep(job) { [self] () throws(ImageServiceError) in try plan(job, original, stepBegan: now()) }
  }
}
