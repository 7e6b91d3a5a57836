import Telemetry

/// Hands the frames and errors of a job to the tasks that wait for it, and gives its render their priority. Calls
/// handlers, but never with a lock held.
struct JobDelivery: Sendable {
  let jobs: JobTable
  let renderLane: RenderLane
  let earlyRenders: EarlyRenders
  let tilePasses: TilePasses
  let metrics: ImageMetrics

  /// Delivers a degraded frame to the tasks that want one. A task that is complete with it leaves the job.
  func deliver(degraded frame: ImageFrame, _ job: RenderJob) {
    metrics.delivered(frame)
    for task in jobs.degradedFrameReady(job, frame) where task.receive(degraded: frame) { leave(task) }
  }

  /// Ends a job with its final frame.
  func finish(_ job: RenderJob, _ frame: ImageFrame) {
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

  /// Ends a job with an error. Its part of a render that other jobs share stops too.
  func fail(_ job: RenderJob, _ error: ImageServiceError) {
    let tasks = jobs.jobEnded(job)
    job.stop.raise()
    earlyRenders.dropAbandoned()
    for task in tasks { task.finish(.failed(error)) }
  }

  /// Takes a task out of its job, whose render then has the priority of the remaining tasks. Without any, the job ends.
  ///
  /// - Parameter isExpired: whether the task has reached its deadline.
  /// - Returns: whether this stopped a render that had begun.
  @discardableResult
  func leave(_ task: ImageTask, isExpired: Bool = false) -> Bool {
    switch jobs.leave(task) {
    case .stillNeeded(let job):
      applyPriority(of: job)
      return false
    case .cancelled(let ticket, let wait, let isRendering):
      if let ticket { renderLane.withdraw(ticket) }
      if let pass = tilePasses.removeAbandoned(task.key.rendition.contentVersion) { renderLane.withdraw(pass) }
      if isExpired { wait?.expire() } else { wait?.cancel() }
      earlyRenders.dropAbandoned()
      return isRendering
    case .notFound: return false
    }
  }

  /// Gives a job's waiting render the priority of the tasks that wait for it. Call it after each change of the tasks,
  /// and after the render was submitted. Returns the render's ticket; `nil` if the job has ended, or if no render of it
  /// waits.
  @discardableResult
  func applyPriority(of job: RenderJob) -> RenderLane.Ticket? {
    var applied: ImagePriority?
    // The priority is read under one lock and set under another, so a thread may set one that is out of date by then.
    // It reads again afterwards: whichever thread sets a priority last leaves the current one.
    while let (waiting, priority) = jobs.ticketAndPriority(of: job) {
      guard let ticket = waiting, priority != applied else { return waiting }
      renderLane.setPriority(priority, of: ticket)
      applied = priority
    }
    return nil
  }
}
