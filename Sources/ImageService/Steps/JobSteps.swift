// The steps of a job, each on the lane where it belongs.
//
//     begin -> quick lane: look
//                a derivative serves -> the final frame: done
//                open, header; preview: a derivative or a thumbnail -> degraded frame
//                plan, price -> 422, or into the render lane
//           -> render lane, with memory: render
//                a degraded frame from the original's coefficients, where none went out and one is quicker
//                one decode: the final frame, those of siblings that wait for the same original, derivatives for later
//
// A quick worker never holds more than `quickBytes`: that much a worker is set aside of the memory budget for good, so that
// what is quick asks nobody. What takes more goes to the render lane.

import ImageCodec
import ImageRender
import Logging
import OriginalStore
import PhotoModel
import Telemetry

package final class JobSteps: Sendable {
  /// What a worker of the quick lane may hold.
  package static let quickBytes = 4 << 20

  let caches: FrameCaches
  private let originals: OriginalStore
  let quick: WorkQueue
  private let lane: RenderLane
  private let budget: MemoryBudget
  let maker: FrameMaker
  let metrics: ImageMetrics
  private let logger: Logger

  /// - Parameters:
  ///   - quick: where steps of a few milliseconds run, each within ``quickBytes``. Its line need have no limit: jobs have.
  ///   - lane: where renders run.
  ///   - budget: what renders draw on, and frames that are in no cache for as long as somebody sends them.
  package init(
    originals: OriginalStore, memory: FrameCache, store: FrameStore, quick: WorkQueue, lane: RenderLane,
    budget: MemoryBudget, limits: CodecLimits, metrics: ImageMetrics, logger: Logger
  ) {
    self.metrics = metrics
    caches = FrameCaches(memory: memory, store: store, budget: budget)
    self.originals = originals
    self.quick = quick
    self.lane = lane
    self.budget = budget
    self.logger = logger
    maker = FrameMaker(limits: limits, logger: logger)
  }

  // MARK: What tasks bring about

  /// A new job: its first step.
  func begin(_ job: RenderJob, in jobs: JobTable) {
    let isAccepted = quick.submit { [self] in
      attempt(job, jobs) { () throws(ImageServiceError) in try look(job, jobs) }
    }
    if !isAccepted { fail(job, jobs, .queueFull) }
  }

  /// The same on a quick worker, at once.
  func beginHere(_ job: RenderJob, in jobs: JobTable) {
    attempt(job, jobs) { () throws(ImageServiceError) in try look(job, jobs) }
  }

  /// A job has one task more.
  func joined(_ job: RenderJob, in jobs: JobTable, previews: Bool) {
    if case (let ticket?, let priority)? = jobs.standing(job) { lane.setPriority(priority, of: ticket) }
    guard previews, let prospect = jobs.prospect(of: job) else { return }
    // Nobody waits for it but those who have the final frame coming: a line that is full costs them a degraded frame.
    _ = quick.submit { [self] in _ = preview(job, prospect, jobs) }
  }

  /// A job has one task less.
  func left(_ left: JobTable.Left) {
    switch left {
    case .staying(let ticket?, let priority): lane.setPriority(priority, of: ticket)
    case .givenUp(let ticket?, _): lane.withdraw(ticket)
    case .staying(nil, _), .givenUp(nil, _), .wasNotThere: break
    }
  }

  /// How a final frame that is kept nowhere would be made now.
  func expectedDerivation(of asset: Asset, _ request: ImageRequest) -> Derivation {
    let rung = maker.ladder.rung(for: request, upright: asset.pixelSize, hasAlpha: asset.hasAlpha)
    guard let rung, let derivative = caches.store.derivative(rung, of: asset) else { return .original }
    return .derivative(side: rung.side, eighths: derivative.eighths)
  }

  // MARK: The quick lane

  private func look(_ job: RenderJob, _ jobs: JobTable) throws(ImageServiceError) {
    if !job.bypassesCaches, let frame = fromDerivative(job) { return finish(job, jobs, frame) }
    let prospect: Prospect
    if let shared = jobs.prospect(for: job) { prospect = shared } else { prospect = try open(job) }
    let large = jobs.looked(job, prospect) ? preview(job, prospect, jobs) : nil
    // Those who wanted nothing but a preview have gone.
    if job.stop.isRaised { return }
    let plans = Plans(
      final: maker.planner.plan(prospect.header, job.request),
      degraded: maker.planner.degradedPlan(prospect.header, job.request), preview: large)
    let largeBytes = large?.peakBytes(for: job.request, of: prospect.header) ?? 0
    let needed = max(plans.final.peakBytes, plans.degraded?.peakBytes ?? 0, largeBytes)
    guard needed <= lane.capacityBytes else { throw .overBudget(needed: needed, budget: lane.capacityBytes) }
    let priority = jobs.standing(job)?.priority ?? .normal
    let ticket = lane.submit(priority, bytes: needed) { [self] reservation in
      attempt(job, jobs) { () throws(ImageServiceError) in try render(job, plans, reservation, jobs) }
    }
    guard let current = jobs.queued(job, ticket) else { return _ = lane.withdraw(ticket) }
    if current != priority { lane.setPriority(current, of: ticket) }
  }

  private func open(_ job: RenderJob) throws(ImageServiceError) -> Prospect {
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(job.asset.original)
    } catch {
      throw ImageServiceError(error)
    }
    let header = try maker.header(of: source)
    maker.log(header.warnings, of: job.asset)
    return Prospect(source: source, header: header)
  }

  /// The final frame from the smallest derivative that has what it shows; `nil`: there is none, or it does not serve.
  private func fromDerivative(_ job: RenderJob) -> ImageFrame? {
    let rung = maker.ladder.rung(for: job.request, upright: job.asset.pixelSize, hasAlpha: job.asset.hasAlpha)
    guard let frame = rung.flatMap({ derivative($0, job, isDegraded: false) }) else { return nil }
    return caches.held(caches.keep(frame, for: job.key.rendition))
  }

  /// A frame from a derivative that is there. A damaged one is as if it were not.
  private func derivative(_ rung: DerivativeLadder.Rung, _ job: RenderJob, isDegraded: Bool) -> ImageFrame? {
    guard let derivative = caches.store.derivative(rung, of: job.asset) else { return nil }
    let making = Making(
      job, .derivative, derivation: .derivative(side: rung.side, eighths: derivative.eighths),
      isDegraded: isDegraded)
    do throws(ImageServiceError) {
      let source = MemoryByteSource(derivative.bytes)
      let header = try maker.header(of: source)
      if isDegraded, DerivativeLadder.servesAsItIs(header, for: job.request, upright: job.asset.pixelSize) {
        return making.frame(asItIs: derivative.bytes, header.storedSize, job.request.format)
      }
      let plan = maker.planner.derivativePlan(header, of: job.asset.pixelSize, job.request)
      guard plan.peakBytes + derivative.bytes.count <= Self.quickBytes else { return nil }
      return try maker.frame(plan, from: source, making, stop: job.stop)
    } catch {
      logger.debug(
        "a derivative was not used",
        metadata: [
          "asset": "\(job.asset.localIdentifier)", "side": "\(rung.side)", "reason": "\(error)",
        ])
      return nil
    }
  }

  /// A degraded frame from what is at hand and small: a derivative, or the camera's own thumbnail. A preview that is too
  /// large for this lane is returned.
  private func preview(_ job: RenderJob, _ prospect: Prospect, _ jobs: JobTable) -> EmbeddedThumbnail? {
    if job.stop.isRaised { return nil }
    if !job.bypassesCaches, let rung = degradedRung(job),
      let frame = derivative(rung, job, isDegraded: true).flatMap(caches.held)
    {
      deliver(degraded: frame, job, jobs)
      return nil
    }
    let thumbnail = EmbeddedThumbnail.best(
      for: job.request, of: prospect.header, in: prospect.source, limits: maker.limits)
    guard let thumbnail, thumbnail.peakBytes(for: job.request, of: prospect.header) == 0 else { return thumbnail }
    let making = Making(job, .embedded, isDegraded: true)
    let frame = maker.frame(thumbnail, for: job.request, prospect, making, stop: job.stop)
    if let frame = frame.flatMap(caches.held) { deliver(degraded: frame, job, jobs) }
    return nil
  }

  private func degradedRung(_ job: RenderJob) -> DerivativeLadder.Rung? {
    let upright = job.asset.pixelSize
    let available = maker.ladder.rungs(of: upright).filter { caches.store.hasDerivative($0, of: job.asset) }
    return maker.ladder.degradedRung(among: available, for: job.request, upright: upright)
  }

  // MARK: The render lane

  /// What a render may make.
  private struct Plans: Sendable {
    let final: RenderPlan
    /// From the original's coefficients; `nil` where that is no quicker.
    let degraded: RenderPlan?
    /// A preview of the camera's that is large enough to be priced.
    let preview: EmbeddedThumbnail?
  }

  private func render(
    _ job: RenderJob, _ plans: Plans, _ reservation: MemoryBudget.Reservation, _ jobs: JobTable
  ) throws(ImageServiceError) {
    guard let start = jobs.begin(job) else { return }
    if let frame = try degradedFrame(job, plans, start).flatMap(caches.held) {
      deliver(degraded: frame, job, jobs)
      if job.stop.isRaised { return }
    }
    let group = group(job, plans.final, start.prospect.header, reservation, jobs)
    do throws(ImageServiceError) {
      try maker.render(group.plan, from: start.prospect.source, of: job.asset, stops: group.stops) { member, result in
        delivered(group, member, result, start.prospect.source, jobs)
      }
    } catch {
      for member in group.members { fail(member, jobs, error) }
    }
  }

  /// A degraded frame that takes a reservation, where one is wanted that shows more than those who want it have seen.
  private func degradedFrame(
    _ job: RenderJob, _ plans: Plans, _ start: JobTable.Start
  ) throws(ImageServiceError) -> ImageFrame? {
    guard let shown = start.wantedBeyondWidth else { return nil }
    if let preview = plans.preview {
      let making = Making(job, .embedded, isDegraded: true)
      let frame = maker.frame(preview, for: job.request, start.prospect, making, stop: job.stop)
      if let frame, frame.result.size.width > shown { return frame }
    }
    guard let plan = plans.degraded, plan.outputSize.width > shown else { return nil }
    return try maker.frame(plan, from: start.prospect.source, Making(job, .original, isDegraded: true), stop: job.stop)
  }

  // MARK: One decode for several

  /// What comes of one decode: the frames of jobs, and behind them derivatives.
  private struct Group {
    let plan: SharedPlan
    /// What the plan's requests are of: first these, not all of which are in it, and behind them the rungs.
    let jobs: [RenderJob]
    let rungs: [DerivativeLadder.Rung]
    /// Memory beside that of the job which brought the others along.
    let reservations: [MemoryBudget.Reservation]

    /// The jobs that are in the plan.
    var members: [RenderJob] { plan.members.filter { $0.request < jobs.count }.map { jobs[$0.request] } }

    /// Derivatives are made for as long as somebody waits for a frame.
    var stops: [StopFlag] {
      let all = StopFlag(allOf: members.map(\.stop))
      return plan.members.map { $0.request < jobs.count ? jobs[$0.request].stop : all }
    }

    /// Memory for a frame that somebody still has to send, out of what it was made with.
    func hold(_ bytes: Int) -> MemoryBudget.Reservation? {
      reservations.max { $0.bytes < $1.bytes }?.split(off: bytes)
    }
  }

  /// The job, those that wait for the same original and cost less by the same decode, and the derivatives that come of it
  /// for little: where there is memory for all of that now. Else the job alone.
  private func group(
    _ job: RenderJob, _ plan: RenderPlan, _ header: ImageHeader, _ reservation: MemoryBudget.Reservation,
    _ jobs: JobTable
  ) -> Group {
    let alone = Group(plan: SharedPlan(plan), jobs: [job], rungs: [], reservations: [reservation])
    guard !job.bypassesCaches else { return alone }
    let siblings = jobs.siblings(of: job)
    let rungs =
      caches.store.isOpen
      ? maker.ladder.rungs(of: job.asset.pixelSize).filter { !caches.store.hasDerivative($0, of: job.asset) } : []
    let extras = rungs.map { maker.ladder.request(for: $0, of: job.asset.pixelSize, hasAlpha: job.asset.hasAlpha) }
    let candidates = [job] + siblings.map(\.job)
    let wished = maker.planner.sharedPlan(header, candidates.map(\.request), extras: extras)
    guard wished.members.count > 1, let more = budget.tryReserve(max(0, wished.peakBytes - reservation.bytes)) else {
      return alone
    }
    // One that another worker has just begun is rendered there.
    let plan = wished.keeping { member in
      guard (1..<candidates.count).contains(member.request) else { return true }
      return lane.withdraw(siblings[member.request - 1].ticket)
    }
    let group = Group(plan: plan, jobs: candidates, rungs: rungs, reservations: [reservation, more])
    for sibling in group.members.dropFirst() { jobs.beginShared(sibling) }
    if group.members.count > 1 { metrics.decodeShared(frames: group.members.count - 1) }
    return group
  }

  /// One picture of a group is there, or will not be.
  private func delivered(
    _ group: Group, _ member: Int, _ result: Result<RenderedImage, ImageServiceError>, _ source: any ByteSource,
    _ jobs: JobTable
  ) {
    let request = group.plan.members[member].request
    // Overwritten in place while it was read: its pixels may be half one picture and half another.
    let isSound = source.isUnchanged
    guard request < group.jobs.count else {
      if case .success(let image) = result, isSound, !image.isIncomplete {
        caches.store.store(image, as: group.rungs[request - group.jobs.count], of: group.jobs[0].asset)
      }
      return
    }
    let job = group.jobs[request]
    switch result {
    case .failure(let error): fail(job, jobs, error)
    case .success where !isSound: fail(job, jobs, .originalChanged)
    case .success(let image):
      let alone = RenderPlanner.eighths(
        SizeRules(job.request, upright: job.asset.pixelSize), of: group.plan.header.format)
      var frame = Making(
        job, .original, derivation: Derivation(decodedEighths: image.decodedEighths, alone: alone), isDegraded: false
      ).frame(image)
      if !job.bypassesCaches && !frame.result.isIncomplete { frame = caches.keep(frame, for: job.key.rendition) }
      // In no cache, it is the render's until somebody has sent it.
      if frame.holding == nil { frame.holding = group.hold(frame.bytes.capacity) }
      finish(job, jobs, frame)
    }
  }

  // MARK: Deliveries

  private func deliver(degraded frame: ImageFrame, _ job: RenderJob, _ jobs: JobTable) {
    metrics.delivered(frame)
    for task in jobs.degraded(job, frame) where task.receive(degraded: frame) { left(jobs.leave(task)) }
  }

  private func finish(_ job: RenderJob, _ jobs: JobTable, _ frame: ImageFrame) {
    metrics.delivered(frame)
    let tasks = jobs.end(job)
    // Who prepared it is told of whoever joined meanwhile.
    if let cached = frame.cached, tasks.contains(where: { !$0.priority.isInteractive }),
      tasks.contains(where: \.priority.isInteractive)
    {
      cached.use()
    }
    for task in tasks { task.finish(.final(frame)) }
  }

  private func fail(_ job: RenderJob, _ jobs: JobTable, _ error: ImageServiceError) {
    for task in jobs.end(job) { task.finish(.failed(error)) }
  }

  /// One step of a job: not begun when nobody waits any more, and ended by an error that everyone is told.
  private func attempt(_ job: RenderJob, _ jobs: JobTable, _ step: () throws(ImageServiceError) -> Void) {
    do throws(ImageServiceError) {
      if job.stop.isRaised { return }
      try step()
    } catch {
      fail(job, jobs, error)
    }
  }
}
