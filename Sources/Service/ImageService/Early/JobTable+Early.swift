// The part of JobTable for frames that jobs make of an original while it is being downloaded.

import PhotoModel

extension JobTable {
  /// Whether a step of a job that waits for its download can begin with the bytes that have been received. The step
  /// then belongs to the caller, which ends it with ``earlyStepEnded(_:_:)``.
  func earlyStepBegins(_ job: RenderJob, _ source: any ArrivingSource) -> EarlyProgress? {
    let (available, size) = (source.availableBytes, source.size)
    return state.withLock { state in
      guard let record = state.record(of: job), record.stage == .downloading, record.early.isReady(available, of: size)
      else { return nil }
      state.records[job.key]?.early.isStepping = true
      return record.early
    }
  }

  func earlyStepEnded(_ job: RenderJob, _ early: EarlyProgress) {
    state.withLock { state in
      guard state.record(of: job) != nil else { return }
      state.records[job.key]?.early = early
      state.records[job.key]?.early.isStepping = false
    }
  }

  /// Which degraded frame the tasks of a job want now.
  func degradedDemand(of job: RenderJob) -> DegradedFrameDemand {
    state.withLock { $0.record(of: job)?.degradedDemand ?? .nothing }
  }

  /// Records that a degraded frame of an original that arrives is in the render lane's queue. Returns false if the job
  /// no longer waits for its download.
  func earlyFrameQueued(_ job: RenderJob, _ ticket: RenderLane.Ticket) -> Bool {
    state.withLock { state in
      guard state.record(of: job)?.stage == .downloading else { return false }
      state.records[job.key]?.ticket = ticket
      return true
    }
  }

  /// Other jobs that wait for the same download: candidates for a shared decode.
  ///
  /// - Parameter others: callers that the render delays, besides those that wait for the job.
  func downloadSiblings(of job: RenderJob, delaying others: Set<String>) -> [RenderJob] {
    state.withLock { state in
      state.siblings(of: job, delaying: others) { $0.stage == .downloading }.map(\.job)
    }
  }
}
