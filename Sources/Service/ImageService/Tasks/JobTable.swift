// Which tasks wait for which job. Tasks join and leave here; jobs are created and cancelled here. This file renders
// nothing and calls no handler.
//
//     join -> an existing job with the same key, or a new one
//     leave -> nothing; or the job's priority falls; or the job is cancelled
//     originalOpened -> the job's original is open, other jobs may share it
//     derivativesAwaited -> the job waits for its derivatives from the shared store
//     originalIsInCloud -> tasks that may not use the network leave; the job waits for a download
//     waitEnded -> the job continues with what it has waited for
//     renderingBegan -> a step of the job runs in the render lane
//     siblings -> jobs that may be rendered together with it, because they wait for the same original
//     jobEnded -> all tasks that waited for the job
//
// Every change is one event under one lock. Each method returns the consequences, and the caller acts on them without
// the lock.

import PhotoModel
import Synchronization

final class JobTable: Sendable {
  struct Record {
    let job: RenderJob
    var tasks: [ImageTask] = []
    var stage = JobStage.opening
    var ticket: RenderLane.Ticket?
    /// Whether the queued step decodes the original's picture, so that the render of another job may make the frame.
    var sharesDecode = false
    var original: OpenedOriginal?
    /// Whether the job waits for a tile pass, so it does not read its original itself.
    var awaitsTilePass = false
    /// The download, or the read of the shared store, that the job waits for.
    var wait: RemoteWait?
    var isDownloadUrgent = false
    var downloadProgress: Double?
    /// The progress of the early frames, which are made while the original arrives.
    var early = EarlyProgress()
    /// Whether the search for a degraded frame has started; it is done once for each job.
    var hasStartedDegradedFrame = false
    /// The best degraded frame so far, for tasks that join later.
    var degraded: ImageFrame?

    var priority: ImagePriority { tasks.lazy.map(\.priority).max() ?? .background }
    /// The callers that wait for the job.
    var callers: Set<String> { Set(tasks.lazy.map(\.caller)) }

    var degradedDemand: DegradedFrameDemand {
      let waiting = tasks.lazy.filter(\.wantsDegraded)
      guard let degraded else { return waiting.isEmpty ? .nothing : .any }
      return waiting.contains(where: \.request.allowsSecondaryDegradedImage)
        ? .wider(than: degraded.result.size.width) : .nothing
    }
  }

  /// Which degraded frame the tasks of a job want.
  enum DegradedFrameDemand {
    case nothing
    /// The tasks have received no degraded frame yet.
    case any
    /// The tasks have received a degraded frame of this width.
    case wider(than: Int)

    func includes(_ size: PixelSize) -> Bool {
      switch self {
      case .nothing: false
      case .any: true
      case .wider(let width): size.width > width
      }
    }
  }

  struct State {
    var records: [JobKey: Record] = [:]
    /// Job keys by content version, to find jobs that can share a decode.
    var byContent: [ContentVersion: [JobKey]] = [:]
    /// Jobs whose render has not begun, without those that wait for a remote store.
    var waiting: CallerShares
    /// Jobs that wait for a remote store: counted separately, so a slow store does not refuse local pictures.
    var remoteCount = 0

    /// A job's record; `nil` once the job was cancelled, even if a newer job has its key.
    func record(of job: RenderJob) -> Record? {
      guard let record = records[job.key], record.job === job else { return nil }
      return record
    }

    /// Other jobs for the same content that may share this job's render, oldest first: every job that all delayed
    /// callers wait for, and at most ``maximumUnwantedSiblings`` others.
    ///
    /// - Parameter others: further callers that the render delays, besides those that wait for the job.
    func siblings(of job: RenderJob, delaying others: Set<String>, where isCandidate: (Record) -> Bool) -> [Record] {
      let delayed = others.union(record(of: job)?.callers ?? [])
      var unwanted = 0
      return (byContent[job.key.rendition.contentVersion] ?? []).compactMap { key -> Record? in
        guard key != job.key, key.uncachedRequest == nil, let record = records[key], isCandidate(record) else {
          return nil
        }
        if !delayed.isSubset(of: record.callers) {
          if unwanted == JobTable.maximumUnwantedSiblings { return nil }
          unwanted += 1
        }
        return record
      }
    }

    mutating func setStage(_ stage: JobStage, of key: JobKey) {
      guard let record = records[key] else { return }
      stageEnded(record)
      records[key]?.stage = stage
      stageBegan(stage, of: record.job)
    }

    mutating func stageBegan(_ stage: JobStage, of job: RenderJob) {
      switch stage {
      case .opening, .queued: waiting.change(of: job.caller, by: 1)
      case .downloading, .awaitingDerivatives: remoteCount += 1
      case .rendering: break
      }
    }

    private mutating func stageEnded(_ record: Record) {
      switch record.stage {
      case .opening, .queued: waiting.change(of: record.job.caller, by: -1)
      case .downloading, .awaitingDerivatives: remoteCount -= 1
      case .rendering: break
      }
    }

    mutating func remove(_ key: JobKey) -> Record? {
      guard let record = records.removeValue(forKey: key) else { return nil }
      stageEnded(record)
      let content = key.rendition.contentVersion
      byContent[content]?.removeAll { $0 == key }
      if byContent[content]?.isEmpty == true { byContent[content] = nil }
      return record
    }
  }

  /// Maximum number of siblings in a render that at least one delayed caller does not wait for. A delayed caller waits
  /// for the rendered job, or for a turn in the lane. Each sibling is resampled and encoded, so without this limit one
  /// caller's many large sizes would delay another caller by several renders.
  static let maximumUnwantedSiblings = 2

  /// Maximum number of jobs that wait for a render, and of jobs that wait for a remote store, counted separately.
  let maximumWaiting: Int
  /// Used by the extensions too.
  let state: Mutex<State>

  /// - Parameter maximumWaiting: maximum number of jobs whose render has not begun, as ``CallerShares`` counts them;
  ///   further jobs are refused.
  init(maximumWaiting: Int) {
    self.maximumWaiting = max(1, maximumWaiting)
    state = Mutex(State(waiting: CallerShares(maximum: maximumWaiting)))
  }

  /// Jobs whose render has not begun.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  enum JoinResult {
    /// The job is new; the caller must start it.
    case newJob(RenderJob)
    /// The job already existed. `degraded` is the frame that its earlier tasks have received. `needsDegradedFrame`: the
    /// original is open, and no degraded frame was searched for because no earlier task wanted one.
    case existingJob(RenderJob, degraded: ImageFrame?, needsDegradedFrame: Bool)
    /// The job waits for a download, and the task may not use the network: it is not in the job.
    case inCloud(degraded: ImageFrame?)
    case queueFull
  }

  func join(_ task: ImageTask) -> JoinResult {
    let key = task.key
    return state.withLock { state in
      if var record = state.records[key] {
        if record.stage == .downloading, !task.allowsNetwork { return .inCloud(degraded: record.degraded) }
        record.tasks.append(task)
        let needsDegradedFrame = task.wantsDegraded && !record.hasStartedDegradedFrame && record.original != nil
        if needsDegradedFrame { record.hasStartedDegradedFrame = true }
        state.records[key] = record
        return .existingJob(record.job, degraded: record.degraded, needsDegradedFrame: needsDegradedFrame)
      }
      guard state.waiting.hasRoom(for: task.caller) else { return .queueFull }
      let job = RenderJob(for: task)
      task.startedJob.store(true, ordering: .relaxed)
      state.records[key] = Record(job: job, tasks: [task])
      state.byContent[key.rendition.contentVersion, default: []].append(key)
      state.stageBegan(.opening, of: job)
      return .newJob(job)
    }
  }

  enum LeaveResult {
    /// Other tasks of the job remain. Its priority is now theirs: the same as before, or lower.
    case stillNeeded(RenderJob)
    /// It was the last task: the job's stop flag is raised, and the job is out of the table. It may still be in a
    /// queue.
    case cancelled(RenderLane.Ticket?, RemoteWait?, isRendering: Bool)
    case notFound
  }

  func leave(_ task: ImageTask) -> LeaveResult {
    let key = task.key
    return state.withLock { state in
      guard let index = state.records[key]?.tasks.firstIndex(where: { $0 === task }) else { return .notFound }
      state.records[key]?.tasks.remove(at: index)
      guard let record = state.records[key] else { return .notFound }
      guard record.tasks.isEmpty else { return .stillNeeded(record.job) }
      record.job.stop.raise()
      _ = state.remove(key)
      // A tile pass continues without the job.
      let isRendering = record.stage == .rendering && !record.awaitsTilePass
      return .cancelled(record.ticket, record.wait, isRendering: isRendering)
    }
  }

  /// A job's priority; `nil` if the job has ended.
  func priority(of job: RenderJob) -> ImagePriority? { state.withLock { $0.record(of: job)?.priority } }

  /// A job's priority, and its ticket in the render lane if it has one.
  func ticketAndPriority(of job: RenderJob) -> (ticket: RenderLane.Ticket?, priority: ImagePriority)? {
    state.withLock { state in state.record(of: job).map { ($0.ticket, $0.priority) } }
  }

  /// The callers that wait for a job; empty if the job has ended.
  func callers(of job: RenderJob) -> Set<String> { state.withLock { $0.record(of: job)?.callers ?? [] } }

  /// A job's stage; `nil` if the job has ended.
  func stage(_ key: JobKey) -> JobStage? { stageAndProgress(key).stage }

  /// A job's stage, and the share of its original that has been received while it waits for the download.
  func stageAndProgress(_ key: JobKey) -> (stage: JobStage?, progress: Double?) {
    state.withLock { ($0.records[key]?.stage, $0.records[key]?.downloadProgress) }
  }

  /// The original of a job, once it is open.
  func original(of job: RenderJob) -> OpenedOriginal? { state.withLock { $0.record(of: job)?.original } }

  /// An original that another job of the same content has opened and does not read now: it waits, or a tile pass reads
  /// for it.
  func sharedOriginal(for job: RenderJob) -> OpenedOriginal? {
    state.withLock { state in
      for key in state.byContent[job.key.rendition.contentVersion] ?? [] {
        guard let record = state.records[key], let original = record.original else { continue }
        if record.stage != .rendering || record.awaitsTilePass { return original }
      }
      return nil
    }
  }

  /// Records that the job's original is open. Returns true if a degraded frame is wanted; the caller must then look for
  /// one.
  func originalOpened(_ job: RenderJob, _ original: OpenedOriginal) -> Bool {
    state.withLock { state in
      guard var record = state.record(of: job) else { return false }
      record.original = original
      let needsDegradedFrame = !record.hasStartedDegradedFrame && record.tasks.contains(where: \.wantsDegraded)
      if needsDegradedFrame { record.hasStartedDegradedFrame = true }
      state.records[job.key] = record
      return needsDegradedFrame
    }
  }

  /// Whether all tasks of a job take whichever frame is ready first.
  func wantsOnlyFirstFrame(_ job: RenderJob) -> Bool {
    state.withLock { state in
      state.record(of: job)?.tasks.allSatisfy { $0.request.deliveryMode == .fastFormat } ?? false
    }
  }

  /// Records a degraded frame and returns the tasks that want it.
  func degradedFrameReady(_ job: RenderJob, _ frame: ImageFrame) -> [ImageTask] {
    state.withLock { state in
      guard let record = state.record(of: job) else { return [] }
      if (record.degraded?.result.size.width ?? 0) < frame.result.size.width {
        state.records[job.key]?.degraded = frame
      }
      return record.tasks.filter(\.wantsDegraded)
    }
  }

  /// Records that a step of the job comes into the render lane's queue; a step that has failed may queue another one.
  /// Call it before the step may start. Returns the job's current priority; `nil` if the job was cancelled.
  ///
  /// - Parameter sharesDecode: the step decodes the original's picture, so another job's render may make the frame.
  func renderQueued(_ job: RenderJob, _ ticket: RenderLane.Ticket, sharesDecode: Bool) -> ImagePriority? {
    state.withLock { state in
      guard let record = state.record(of: job) else { return nil }
      state.records[job.key]?.ticket = ticket
      state.records[job.key]?.sharesDecode = sharesDecode
      state.records[job.key]?.awaitsTilePass = false
      state.setStage(.queued, of: job.key)
      return record.priority
    }
  }

  /// Records that the job waits for a pass over its picture, which makes its tile. Only the pass has a ticket in the
  /// render lane.
  func tilePassAwaited(_ job: RenderJob) {
    state.withLock { state in
      guard state.record(of: job) != nil else { return }
      state.setStage(.queued, of: job.key)
      state.records[job.key]?.ticket = nil
      state.records[job.key]?.awaitsTilePass = true
    }
  }

  /// Records that the job's pass has begun. Has no effect if the job waits for a render of its own by now.
  func tilePassBegan(_ job: RenderJob) {
    state.withLock { state in
      guard let record = state.record(of: job), record.stage == .queued, record.awaitsTilePass else { return }
      state.setStage(.rendering, of: job.key)
    }
  }

  /// Records that a step of the job begins in the render lane: its own, or one of a job that it shares a decode with.
  /// Returns false if the job was cancelled.
  @discardableResult
  func renderingBegan(_ job: RenderJob) -> Bool {
    state.withLock { state in
      guard state.record(of: job) != nil else { return false }
      state.setStage(.rendering, of: job.key)
      state.records[job.key]?.ticket = nil
      return true
    }
  }

  /// The state with which a render begins.
  struct RenderStart {
    let original: OpenedOriginal
    let degradedDemand: DegradedFrameDemand
  }

  /// What a render of the job's original begins with; `nil` if the job was cancelled.
  func renderStart(of job: RenderJob) -> RenderStart? {
    state.withLock { state in
      guard let record = state.record(of: job), let original = record.original else { return nil }
      return RenderStart(original: original, degradedDemand: record.degradedDemand)
    }
  }

  /// Other jobs that wait to decode the same original's picture, with their tickets: candidates for a shared decode.
  ///
  /// - Parameter others: callers that the render delays, besides those that wait for the job.
  func siblings(
    of job: RenderJob, delaying others: Set<String>
  ) -> [(job: RenderJob, ticket: RenderLane.Ticket)] {
    guard !job.bypassesCaches else { return [] }
    return state.withLock { state in
      let records = state.siblings(of: job, delaying: others) { record in
        guard record.stage == .queued, record.ticket != nil, record.sharesDecode else { return false }
        return record.degraded != nil || !record.tasks.contains(where: \.wantsDegraded)
      }
      return records.compactMap { record in
        guard let ticket = record.ticket else { return nil }
        return (record.job, ticket)
      }
    }
  }

  /// Removes a job that has ended and returns all its tasks.
  func jobEnded(_ job: RenderJob) -> [ImageTask] {
    state.withLock { state in
      guard state.record(of: job) != nil else { return [] }
      return state.remove(job.key)?.tasks ?? []
    }
  }
}
