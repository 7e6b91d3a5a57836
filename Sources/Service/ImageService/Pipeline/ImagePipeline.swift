// The steps of a job, each on the lane where it belongs, in the order in which they happen.
//
//     start -> JobTable: the task joins a job, or begins one
//     openAndPlan, on the quick lane
//         the frame was cached since the request looked into the caches: done
//         the camera's thumbnail is all that is wanted, and has the pixels: done (ImagePipeline+SmallPictures)
//         a derivative is good enough -> the final frame: done; in the render lane if its encoder is a worker
//         the derivative may be in the shared store: ImagePipeline+SharedDerivatives, then the first step again
//         a JPEG XL of a finished JPEG -> transcoded in the render lane (ImagePipeline+Transcoding)
//         open the original, read its header; if it is in the cloud: ImagePipeline+Downloads, then on from here;
//             meanwhile ImagePipeline+EarlyFrames makes frames of the bytes that have been received
//         a derivative or a thumbnail -> degraded frame (ImagePipeline+SmallPictures)
//         a RAW file whose previews are too small: develop the sensor data, in the render lane (ImagePipeline+Development)
//         plan, estimate memory -> 422, or into the render lane
//     render, on the render lane with its memory (ImagePipeline+Rendering)
//         a degraded frame from the original's coefficients, if none was delivered yet and one is quicker
//         one decode: the final frame, those of siblings that wait for the same original, derivatives for later
//
// This file only puts the steps in order. QuickFrames and FrameRenderer make the frames, DecodeSharing decides what one
// decode makes, JobDelivery hands frames and errors to the tasks.
//
// A quick worker never holds more than `quickWorkerBytes`. The memory budget sets that amount aside permanently for
// each quick worker, so quick steps need no reservation. Steps that need more memory go to the render lane.

import ImageCodec
import ImageRender
import Logging
import PhotoModel
import Primitives
import Telemetry

package final class ImagePipeline: Sendable {
  /// The most memory that one worker of the quick lane may hold.
  package static let quickWorkerBytes = 4 << 20

  let jobs: JobTable
  let cache: TieredFrameCache
  let quickFrames: QuickFrames
  let quickLane: WorkQueue
  let metrics: ImageMetrics
  let now: @Sendable () -> ContinuousClock.Instant
  let originals: OriginalStore
  let renderLane: RenderLane
  let renderer: FrameRenderer
  let sharing: DecodeSharing
  let tilePasses = TilePasses()
  let earlyRenders: EarlyRenders
  let delivery: JobDelivery

  /// - Parameters:
  ///   - quickLane: runs steps of a few milliseconds, each within ``quickWorkerBytes``. Its queue needs no limit
  ///     because the number of jobs is limited.
  ///   - renderLane: runs the renders.
  ///   - budget: memory for renders, and for uncached frames while they are being sent.
  ///   - maximumWaitingJobs: maximum number of jobs whose render has not begun; further jobs are refused.
  ///   - maximumEarlyRenders: renders that may begin before their original is completely downloaded. 0: originals are
  ///     not read before that.
  ///   - minimumTiledPixels: pixels of a picture whose tiles are made together.
  ///   - workers: decode formats whose decoder runs in a process of its own; `nil` if there are none.
  ///   - now: the clock; tests pass their own.
  package init(
    originals: OriginalStore, memory: FrameCache, store: FrameStore, quickLane: WorkQueue, renderLane: RenderLane,
    budget: ByteBudget, maximumWaitingJobs: Int = 1024, maximumEarlyRenders: Int = 4,
    minimumTiledPixels: Int = TilePass.minimumPixels, limits: CodecLimits,
    workers: (any CodedPictureDecoder)? = nil, metrics: ImageMetrics, logger: Logger,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.originals = originals
    self.quickLane = quickLane
    self.renderLane = renderLane
    self.metrics = metrics
    self.now = now
    jobs = JobTable(maximumWaiting: maximumWaitingJobs)
    cache = TieredFrameCache(memory: memory, store: store, budget: budget)
    renderer = FrameRenderer(limits: limits, workers: workers, logger: logger)
    quickFrames = QuickFrames(
      cache: cache, renderer: renderer, maximumBytes: Self.quickWorkerBytes, minimumTiledPixels: minimumTiledPixels,
      logger: logger)
    sharing = DecodeSharing(
      jobs: jobs, cache: cache, renderer: renderer, renderLane: renderLane, budget: budget, metrics: metrics)
    earlyRenders = EarlyRenders(
      limit: maximumEarlyRenders, maximumBytes: renderLane.capacityBytes / 2, renderLane: renderLane, metrics: metrics)
    delivery = JobDelivery(
      jobs: jobs, renderLane: renderLane, earlyRenders: earlyRenders, tilePasses: tilePasses, metrics: metrics)
  }

  // MARK: Tasks

  /// Adds a task to the job that makes its frame, and starts the job if it is new.
  ///
  /// - Parameters:
  ///   - isOnQuickWorker: the caller runs on a quick worker. The first step of a new job then runs before this returns.
  ///   - isLastStep: nothing of the caller's work follows. The first step of a new job may then run on its thread.
  ///   - afterJoining: called when the task is in the table, before any step runs for it.
  func start(
    _ task: ImageTask, isOnQuickWorker: Bool = false, isLastStep: Bool = false, afterJoining: () -> Void = {}
  ) {
    let joined = jobs.join(task)
    afterJoining()
    switch joined {
    case .queueFull: task.finish(.failed(.queueFull))
    case .inCloud(let degraded): finishInCloud(task, degraded)
    case .newJob(let job):
      metrics.jobBegan()
      if isOnQuickWorker { runFirstStep(of: job) } else { queueFirstStep(of: job, isLastStep: isLastStep) }
    case .existingJob(let job, let degraded, let needsDegradedFrame):
      // The metric counts requests: preparations are not in it.
      if task.priority.isInteractive { metrics.taskCoalesced() }
      taskJoined(job, task, needsDegradedFrame: needsDegradedFrame)
      if let degraded, task.receive(degraded: degraded) { leave(task) }
    }
  }

  /// Takes a task out of its job. Work that no other task waits for stops soon.
  ///
  /// - Parameter isExpired: whether the task has reached its deadline.
  /// - Returns: whether this stopped a render that had begun.
  @discardableResult
  func leave(_ task: ImageTask, isExpired: Bool = false) -> Bool { delivery.leave(task, isExpired: isExpired) }

  private func taskJoined(_ job: RenderJob, _ task: ImageTask, needsDegradedFrame: Bool) {
    if let ticket = delivery.applyPriority(of: job) { renderLane.share(ticket, with: task.caller) }
    // A tile pass and an early render work for several jobs, so their tickets are not in the job table.
    if let pass = tilePasses.ticket(of: job) { prioritize(pass, for: job) }
    if let slice = earlyRenders.render(of: job)?.slice { prioritize(slice, for: job) }
    if jobs.needsUrgentDownload(job) { downloadOriginal(of: job, isUrgent: true) }
    guard needsDegradedFrame, let original = jobs.original(of: job) else { return }
    // The waiting tasks get their final frame in any case: if the queue is full, they only miss a degraded frame.
    _ = quickLane.submit { [self] in _ = deliverDegradedFrame(job, original, stepBegan: now()) }
  }

  // MARK: The quick lane

  private func runFirstStep(of job: RenderJob) {
    runStep(job) { () throws(ImageServiceError) in try openAndPlan(job) }
  }

  /// Queues the first step, also of a job that has waited for its derivatives.
  ///
  /// - Parameter isLastStep: as in ``queueQuickStep(_:isLastStep:_:)``.
  func queueFirstStep(of job: RenderJob, isLastStep: Bool = false) {
    queueQuickStep(job, isLastStep: isLastStep) { [self] () throws(ImageServiceError) in try openAndPlan(job) }
  }

  private func openAndPlan(_ job: RenderJob) throws(ImageServiceError) {
    let began = now()
    if let frame = frameInMemory(of: job) { return delivery.finish(job, frame) }
    if deliverThumbnail(of: job, stepBegan: began) { return }
    if let frame = quickFrames.finalFrame(of: job, stepBegan: began) { return delivery.finish(job, frame) }
    if let jpeg = cachedJPEG(of: job) {
      return queueTranscoding(job, jpeg) { [self] () throws(ImageServiceError) in
        try planDecode(job, stepBegan: now())
      }
    }
    try planDecode(job, stepBegan: began)
  }

  /// A job's final frame, if an earlier job has ended with it after this job's request looked into the caches.
  private func frameInMemory(of job: RenderJob) -> ImageFrame? {
    guard !job.bypassesCaches, let cached = cache.memory.peekFrame(for: job.key.rendition) else { return nil }
    // A preparation is not a use.
    if jobs.priority(of: job)?.isInteractive == true { cached.markUsed() }
    return ImageFrame(cached)
  }

  /// The rest of the first step, if something must be decoded: a derivative or the original.
  private func planDecode(
    _ job: RenderJob, stepBegan began: ContinuousClock.Instant
  ) throws(ImageServiceError) {
    if let derivative = quickFrames.derivativePlan(of: job), derivative.peakBytes <= renderLane.capacityBytes {
      return queueDerivative(job, derivative)
    }
    if waitForSharedDerivatives(job, stepBegan: began) { return }
    guard let original = try open(job) else { return try waitForOriginal(job, stepBegan: began) }
    try plan(job, original, stepBegan: began)
  }

  /// The rest of the first step, with the original open.
  func plan(
    _ job: RenderJob, _ original: OpenedOriginal, stepBegan began: ContinuousClock.Instant
  ) throws(ImageServiceError) {
    let needsDegradedFrame = jobs.originalOpened(job, original)
    let largePreview = needsDegradedFrame ? deliverDegradedFrame(job, original, stepBegan: began) : nil
    // All tasks that wanted only a degraded frame may have left by now.
    if job.stop.isRaised { return }
    job.addWorkTime(began.duration(to: now()))
    if job.wanted.request.isAnimated, let plan = try renderer.animationPlan(original, job.wanted) {
      return try queueAnimation(job, plan, original)
    }
    if let jpeg = wholeJPEG(of: job, original) {
      return queueTranscoding(job, jpeg) { [self] () throws(ImageServiceError) in
        try queueOriginal(job, original, preview: largePreview)
      }
    }
    if let plan = renderer.planner.finalThumbnailPlan(original.header, job.wanted),
      plan.peakBytes <= renderLane.capacityBytes
    {
      return queueThumbnail(job, plan, original, preview: largePreview)
    }
    if try queueTiles(job, original) { return }
    try queueOriginal(job, original, preview: largePreview)
  }

  /// The memory of all renders together.
  var renderCapacityBytes: Int { renderLane.capacityBytes }

  /// The original that another job of the same content has opened, or a newly opened one. `nil` if it is in the cloud.
  func open(_ job: RenderJob) throws(ImageServiceError) -> OpenedOriginal? {
    if let shared = jobs.sharedOriginal(for: job) { return shared }
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(job.asset.original)
    } catch {
      if error == .inCloud { return nil }
      throw ImageServiceError(error)
    }
    return try opened(source, job)
  }

  /// Reads the header of an original.
  func opened(_ source: any ByteSource, _ job: RenderJob) throws(ImageServiceError) -> OpenedOriginal {
    let header = try renderer.header(of: source, posterTime: job.wanted.request.posterTime)
    renderer.log(header.warnings, of: job.asset)
    return OpenedOriginal(source: source, header: header)
  }

  func queueRender(
    _ job: RenderJob, _ header: ImageHeader, preview: EmbeddedThumbnail?
  ) throws(ImageServiceError) {
    let plans = RenderPlans(job, header, preview: preview, renderer.planner)
    guard plans.peakBytes <= renderLane.capacityBytes else {
      throw .overBudget(needed: plans.peakBytes, budget: renderLane.capacityBytes)
    }
    queue(job, bytes: plans.peakBytes, sharesDecode: true) { [self] reservation throws(ImageServiceError) in
      try render(job, plans, reservation)
    }
  }

  private func queueAnimation(
    _ job: RenderJob, _ plan: AnimationPlan, _ original: OpenedOriginal
  ) throws(ImageServiceError) {
    guard plan.peakBytes <= renderLane.capacityBytes else {
      throw .overBudget(needed: plan.peakBytes, budget: renderLane.capacityBytes)
    }
    queue(job, bytes: plan.peakBytes) { [self] reservation throws(ImageServiceError) in
      let attributes = FrameAttributes(job, .original, isDegraded: false, stepBegan: now())
      let frame = try renderer.frame(plan, from: original.source, attributes, stop: job.stop)
      if !original.source.isUnchanged { throw .originalChanged }
      finish(job, frame) { reservation.split(off: $0) }
    }
  }

  /// Queues a step in the quick lane.
  ///
  /// - Parameter isLastStep: nothing of the caller's work follows. The step may then run on its thread.
  func queueQuickStep(
    _ job: RenderJob, isLastStep: Bool = false, _ step: @escaping @Sendable () throws(ImageServiceError) -> Void
  ) {
    let isAccepted = quickLane.submit({ [self] in runStep(job, step) }, afterCurrentWork: isLastStep)
    if !isAccepted { delivery.fail(job, .queueFull) }
  }

  /// Queues a step in the render lane, with its memory.
  ///
  /// - Parameter sharesDecode: the step decodes the original's picture, so another job's render may make the frame.
  ///   Must be false for a step that makes the frame from another source, such as a thumbnail or sensor data: the same
  ///   entity tag would stand for other bytes.
  func queue(
    _ job: RenderJob, bytes: Int, sharesDecode: Bool = false,
    _ step: @escaping @Sendable (ByteBudget.Reservation) throws(ImageServiceError) -> Void
  ) {
    let ticket = renderLane.makeTicket()
    guard let priority = jobs.renderQueued(job, ticket, sharesDecode: sharesDecode) else { return }
    renderLane.submit(priority, bytes: bytes, for: job.caller, as: ticket) { [self] reservation in
      guard jobs.renderingBegan(job) else { return }
      runStep(job) { () throws(ImageServiceError) in try step(reservation) }
    }
    // The job may have been cancelled or may have changed its priority before `submit`: apply that now. If the step has
    // begun, there is nothing to withdraw.
    guard delivery.applyPriority(of: job) == ticket else { return _ = renderLane.withdraw(ticket) }
    shareTurn(ticket, of: job)
  }

  /// Moves waiting work to the earliest turn among all callers that wait for its job. Call it for each new ticket,
  /// after `submit`: `taskJoined` does this only for tasks that join later.
  func shareTurn(_ ticket: RenderLane.Ticket, of job: RenderJob) {
    for caller in jobs.callers(of: job) { renderLane.share(ticket, with: caller) }
  }

  /// Gives work that several jobs wait for at least the priority of this job, and the earliest turn among the callers
  /// that wait for this job.
  func prioritize(_ ticket: RenderLane.Ticket, for job: RenderJob) {
    guard let priority = jobs.priority(of: job) else { return }
    renderLane.raisePriority(to: priority, of: ticket)
    shareTurn(ticket, of: job)
  }

  /// Runs one step of a job. The step is skipped if the job was cancelled; an error ends the job for all its tasks.
  func runStep(_ job: RenderJob, _ step: () throws(ImageServiceError) -> Void) {
    do throws(ImageServiceError) {
      if job.stop.isRaised { return }
      try step()
    } catch {
      delivery.fail(job, error)
    }
  }
}
