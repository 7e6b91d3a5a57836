// Derivatives that another daemon has made. A job whose derivative is not on the local disk waits for the shared store
// without a worker, as jobs wait for downloads:
//
//     waitForSharedDerivatives -> FrameStore.readShared: one read for all who wait -> disk cache
//       -> quick lane: the first step again
//
// After the read, the job continues without the shared store, whatever the result.

import PhotoModel

extension ImagePipeline {
  /// Starts to read the derivatives of a job's asset from the shared store, if one of them is missing here and would serve
  /// the job.
  ///
  /// - Returns: whether the job waits. Otherwise it continues with its original.
  func waitForSharedDerivatives(_ job: RenderJob, stepBegan: ContinuousClock.Instant) -> Bool {
    guard cache.store.shared != nil, !job.hasAskedSharedStore.load(ordering: .relaxed),
      quickFrames.lacksDerivative(job, orDegraded: originals.isInCloud(job.asset.original) && jobs.wantsLocalFrame(job))
    else { return false }
    job.hasAskedSharedStore.store(true, ordering: .relaxed)
    guard jobs.derivativesAwaited(job) else { return false }
    let read = cache.store.readShared(of: job.asset) { [self] in
      if jobs.waitEnded(job, .awaitingDerivatives) { queueFirstStep(of: job) }
    }
    // Not asked: the job continues, unless it has just been cancelled.
    guard let read else { return !jobs.waitEnded(job, .awaitingDerivatives) }
    job.addWorkTime(stepBegan.duration(to: now()))
    jobs.waitBegan(job, read, .awaitingDerivatives)?.cancel()
    return true
  }
}
