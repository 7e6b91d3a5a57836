// The counterpart of PHImageManager: for a picture of an asset it delivers either the final frame, or a degraded frame
// and then the final frame.
//
//     request -> FrameCache, FrameStore: the final frame at once, if it is cached
//             -> ImagePipeline: joins a job that renders the same frame, or starts a new job
//                -> caches -> waiting tasks
//
// This file starts, cancels, lists and times out tasks. It does no image work: the steps of a job are in ImagePipeline.

import PhotoModel

package final class ImageManager: Sendable {
  /// How long a task may take, and how many ended requests are remembered.
  package struct Limits: Sendable {
    /// Maximum duration of a task.
    package var deadline = Duration.seconds(60)
    /// Maximum number of ended requests that can still be queried.
    package var retainedRequests = 1024

    package init() {}
  }

  let pipeline: ImagePipeline
  private let requests: RequestRegistry
  private let deadline: Duration
  let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameter pipeline: does the work of jobs. The manager uses the pipeline's clock.
  package init(_ pipeline: ImagePipeline, limits: Limits = Limits()) {
    self.pipeline = pipeline
    requests = RequestRegistry(maximumRemembered: limits.retainedRequests)
    deadline = limits.deadline
    now = pipeline.now
  }

  /// The sender of a request, and how the request is handled.
  package struct RequestContext: Sendable {
    /// Unique among the caller's active requests.
    package var requestID: String
    /// The principal's name. The caller owns its requests: it sees and cancels them.
    var caller: String
    package var priority = ImagePriority.normal
    /// The request's parameters as the client sent them.
    package var parameters: [String: String] = [:]
    /// Whether the original may be downloaded from its remote store. Otherwise the request gets what is local.
    package var allowsNetwork = false
    /// Render from the original even if the frame is cached, and cache nothing.
    package var bypassesCaches = false
    /// The caller asks again if a queue is full, so that this is no failure.
    package var retriesWhenFull = false

    package init(requestID: String, caller: String) {
      self.requestID = requestID
      self.caller = caller
    }
  }

  /// Starts work on a picture. `deliver` is called in order and never concurrently; the last call is `.final` or
  /// `.failed`. If the frame is cached in memory or on disk, `deliver` is called before this method returns, otherwise
  /// on a worker.
  ///
  /// Blocks while one file is read: never call it on a connection's queue.
  ///
  /// - Parameter isLastStep: the caller's work on its queue ends with this call. The first step of the work may then
  ///   run on the caller's thread, after that.
  package func requestImage(
    _ wanted: ResolvedRequest, _ context: RequestContext, isLastStep: Bool = false,
    deliver: @escaping @Sendable (ImageDelivery) -> Void
  ) -> ImageTask {
    let task = ImageTask(context, wanted, created: now()) {
      [requests, now, metrics = pipeline.metrics] task, delivery in
      if case .failed(let error) = delivery, !(error == .queueFull && context.retriesWhenFull) { metrics.failed(error) }
      requests.record(delivery, to: task, at: now())
      deliver(delivery)
    }
    guard requests.insert(task) else {
      task.finish(.failed(.requestIDInUse))
      return task
    }
    if let frame = context.bypassesCaches ? nil : cachedFrame(wanted.key) {
      pipeline.metrics.delivered(frame)
      task.finish(.final(frame))
      return task
    }
    pipeline.start(task, isLastStep: isLastStep)
    return task
  }

  /// Records a request that is answered with the original's own bytes, as finished.
  ///
  /// - Returns: false if the caller has an active request with the same ID.
  package func recordFile(_ wanted: ResolvedRequest, _ context: RequestContext) -> Bool {
    let task = ImageTask(context, wanted, created: now()) { _, _ in }
    guard requests.insert(task) else { return false }
    let result = ImageResult(
      requestID: context.requestID, isDegraded: false, size: wanted.sized.outputSize, source: .original)
    let frame = ImageFrame(
      bytes: [], format: wanted.request.format, result: result, timings: .init(), derivation: .file)
    requests.record(.final(frame), to: task, at: now())
    return true
  }

  /// A cached frame: from memory, or from disk. A frame that is read from disk is then kept in memory.
  package func cachedFrame(_ key: RenditionKey) -> ImageFrame? { pipeline.cache.frame(for: key) }

  /// A frame from the memory cache. Counts as a use of the frame.
  package func frameInMemory(_ key: RenditionKey) -> ImageFrame? {
    pipeline.cache.memory.frame(for: key).map { ImageFrame($0) }
  }

  /// Counts as a use of a prepared frame: a request for it is answered with the same picture in another encoding.
  package func markPreparedFrameUsed(_ key: RenditionKey) { pipeline.cache.memory.markPinnedUsed(key) }

  /// Whether a frame is in memory now. Does not count as a use.
  package func isInMemory(_ key: RenditionKey) -> Bool { pipeline.cache.memory.peekFrame(for: key) != nil }

  /// How the frame of a request would be made if it were requested now.
  package func expectedDerivation(of wanted: ResolvedRequest) -> Derivation {
    cachedFrame(wanted.key)?.derivation ?? uncachedDerivation(of: wanted)
  }

  /// Like ``expectedDerivation(of:)``, but `nil` if the frame may be degraded or incomplete, as far as is known without
  /// a render.
  package func completeDerivation(of wanted: ResolvedRequest) -> Derivation? {
    if let cached = cachedFrame(wanted.key) { return cached.derivation.isSmallPreview ? nil : cached.derivation }
    let expected = uncachedDerivation(of: wanted)
    return expected.promisesCompleteFrame ? expected : nil
  }

  private func uncachedDerivation(of wanted: ResolvedRequest) -> Derivation {
    pipeline.expectedTranscoding(of: wanted) ?? pipeline.quickFrames.expectedDerivation(of: wanted)
  }

  /// Cancels a task. Work that no other task waits for stops soon.
  ///
  /// The task's last delivery is `.failed(.cancelled)`, unless the task has already ended.
  /// - Returns: whether this stopped a render that had begun.
  @discardableResult
  package func cancel(_ task: ImageTask) -> Bool { end(task, .cancelled) }

  /// Cancels an active request or batch by its ID. Returns false if there is none.
  ///
  /// - Parameter includingOtherOwners: if the owner has none with that ID, cancel another owner's.
  package func cancelRequest(_ requestID: String, owner: String, includingOtherOwners: Bool = false) -> Bool {
    if let task = requests.task(owner: owner, requestID: requestID, includingOtherOwners: includingOtherOwners) {
      cancel(task)
      return true
    }
    guard let cancel = requests.batch(owner: owner, requestID: requestID, includingOtherOwners: includingOtherOwners)
    else { return false }
    cancel()
    return true
  }

  /// Lets ``cancelRequest(_:owner:includingOtherOwners:)`` cancel a request for many pictures, whose tasks have IDs of
  /// their own. Call ``batchEnded(_:)`` when it ends.
  ///
  /// - Parameter cancel: cancels what is left of the batch. Called from any thread, without a lock held.
  package func batchBegan(_ context: RequestContext, cancel: @escaping @Sendable () -> Void) {
    requests.insertBatch(owner: context.caller, requestID: context.requestID, cancel: cancel)
  }

  /// For a batch of which a queue has refused a frame, with ``RequestContext/retriesWhenFull``: calls `wake` once when
  /// a request of the caller has ended. The caller's batches are woken in turn. Returns false if the caller has no
  /// active request: other callers hold all places, unless the caller's last request has ended since the refusal.
  ///
  /// - Parameters:
  ///   - context: that of ``batchBegan(_:cancel:)``.
  ///   - wake: called from any thread, without a lock held.
  package func awaitRequestEnd(_ context: RequestContext, wake: @escaping @Sendable () -> Void) -> Bool {
    requests.awaitEnd(owner: context.caller, requestID: context.requestID, wake: wake)
  }

  /// Counts a frame that a queue has refused, with ``RequestContext/retriesWhenFull``, as failed. Call it when the
  /// frame is not requested again.
  package func refusalWasFinal() { pipeline.metrics.failed(.queueFull) }

  /// The batch has ended: its ID no longer cancels it.
  package func batchEnded(_ context: RequestContext) {
    requests.removeBatch(owner: context.caller, requestID: context.requestID)
  }

  /// The active requests of an owner, oldest first; the requests of all owners if `owner` is `nil`.
  package func activeRequests(owner: String?) -> [RequestState] {
    requests.all(owner: owner, at: now()).map { state, key in
      var state = state
      (state.stage, state.downloadProgress) = pipeline.jobs.stageAndProgress(key)
      return state
    }
  }

  /// One request that is active or ended less than a minute ago.
  package func request(_ requestID: String, owner: String, includingOtherOwners: Bool = false) -> RequestState? {
    requests.request(owner: owner, requestID: requestID, includingOtherOwners: includingOtherOwners, at: now()).map {
      state, key in
      var state = state
      if let key { (state.stage, state.downloadProgress) = pipeline.jobs.stageAndProgress(key) }
      return state
    }
  }

  /// Ends tasks that are over their deadline. Call it about once a second.
  package func expire() {
    for task in requests.tasks(createdBefore: now() - deadline) {
      let isDownloading = pipeline.jobs.stage(task.key) == .downloading
      _ = end(task, isDownloading ? .downloadFailed(.timedOut) : .deadlineExceeded, isExpired: true)
    }
  }

  /// Evicts frames that are over the memory limit. Call it after bytes were attached to a frame.
  package func trimFrames() { pipeline.cache.memory.trim() }

  /// The memory of all renders together.
  package var renderCapacityBytes: Int { pipeline.renderCapacityBytes }

  /// Number of jobs whose render has not begun.
  package var waitingJobCount: Int { pipeline.jobs.waitingCount }

  /// Ends a task with an error. Returns whether this stopped a render that had begun.
  private func end(_ task: ImageTask, _ error: ImageServiceError, isExpired: Bool = false) -> Bool {
    let hasStoppedRender = pipeline.leave(task, isExpired: isExpired)
    task.finish(.failed(error))
    return hasStoppedRender
  }
}
