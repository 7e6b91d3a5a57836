// PHImageManager: asked for a picture of an asset, it delivers a frame, or a degraded frame and then the final one.
//
//     request -> FrameCache, FrameStore: the final frame at once, whatever was asked for
//             -> JobTable: joins who renders the same already, or begins a job
//     job     -> quick lane, look: a derivative that serves; else open, read the header, plan; a preview goes out here
//             -> render lane, with memory for the plan: a degraded frame if none went out yet, then the final one
//             -> caches -> whoever waits
//
// The steps of a job are in JobSteps; here callers come, go, are listed and time out.

import PhotoModel

package final class ImageManager: Sendable {
  /// What may wait, for how long, and what is remembered of it.
  package struct Limits: Sendable {
    /// Jobs whose render has not begun, at most; one more is refused.
    package var waitingJobs = 1024
    /// How long a task may take.
    package var deadline = Duration.seconds(60)
    /// Requests that are over and can still be asked about, at most.
    package var rememberedRequests = 1024

    package init() {}
  }

  let steps: JobSteps
  let jobs: JobTable
  private let requests: ActiveRequests
  private let deadline: Duration
  let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - steps: what jobs are done with.
  ///   - now: the time; tests have their own.
  package init(
    _ steps: JobSteps, limits: Limits = Limits(),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    self.steps = steps
    jobs = JobTable(maximumWaiting: limits.waitingJobs)
    requests = ActiveRequests(maximumRemembered: limits.rememberedRequests)
    deadline = limits.deadline
    self.now = now
  }

  /// What a caller says of a request beside what it asks for.
  package struct Caller: Sendable {
    /// Names the request among its owner's.
    package var requestID: String
    /// The principal's name.
    package var owner: String
    package var priority = ImagePriority.normal
    /// What was asked, as it was asked.
    package var parameters: [String: String] = [:]
    /// Render from the original, whatever is kept, and keep nothing of it.
    package var bypassesCaches = false

    package init(requestID: String, owner: String) {
      self.requestID = requestID
      self.owner = owner
    }
  }

  /// Starts work on a picture. `deliver` is called in order, never twice at a time, the last time with `.final` or
  /// `.failed`: here and now if the frame is kept in memory or on disk, else on a worker.
  ///
  /// Blocks for as long as one file takes to read: never on a connection's queue.
  package func requestImage(
    for asset: Asset, _ request: ImageRequest, _ caller: Caller, deliver: @escaping @Sendable (ImageDelivery) -> Void
  ) -> ImageTask {
    let task = ImageTask(caller, asset: asset, request: request, created: now()) {
      [requests, now, metrics = steps.metrics] task, delivery in
      if case .failed(let error) = delivery { metrics.failed(error) }
      requests.note(delivery, to: task, at: now())
      deliver(delivery)
    }
    guard requests.insert(task) else {
      // Told past the books: they are about the other request of this name.
      deliver(.failed(.requestIDInUse))
      return task
    }
    if let frame = caller.bypassesCaches ? nil : keptFrame(task.key.rendition) {
      steps.metrics.delivered(frame)
      task.finish(.final(frame))
      return task
    }
    switch jobs.join(task) {
    case .refused: task.finish(.failed(.queueFull))
    case .began(let job):
      steps.metrics.jobBegan()
      steps.begin(job, in: jobs)
    case .joined(let job, let degraded, let previews):
      steps.metrics.taskCoalesced()
      steps.joined(job, in: jobs, previews: previews)
      if let degraded, task.receive(degraded: degraded) { leave(task) }
    }
    return task
  }

  /// A frame that needs no work: from memory, or from disk, and then in memory.
  package func keptFrame(_ key: RenditionKey) -> ImageFrame? { steps.caches.frame(for: key) }

  /// A frame that is in memory, for one who shows it.
  package func frameInMemory(_ key: RenditionKey) -> ImageFrame? {
    steps.caches.memory.frame(for: key).map { ImageFrame($0) }
  }

  /// Whether a frame is in memory now.
  package func isInMemory(_ key: RenditionKey) -> Bool { steps.caches.memory.unusedFrame(for: key) != nil }

  /// How the frame of a request would be made if it were asked for now.
  package func expectedDerivation(of asset: Asset, _ request: ImageRequest) -> Derivation {
    let key = RenditionKey(asset, request)
    return steps.caches.frame(for: key)?.derivation ?? steps.expectedDerivation(of: asset, request)
  }

  /// The caller has no more use for the picture. Work that nobody else waits for stops soon.
  ///
  /// The task's last delivery is `.failed(.cancelled)`, unless it has had its last.
  /// - Returns: whether a render was stopped by it.
  @discardableResult
  package func cancel(_ task: ImageTask) -> Bool { end(task, .cancelled) }

  /// Cancels an active request by its name. False: there is none of that name.
  ///
  /// - Parameter orAnybodys: where the owner has none of that name, somebody else's is meant.
  package func cancelRequest(_ requestID: String, owner: String, orAnybodys: Bool = false) -> Bool {
    guard let task = requests.task(owner: owner, requestID: requestID, orAnybodys: orAnybodys) else { return false }
    cancel(task)
    return true
  }

  /// The active requests of an owner, the oldest first; all of them, where none is named.
  package func activeRequests(owner: String?) -> [RequestState] {
    requests.all(owner: owner, at: now()).map { state, key in
      var state = state
      state.stage = jobs.stage(key)
      return state
    }
  }

  /// One request: active, or over for less than a minute.
  package func request(_ requestID: String, owner: String, orAnybodys: Bool = false) -> RequestState? {
    requests.request(owner: owner, requestID: requestID, orAnybodys: orAnybodys, at: now()).map { state, key in
      var state = state
      state.stage = key.flatMap(jobs.stage)
      return state
    }
  }

  /// Ends what has taken longer than it may. To be called about once a second.
  package func expire() {
    for task in requests.tasks(createdBefore: now() - deadline) { _ = end(task, .deadlineExceeded) }
  }

  /// Lets go of frames that are over the bound, after something was attached to one of them.
  package func trimFrames() { steps.caches.memory.trim() }

  /// Jobs whose render has not begun.
  package var waitingJobCount: Int { jobs.waitingCount }

  /// Whether a render was stopped by it.
  private func end(_ task: ImageTask, _ error: ImageServiceError) -> Bool {
    let left = jobs.leave(task)
    steps.left(left)
    task.finish(.failed(error))
    if case .givenUp(_, isRendering: true) = left { return true }
    return false
  }

  func leave(_ task: ImageTask) { steps.left(jobs.leave(task)) }
}
