// The part of JobTable for jobs that wait for a remote store: for the download of their original, or for derivatives.

import PhotoModel

extension JobTable {
  /// Whether a task of the job can use a frame that is made without the original. Preparations can't.
  func wantsLocalFrame(_ job: RenderJob) -> Bool {
    state.withLock { state in
      state.record(of: job)?.tasks.contains { task in
        task.wantsDegraded || (!task.allowsNetwork && task.priority.isInteractive)
      } ?? false
    }
  }

  /// The consequences of an original that is in the cloud.
  struct CloudDecision {
    /// Tasks that may not use the network. They are out of the job.
    let leaving: [ImageTask]
    /// The next step of the job: it waits for a download, or it has ended because no task is left, or too many wait.
    let next: Next

    enum Next {
      case download(isUrgent: Bool)
      case ended
      case queueFull
    }
  }

  /// Records that the original has to be downloaded.
  func originalIsInCloud(_ job: RenderJob) -> CloudDecision {
    state.withLock { state in
      guard let record = state.record(of: job) else { return CloudDecision(leaving: [], next: .ended) }
      let leaving = record.tasks.filter { !$0.allowsNetwork }
      state.records[job.key]?.tasks.removeAll { !$0.allowsNetwork }
      guard leaving.count < record.tasks.count else {
        job.stop.raise()
        _ = state.remove(job.key)
        return CloudDecision(leaving: leaving, next: .ended)
      }
      guard state.remoteCount < maximumWaiting else { return CloudDecision(leaving: leaving, next: .queueFull) }
      state.setStage(.downloading, of: job.key)
      let isUrgent = state.records[job.key]?.priority.isInteractive ?? false
      state.records[job.key]?.isDownloadUrgent = isUrgent
      return CloudDecision(leaving: leaving, next: .download(isUrgent: isUrgent))
    }
  }

  /// Records that the job waits for its derivatives from the shared store. Returns false if it does not, because it has
  /// ended or too many jobs wait for remote stores.
  func derivativesAwaited(_ job: RenderJob) -> Bool {
    state.withLock { state in
      guard state.record(of: job) != nil, state.remoteCount < maximumWaiting else { return false }
      state.setStage(.awaitingDerivatives, of: job.key)
      return true
    }
  }

  /// Records what the job waits for. Returns a wait that the caller must cancel: the job's earlier one; or this one, if
  /// the job no longer waits or has begun an urgent download meanwhile.
  ///
  /// - Parameters:
  ///   - stage: the stage in which the job waits.
  ///   - isUrgent: whether this is the wait of an urgent download.
  func waitBegan(_ job: RenderJob, _ wait: RemoteWait, _ stage: JobStage, isUrgent: Bool = false) -> RemoteWait? {
    state.withLock { state in
      guard let record = state.record(of: job), record.stage == stage else { return wait }
      // A download keeps the priority of its most urgent wait, so the urgent wait must not be cancelled.
      if record.isDownloadUrgent, record.wait != nil, !isUrgent { return wait }
      state.records[job.key]?.wait = wait
      return record.wait
    }
  }

  /// Whether the job waits for a download that is less urgent than its tasks. It is then recorded as urgent; the caller
  /// starts it again.
  func needsUrgentDownload(_ job: RenderJob) -> Bool {
    state.withLock { state in
      guard let record = state.record(of: job), record.stage == .downloading, !record.isDownloadUrgent,
        record.priority.isInteractive
      else { return false }
      state.records[job.key]?.isDownloadUrgent = true
      return true
    }
  }

  /// Records the share of the original that has been received, and returns the job's tasks.
  func downloadProgressed(_ job: RenderJob, _ progress: Double) -> [ImageTask] {
    state.withLock { state in
      guard let record = state.record(of: job), record.stage == .downloading else { return [] }
      state.records[job.key]?.downloadProgress = progress
      return record.tasks
    }
  }

  /// Records that the download or the read has ended. Returns false if the job no longer waited for it.
  func waitEnded(_ job: RenderJob, _ stage: JobStage) -> Bool {
    let (isWaiting, wait) = state.withLock { state -> (Bool, RemoteWait?) in
      guard let record = state.record(of: job), record.stage == stage else { return (false, nil) }
      state.setStage(.opening, of: job.key)
      state.records[job.key]?.downloadProgress = nil
      return (true, state.records[job.key]?.wait.take())
    }
    // Releasing a wait may run code of its own, so the lock is free by now.
    return withExtendedLifetime(wait) { isWaiting }
  }
}
