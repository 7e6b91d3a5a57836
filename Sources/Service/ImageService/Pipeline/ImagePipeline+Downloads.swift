// Originals of a remote library that are not on this machine. A job waits for the download without a worker:
//
//     waitForOriginal -> tasks that may not use the network get a frame from a derivative or thumbnail, or fail with `inCloud`
//                     -> the others get a degraded frame, if they want one and there is one
//                     -> OriginalDownloader.download: one download for all who wait -> quick lane: plan, or what has
//                        begun in ImagePipeline+EarlyFrames ends
//
// The download is cancelled when the last task leaves, unless that task has reached its deadline: then it continues, so
// that the next request gets further.

import PhotoModel
import Synchronization

extension ImagePipeline {
  /// Runs on a worker, and only starts the download.
  func waitForOriginal(_ job: RenderJob, stepBegan: ContinuousClock.Instant) throws(ImageServiceError) {
    let local = jobs.wantsLocalFrame(job) ? localFrame(of: job, stepBegan: stepBegan) : nil
    job.addWorkTime(stepBegan.duration(to: now()))
    let inCloud = jobs.originalIsInCloud(job)
    if let local, !inCloud.leaving.isEmpty { metrics.delivered(local) }
    for task in inCloud.leaving { task.finish(local.map { .final($0) } ?? .failed(.inCloud)) }
    switch inCloud.next {
    case .ended: return
    case .queueFull: throw .queueFull
    case .download(let isUrgent):
      downloadOriginal(of: job, isUrgent: isUrgent)
      if let local { delivery.deliver(degraded: local, job) }
    }
  }

  /// Starts the download that a job waits for, or starts it again with more urgency.
  func downloadOriginal(of job: RenderJob, isUrgent: Bool) {
    guard let downloader = originals.downloader else { return delivery.fail(job, .inCloud) }
    let wait = downloader.download(
      job.asset.original, isUrgent: isUrgent, onBytes: { [self] source in bytesArrived(source, job) }
    ) { [self] result in originalDownloaded(result, job) }
    let remoteWait = RemoteWait(cancel: wait.cancel, expire: wait.expire)
    jobs.waitBegan(job, remoteWait, .downloading, isUrgent: isUrgent)?.cancel()
  }

  /// Ends a task that may not use the network, whose job waits for a download.
  func finishInCloud(_ task: ImageTask, _ degraded: ImageFrame?) {
    if let degraded { return task.finish(.final(degraded)) }
    let isAccepted = quickLane.submit { [self] in
      // The frame is for this task only: the job may end before it is delivered.
      guard let frame = localFrame(of: RenderJob(for: task), stepBegan: now()) else {
        return task.finish(.failed(.inCloud))
      }
      metrics.delivered(frame)
      task.finish(.final(frame))
    }
    if !isAccepted { task.finish(.failed(.queueFull)) }
  }

  private func localFrame(of job: RenderJob, stepBegan: ContinuousClock.Instant) -> ImageFrame? {
    quickFrames.localFrame(
      of: job, head: { originals.downloader?.head(of: job.asset.original) }, stepBegan: stepBegan)
  }

  private func originalDownloaded(_ result: Result<any FileByteSource, OriginalDownloadError>, _ job: RenderJob) {
    guard jobs.waitEnded(job, .downloading) else { return }
    switch result {
    case .failure(let error): delivery.fail(job, ImageServiceError(error))
    case .success(let source):
      job.hasDownloaded.store(true, ordering: .relaxed)
      queueQuickStep(job) { [self] () throws(ImageServiceError) in
        let began = now()
        let original = try opened(source, job)
        if !continueEarlyRender(of: job, original) { try plan(job, original, stepBegan: began) }
      }
    }
  }
}
