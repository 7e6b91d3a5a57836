// The steps of a job, each on the lane where it belongs. ImageManager and JobTable decide which jobs exist; this file
// does their work.
//
//     submit -> quick lane: openAndPlan
//                a derivative is good enough -> the final frame: done
//                open, read the header; preview: a derivative or a thumbnail -> degraded frame
//                plan, estimate memory -> 422, or into the render lane
//           -> render lane, with memory: render
//                a degraded frame from the original's coefficients, if none was delivered yet and one is quicker
//                one decode: the final frame, those of siblings that wait for the same original, derivatives for later
//
// A quick worker never holds more than `quickWorkerBytes`. The memory budget sets that amount aside permanently for
// each quick worker, so quick steps need no reservation. Steps that need more memory go to the render lane.

import ImageCodec
import ImageRender
import Logging
import PhotoModel
import Telemetry

package final class ImagePipeline: Sendable {
  /// The most memory that one worker of the quick lane may hold.
  package static let quickWorkerBytes = 4 << 20

  let cache: TieredFrameCache
  private let originals: OriginalStore
  let quickLane: WorkQueue
  private let renderLane: RenderLane
  private let budget: MemoryBudget
  let renderer: FrameRenderer
  let metrics: ImageMetrics
  private let logger: Logger
  let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - quickLane: runs steps of a few milliseconds, each within ``quickWorkerBytes``. Its queue needs no limit
  ///     because the number of jobs is limited.
  ///   - renderLane: runs the renders.
  ///   - budget: memory for renders, and for uncached frames while they are being sent.
  ///   - now: the clock; tests pass their own.
  package init(
    originals: OriginalStore, memory: FrameCache, store: FrameStore, quickLane: WorkQueue, renderLane: RenderLane,
    budget: MemoryBudget, limits: CodecLimits, metrics: ImageMetrics, logger: Logger,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.now = now
    self.metrics = metrics
    cache = TieredFrameCache(memory: memory, store: store, budget: budget)
    self.originals = originals
    self.quickLane = quickLane
    self.renderLane = renderLane
    self.budget = budget
    self.logger = logger
    renderer = FrameRenderer(limits: limits, logger: logger)
  }

  // MARK: Events from tasks

  /// Starts the first step of a new job.
  func submit(_ job: RenderJob, in jobs: JobTable) {
    let isAccepted = quickLane.submit { [self] in
      runStep(job, jobs) { () throws(ImageServiceError) in try openAndPlan(job, jobs) }
    }
    if !isAccepted { fail(job, jobs, .queueFull) }
  }

  /// Runs the first step of a new job immediately. The caller must already be on a quick worker.
  func runNow(_ job: RenderJob, in jobs: JobTable) {
    runStep(job, jobs) { () throws(ImageServiceError) in try openAndPlan(job, jobs) }
  }

  /// A task joined an existing job.
  func taskJoined(_ job: RenderJob, in jobs: JobTable, needsPreview: Bool) {
    if case (let ticket?, let priority)? = jobs.ticketAndPriority(of: job) {
      renderLane.setPriority(priority, of: ticket)
    }
    guard needsPreview, let original = jobs.original(of: job) else { return }
    // The waiting tasks get their final frame in any case: if the queue is full, they only miss a degraded frame.
    _ = quickLane.submit { [self] in _ = preview(job, original, jobs, stepBegan: now()) }
  }

  /// A task left its job.
  func taskLeft(_ result: JobTable.LeaveResult) {
    switch result {
    case .stillNeeded(let ticket?, let priority): renderLane.setPriority(priority, of: ticket)
    case .cancelled(let ticket?, _): renderLane.withdraw(ticket)
    case .stillNeeded(nil, _), .cancelled(nil, _), .notFound: break
    }
  }

  /// How a final frame that is in no cache would be made now.
  func expectedDerivation(of asset: Asset, _ request: ImageRequest) -> Derivation {
    let rung = renderer.ladder.rung(for: request, upright: asset.pixelSize, hasAlpha: asset.hasAlpha)
    guard let rung, let derivative = cache.store.derivative(rung, of: asset) else { return .original }
    return .derivative(side: rung.side, eighths: derivative.eighths)
  }

  // MARK: The quick lane

  private func openAndPlan(_ job: RenderJob, _ jobs: JobTable) throws(ImageServiceError) {
    let began = now()
    if !job.bypassesCaches, let frame = fromDerivative(job, stepBegan: began) { return finish(job, jobs, frame) }
    let original: OpenedOriginal
    if let shared = jobs.sharedOriginal(for: job) { original = shared } else { original = try open(job) }
    let large = jobs.originalOpened(job, original) ? preview(job, original, jobs, stepBegan: began) : nil
    // All tasks that wanted only a preview may have left by now.
    if job.stop.isRaised { return }
    let plans = RenderPlans(
      final: renderer.planner.plan(original.header, job.request),
      degraded: renderer.planner.degradedPlan(original.header, job.request), preview: large)
    let largeBytes = large?.peakBytes(for: job.request, of: original.header) ?? 0
    let needed = max(plans.final.peakBytes, plans.degraded?.peakBytes ?? 0, largeBytes)
    guard needed <= renderLane.capacityBytes else {
      throw .overBudget(needed: needed, budget: renderLane.capacityBytes)
    }
    let priority = jobs.ticketAndPriority(of: job)?.priority ?? .normal
    job.addWorkTime(began.duration(to: now()))
    let ticket = renderLane.submit(priority, bytes: needed) { [self] reservation in
      runStep(job, jobs) { () throws(ImageServiceError) in try render(job, plans, reservation, jobs) }
    }
    guard let current = jobs.renderQueued(job, ticket) else { return _ = renderLane.withdraw(ticket) }
    if current != priority { renderLane.setPriority(current, of: ticket) }
  }

  private func open(_ job: RenderJob) throws(ImageServiceError) -> OpenedOriginal {
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(job.asset.original)
    } catch {
      throw ImageServiceError(error)
    }
    let header = try renderer.header(of: source)
    renderer.log(header.warnings, of: job.asset)
    return OpenedOriginal(source: source, header: header)
  }

  /// The final frame from the smallest derivative that has enough detail; `nil` if there is none or it can't be used.
  private func fromDerivative(_ job: RenderJob, stepBegan: ContinuousClock.Instant) -> ImageFrame? {
    let rung = renderer.ladder.rung(for: job.request, upright: job.asset.pixelSize, hasAlpha: job.asset.hasAlpha)
    guard let frame = rung.flatMap({ derivative($0, job, isDegraded: false, stepBegan: stepBegan) }) else { return nil }
    return cache.reservingMemory(for: cache.keep(frame, for: job.key.rendition))
  }

  /// A frame from a stored derivative. A damaged derivative is treated as missing.
  private func derivative(
    _ rung: DerivativeLadder.Rung, _ job: RenderJob, isDegraded: Bool, stepBegan: ContinuousClock.Instant
  ) -> ImageFrame? {
    guard let derivative = cache.store.derivative(rung, of: job.asset) else { return nil }
    let attributes = FrameAttributes(
      job, .derivative, derivation: .derivative(side: rung.side, eighths: derivative.eighths),
      isDegraded: isDegraded, stepBegan: stepBegan)
    do throws(ImageServiceError) {
      let source = MemoryByteSource(derivative.bytes)
      let header = try renderer.header(of: source)
      if isDegraded, DerivativeLadder.canServeUnchanged(header, for: job.request, upright: job.asset.pixelSize) {
        return attributes.frame(asItIs: derivative.bytes, header.storedSize, job.request.format)
      }
      let plan = renderer.planner.derivativePlan(header, of: job.asset.pixelSize, job.request)
      guard plan.peakBytes + derivative.bytes.count <= Self.quickWorkerBytes else { return nil }
      return try renderer.frame(plan, from: source, attributes, stop: job.stop)
    } catch {
      logger.debug(
        "a derivative was not used",
        metadata: [
          "asset": "\(job.asset.localIdentifier)", "side": "\(rung.side)", "reason": "\(error)",
        ])
      return nil
    }
  }

  /// Delivers a degraded frame from a small source: a derivative, or the camera's embedded thumbnail. Returns an
  /// embedded preview that is too large for the quick lane.
  private func preview(
    _ job: RenderJob, _ original: OpenedOriginal, _ jobs: JobTable, stepBegan: ContinuousClock.Instant
  ) -> EmbeddedThumbnail? {
    if job.stop.isRaised { return nil }
    if !job.bypassesCaches, let rung = degradedRung(job),
      let frame = derivative(rung, job, isDegraded: true, stepBegan: stepBegan).flatMap(cache.reservingMemory)
    {
      deliver(degraded: frame, job, jobs)
      return nil
    }
    let thumbnail = EmbeddedThumbnail.best(
      for: job.request, of: original.header, in: original.source, limits: renderer.limits)
    guard let thumbnail, thumbnail.peakBytes(for: job.request, of: original.header) == 0 else { return thumbnail }
    let attributes = FrameAttributes(job, .embedded, isDegraded: true, stepBegan: stepBegan)
    let frame = renderer.frame(thumbnail, for: job.request, original, attributes, stop: job.stop)
    if let frame = frame.flatMap(cache.reservingMemory) { deliver(degraded: frame, job, jobs) }
    return nil
  }

  private func degradedRung(_ job: RenderJob) -> DerivativeLadder.Rung? {
    let upright = job.asset.pixelSize
    let available = renderer.ladder.rungs(of: upright).filter { cache.store.hasDerivative($0, of: job.asset) }
    return renderer.ladder.degradedRung(among: available, for: job.request, upright: upright)
  }

  // MARK: The render lane

  /// The frames that one render may make.
  private struct RenderPlans: Sendable {
    let final: RenderPlan
    /// From the original's coefficients; `nil` if that is no quicker than the final frame.
    let degraded: RenderPlan?
    /// The camera's embedded preview, if it is so large that it needs a memory reservation.
    let preview: EmbeddedThumbnail?
  }

  private func render(
    _ job: RenderJob, _ plans: RenderPlans, _ reservation: MemoryBudget.Reservation, _ jobs: JobTable
  ) throws(ImageServiceError) {
    guard let renderStart = jobs.renderBegan(job) else { return }
    let began = now()
    if let frame = try degradedFrame(job, plans, renderStart, stepBegan: began).flatMap(cache.reservingMemory) {
      deliver(degraded: frame, job, jobs)
      if job.stop.isRaised { return }
    }
    let shared = makeSharedRender(job, plans.final, renderStart.original.header, reservation, jobs)
    do throws(ImageServiceError) {
      try renderer.render(shared.plan, from: renderStart.original.source, of: job.asset, stops: shared.stops) {
        member, result in
        pictureFinished(shared, member, result, renderStart.original.source, jobs, stepBegan: began)
      }
    } catch {
      for member in shared.members { fail(member, jobs, error) }
    }
  }

  /// A degraded frame that needs a memory reservation. `nil` unless a task wants one that shows more than the degraded
  /// frame it already has.
  private func degradedFrame(
    _ job: RenderJob, _ plans: RenderPlans, _ renderStart: JobTable.RenderStart, stepBegan: ContinuousClock.Instant
  ) throws(ImageServiceError) -> ImageFrame? {
    guard let shown = renderStart.degradedWiderThan else { return nil }
    if let preview = plans.preview {
      let attributes = FrameAttributes(job, .embedded, isDegraded: true, stepBegan: stepBegan)
      let frame = renderer.frame(preview, for: job.request, renderStart.original, attributes, stop: job.stop)
      if let frame, frame.result.size.width > shown { return frame }
    }
    guard let plan = plans.degraded, plan.outputSize.width > shown else { return nil }
    let attributes = FrameAttributes(job, .original, isDegraded: true, stepBegan: stepBegan)
    return try renderer.frame(plan, from: renderStart.original.source, attributes, stop: job.stop)
  }

  // MARK: Shared decodes

  /// The results of one decode: frames for jobs, then derivatives.
  private struct SharedRender {
    let plan: SharedPlan
    /// The plan's requests are numbered in this order: first the jobs (some may not be in the plan), then the rungs.
    let jobs: [RenderJob]
    let rungs: [DerivativeLadder.Rung]
    /// The first job's reservation, and the extra memory that its siblings and the derivatives need.
    let reservations: [MemoryBudget.Reservation]

    /// The jobs that are in the plan.
    var members: [RenderJob] { plan.members.filter { $0.request < jobs.count }.map { jobs[$0.request] } }

    /// One flag for each member of the plan. Derivatives are made as long as at least one job is still needed.
    var stops: [StopFlag] {
      let all = StopFlag(allOf: members.map(\.stop))
      return plan.members.map { $0.request < jobs.count ? jobs[$0.request].stop : all }
    }

    /// Splits off memory for a frame that is still to be sent.
    func splitReservation(_ bytes: Int) -> MemoryBudget.Reservation? {
      reservations.max { $0.bytes < $1.bytes }?.split(off: bytes)
    }
  }

  /// Adds siblings and derivatives to a job's render. Siblings are jobs that wait for the same original and cost less
  /// in the same decode; derivatives are added when the decode makes them cheap. If there is not enough memory for all
  /// of that now, only the job itself is rendered.
  private func makeSharedRender(
    _ job: RenderJob, _ plan: RenderPlan, _ header: ImageHeader, _ reservation: MemoryBudget.Reservation,
    _ jobs: JobTable
  ) -> SharedRender {
    let alone = SharedRender(plan: SharedPlan(plan), jobs: [job], rungs: [], reservations: [reservation])
    guard !job.bypassesCaches else { return alone }
    let siblings = jobs.siblings(of: job)
    let rungs =
      cache.store.isEnabled
      ? renderer.ladder.rungs(of: job.asset.pixelSize).filter { !cache.store.hasDerivative($0, of: job.asset) } : []
    let extras = rungs.map { renderer.ladder.request(for: $0, of: job.asset.pixelSize, hasAlpha: job.asset.hasAlpha) }
    let candidates = [job] + siblings.map(\.job)
    let wished = renderer.planner.sharedPlan(header, candidates.map(\.request), extras: extras)
    guard wished.members.count > 1, let more = budget.tryReserve(max(0, wished.peakBytes - reservation.bytes)) else {
      return alone
    }
    // A sibling that another worker has just started is rendered there.
    let plan = wished.keeping { member in
      guard (1..<candidates.count).contains(member.request) else { return true }
      return renderLane.withdraw(siblings[member.request - 1].ticket)
    }
    let shared = SharedRender(plan: plan, jobs: candidates, rungs: rungs, reservations: [reservation, more])
    for sibling in shared.members.dropFirst() { jobs.sharedRenderBegan(sibling) }
    if shared.members.count > 1 { metrics.decodeShared(frames: shared.members.count - 1) }
    return shared
  }

  /// One picture of a shared render is finished or has failed.
  private func pictureFinished(
    _ shared: SharedRender, _ member: Int, _ result: Result<RenderedImage, ImageServiceError>, _ source: any ByteSource,
    _ jobs: JobTable, stepBegan: ContinuousClock.Instant
  ) {
    let request = shared.plan.members[member].request
    // The file may have been overwritten in place during the read, so its pixels may mix two pictures.
    let isSound = source.isUnchanged
    guard request < shared.jobs.count else {
      if case .success(let image) = result, isSound, !image.isIncomplete {
        cache.store.store(image, as: shared.rungs[request - shared.jobs.count], of: shared.jobs[0].asset)
      }
      return
    }
    let job = shared.jobs[request]
    switch result {
    case .failure(let error): fail(job, jobs, error)
    case .success where !isSound: fail(job, jobs, .originalChanged)
    case .success(let image):
      let alone = RenderPlanner.eighths(
        SizeRules(job.request, upright: job.asset.pixelSize), of: shared.plan.header.format)
      var frame = FrameAttributes(
        job, .original, derivation: Derivation(decodedEighths: image.decodedEighths, alone: alone), isDegraded: false,
        stepBegan: stepBegan
      ).frame(image)
      if !job.bypassesCaches && !frame.result.isIncomplete { frame = cache.keep(frame, for: job.key.rendition) }
      // A frame in no cache keeps part of the render's reservation until it has been sent.
      if frame.bytesOwner == nil { frame.bytesOwner = shared.splitReservation(frame.bytes.capacity) }
      finish(job, jobs, frame)
    }
  }

  // MARK: Deliveries

  private func deliver(degraded frame: ImageFrame, _ job: RenderJob, _ jobs: JobTable) {
    metrics.delivered(frame)
    for task in jobs.degradedFrameReady(job, frame) where task.receive(degraded: frame) { taskLeft(jobs.leave(task)) }
  }

  private func finish(_ job: RenderJob, _ jobs: JobTable, _ frame: ImageFrame) {
    metrics.delivered(frame)
    let tasks = jobs.jobEnded(job)
    // Interactive tasks joined a job that also prepares the frame: mark the frame as used, because a caching manager
    // counts uses.
    if let cached = frame.cached, tasks.contains(where: { !$0.priority.isInteractive }),
      tasks.contains(where: \.priority.isInteractive)
    {
      cached.markUsed()
    }
    for task in tasks { task.finish(.final(frame)) }
  }

  private func fail(_ job: RenderJob, _ jobs: JobTable, _ error: ImageServiceError) {
    for task in jobs.jobEnded(job) { task.finish(.failed(error)) }
  }

  /// Runs one step of a job. The step is skipped if the job was cancelled; an error ends the job for all its tasks.
  private func runStep(_ job: RenderJob, _ jobs: JobTable, _ step: () throws(ImageServiceError) -> Void) {
    do throws(ImageServiceError) {
      if job.stop.isRaised { return }
      try step()
    } catch {
      fail(job, jobs, error)
    }
  }
}
