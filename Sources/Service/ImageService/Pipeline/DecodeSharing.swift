// Decides what one decode of an original makes: the frame of the job whose turn it is, the frames of other jobs that
// wait for the same original, and missing derivatives. Records the decision in the job table; renders nothing.

import ImageCodec
import ImageRender
import PhotoModel
import Primitives
import Telemetry

struct DecodeSharing: Sendable {
  let jobs: JobTable
  let cache: TieredFrameCache
  let renderer: FrameRenderer
  let renderLane: RenderLane
  let budget: ByteBudget
  let metrics: ImageMetrics

  /// The callers whose work waits in the render lane, in the level of a job: a render of the job delays them.
  func waitingCallers(at job: RenderJob) -> Set<String> {
    jobs.priority(of: job).map { renderLane.callers(waitingAt: $0) } ?? []
  }

  /// Adds siblings and derivatives to a job's render. Siblings are jobs that wait for the same original and cost less
  /// in the same decode, only a few while other callers wait; derivatives are added when the decode makes them cheap.
  /// If there is not enough memory for all of that now, only the job itself is rendered.
  ///
  /// - Parameters:
  ///   - plan: the job's own plan.
  ///   - header: that of the original.
  ///   - reservation: the memory that the job's own plan needs.
  func sharedRender(
    of job: RenderJob, _ plan: RenderPlan, _ header: ImageHeader, _ reservation: ByteBudget.Reservation
  ) -> SharedRender {
    let unshared = SharedRender(plan: SharedPlan(plan), jobs: [job], rungs: [], reservations: [reservation])
    guard !job.bypassesCaches else { return unshared }
    let siblings = jobs.siblings(of: job, delaying: waitingCallers(at: job))
    // Frames at a given time of a video are rarely requested twice.
    let rungs = job.wanted.request.posterTime == nil ? missingRungs(of: job.asset, header) : []
    let candidates = [job] + siblings.map(\.job)
    let fullPlan = renderer.planner.sharedPlan(
      header, candidates.map(\.wanted), extras: rungs.map { renderer.ladder.sizedRequest(for: $0, of: job.asset) })
    guard fullPlan.members.count > 1,
      let more = budget.tryReserve(max(0, fullPlan.peakBytes - reservation.bytes))
    else { return unshared }
    // A sibling that another worker has just started is rendered there.
    let kept = fullPlan.keeping { member in
      guard (1..<candidates.count).contains(member.requestIndex) else { return true }
      return renderLane.withdraw(siblings[member.requestIndex - 1].ticket)
    }
    let shared = SharedRender(plan: kept, jobs: candidates, rungs: rungs, reservations: [reservation, more])
    for sibling in shared.members.dropFirst() { jobs.renderingBegan(sibling) }
    if shared.members.count > 1 { metrics.decodeShared(frames: shared.members.count - 1) }
    return shared
  }

  /// The plan of a render that begins while the original arrives: the job's own frame, the frames of other jobs that
  /// wait for the same download, and missing derivatives. If all of these need too much memory, only the job's own
  /// frame; `nil` if that needs too much, too.
  ///
  /// - Parameter siblings: the other jobs.
  /// - Returns: the plan, whose requests are numbered as in ``SharedRender``, and the jobs.
  func earlyRender(
    of job: RenderJob, with siblings: [RenderJob], _ header: ImageHeader, maximumBytes: Int
  ) -> (plan: SharedPlan, jobs: [RenderJob], rungs: [DerivativeLadder.Rung])? {
    let unshared = SharedPlan(renderer.planner.plan(header, job.wanted))
    guard unshared.peakBytes <= maximumBytes else { return nil }
    guard !job.bypassesCaches else { return (unshared, [job], []) }
    let candidates = [job] + siblings
    let rungs = missingRungs(of: job.asset, header)
    let shared = renderer.planner.sharedPlan(
      header, candidates.map(\.wanted), extras: rungs.map { renderer.ladder.sizedRequest(for: $0, of: job.asset) })
    return shared.peakBytes <= maximumBytes ? (shared, candidates, rungs) : (unshared, [job], [])
  }

  /// Adds missing derivatives to the development of a RAW file's sensor data: those that its previews can't give. No
  /// other job is added, because each has its own preview to fall back to.
  ///
  /// - Parameters:
  ///   - plan: the job's own plan, of the developed picture.
  ///   - header: that of the original, with its previews.
  func development(
    of job: RenderJob, _ plan: RenderPlan, _ header: ImageHeader, _ reservation: ByteBudget.Reservation
  ) -> SharedRender {
    let unshared = SharedRender(plan: SharedPlan(plan), jobs: [job], rungs: [], reservations: [reservation])
    guard !job.bypassesCaches, cache.store.isEnabled, let developed = header.developed else { return unshared }
    let rungs = renderer.ladder.rungs(of: job.asset.pixelSize).filter {
      renderer.planner.needsDevelopment(header, renderer.ladder.sizedRequest(for: $0, of: job.asset))
        && !cache.store.hasDerivative($0, of: job.asset)
    }
    let fullPlan = renderer.planner.sharedPlan(
      developed, [job.wanted], extras: rungs.map { renderer.ladder.sizedRequest(for: $0, of: job.asset) })
    guard fullPlan.members.count > 1,
      let more = budget.tryReserve(max(0, fullPlan.peakBytes - reservation.bytes))
    else { return unshared }
    return SharedRender(plan: fullPlan, jobs: [job], rungs: rungs, reservations: [reservation, more])
  }

  private func missingRungs(of asset: Asset, _ header: ImageHeader) -> [DerivativeLadder.Rung] {
    guard cache.store.isEnabled else { return [] }
    return renderer.rungs(of: asset, header).filter { !cache.store.hasDerivative($0, of: asset) }
  }
}

extension DerivativeLadder {
  /// The request that renders a rung from an asset's original.
  func sizedRequest(for rung: Rung, of asset: Asset) -> SizedRequest {
    SizedRequest(
      request(for: rung, of: asset.pixelSize, hasAlpha: asset.hasAlpha), upright: asset.pixelSize,
      adjustments: asset.adjustments)
  }
}

/// The results of one decode: frames for jobs, then derivatives.
struct SharedRender: Sendable {
  let plan: SharedPlan
  /// The plan's requests are numbered in this order: first the jobs (some may not be in the plan), then the rungs.
  let jobs: [RenderJob]
  let rungs: [DerivativeLadder.Rung]
  /// The first job's reservation, and the extra memory that its siblings and the derivatives need.
  let reservations: [ByteBudget.Reservation]

  enum Output {
    case frame(RenderJob)
    case derivative(DerivativeLadder.Rung)
  }

  /// The jobs that are in the plan.
  var members: [RenderJob] { plan.members.filter { $0.requestIndex < jobs.count }.map { jobs[$0.requestIndex] } }

  /// One flag for each member of the plan. Derivatives are made as long as at least one job is still needed.
  var stops: [StopFlag] {
    let all = StopFlag(allOf: members.map(\.stop))
    return plan.members.map { $0.requestIndex < jobs.count ? jobs[$0.requestIndex].stop : all }
  }

  /// The output of a member of the plan.
  func output(of member: Int) -> Output {
    let index = plan.members[member].requestIndex
    return index < jobs.count ? .frame(jobs[index]) : .derivative(rungs[index - jobs.count])
  }

  /// The final frame of one of the jobs.
  func frame(_ image: RenderedImage, for job: RenderJob, stepBegan: ContinuousClock.Instant) -> ImageFrame {
    let unsharedEighths = RenderPlanner().eighths(plan.header, job.wanted)
    var derivation = Derivation(decodedEighths: image.decodedEighths, unsharedEighths: unsharedEighths)
    if job.asset.mediaType == .image, RenderPlanner().previewsLackPixels(plan.header, job.wanted) {
      derivation = .smallPreview(derivation)
    }
    return FrameAttributes(job, plan.header.source, derivation: derivation, isDegraded: false, stepBegan: stepBegan)
      .frame(image)
  }

  /// Splits off memory for a frame that is still to be sent.
  func splitReservation(_ bytes: Int) -> ByteBudget.Reservation? {
    reservations.max { $0.bytes < $1.bytes }?.split(off: bytes)
  }
}

extension ImageHeader {
  /// The source of a frame that is made from the picture that the header describes.
  var source: ImageResult.Source { raw == nil ? .original : .preview }
}
