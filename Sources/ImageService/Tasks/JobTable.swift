// Who waits for what. Tasks come and go here, jobs are begun and given up; nothing is rendered here, and nobody is called.
//
//     join -> a job of the same key, or a new one            leave -> nothing; or the job presses less; or it is given up
//     looked -> its original is open, others may share it    begin -> it renders, with those who wait for the same original
//     end -> everyone who waited for it
//
// Every change is one event under one lock; what follows from it is told to the caller, who does it without the lock.

import PhotoModel
import Synchronization

final class JobTable: Sendable {
  private struct Record {
    let job: RenderJob
    var tasks: [ImageTask] = []
    var stage = JobStage.looking
    var ticket: RenderLane.Ticket?
    var prospect: Prospect?
    /// Somebody looks for a degraded frame, or did: it is done once.
    var isPreviewed = false
    /// The best degraded frame so far, for those who come later.
    var degraded: ImageFrame?

    var priority: ImagePriority { tasks.lazy.map(\.priority).max() ?? .background }
  }

  private struct State {
    var records: [JobKey: Record] = [:]
    /// Jobs by what they are of, for those that can share a decode.
    var byContent: [ContentVersion: [JobKey]] = [:]
    /// Jobs whose render has not begun.
    var waitingCount = 0

    /// A job's record; `nil` once it was given up, whoever has its key now.
    func record(of job: RenderJob) -> Record? {
      guard let record = records[job.key], record.job === job else { return nil }
      return record
    }

    mutating func start(_ key: JobKey) {
      guard let record = records[key], record.stage != .rendering else { return }
      records[key]?.stage = .rendering
      records[key]?.ticket = nil
      waitingCount -= 1
    }

    mutating func remove(_ key: JobKey) -> Record? {
      guard let record = records.removeValue(forKey: key) else { return nil }
      if record.stage != .rendering { waitingCount -= 1 }
      let content = key.rendition.contentVersion
      byContent[content]?.removeAll { $0 == key }
      if byContent[content]?.isEmpty == true { byContent[content] = nil }
      return record
    }
  }

  private let maximumWaiting: Int
  private let state = Mutex(State())

  /// - Parameter maximumWaiting: jobs whose render has not begun, at most; one more is refused.
  init(maximumWaiting: Int) {
    self.maximumWaiting = max(1, maximumWaiting)
  }

  /// Jobs whose render has not begun.
  var waitingCount: Int { state.withLock { $0.waitingCount } }

  enum Joined {
    /// The job is new: somebody has to begin it.
    case began(RenderJob)
    /// It was there. A frame that its tasks have had is for the new one too; `previews`: nobody looked for one yet, because
    /// nobody wanted it, and the original is open.
    case joined(RenderJob, degraded: ImageFrame?, previews: Bool)
    case refused
  }

  func join(_ task: ImageTask) -> Joined {
    let key = task.key
    return state.withLock { state in
      if var record = state.records[key] {
        record.tasks.append(task)
        let previews = task.wantsDegraded && !record.isPreviewed && record.prospect != nil
        if previews { record.isPreviewed = true }
        state.records[key] = record
        return .joined(record.job, degraded: record.degraded, previews: previews)
      }
      guard state.waitingCount < maximumWaiting else { return .refused }
      var request = task.request
      request.deliveryMode = .highQualityFormat
      request.allowsSecondaryDegradedImage = false
      let job = RenderJob(key: key, asset: task.asset, request: request, created: task.created)
      task.beganItsJob.store(true, ordering: .relaxed)
      state.records[key] = Record(job: job, tasks: [task])
      state.byContent[key.rendition.contentVersion, default: []].append(key)
      state.waitingCount += 1
      return .began(job)
    }
  }

  enum Left {
    /// It presses less, or as much as before, by those who stay.
    case staying(RenderLane.Ticket?, ImagePriority)
    /// It was the last: the job's flag is raised, and it is out of the table. It may still be in line.
    case givenUp(RenderLane.Ticket?, isRendering: Bool)
    case wasNotThere
  }

  func leave(_ task: ImageTask) -> Left {
    let key = task.key
    return state.withLock { state in
      guard let index = state.records[key]?.tasks.firstIndex(where: { $0 === task }) else { return .wasNotThere }
      state.records[key]?.tasks.remove(at: index)
      guard let record = state.records[key] else { return .wasNotThere }
      guard record.tasks.isEmpty else { return .staying(record.ticket, record.priority) }
      record.job.stop.raise()
      _ = state.remove(key)
      return .givenUp(record.ticket, isRendering: record.stage == .rendering)
    }
  }

  /// How much a job presses, and where it waits.
  func standing(_ job: RenderJob) -> (ticket: RenderLane.Ticket?, priority: ImagePriority)? {
    state.withLock { state in state.record(of: job).map { ($0.ticket, $0.priority) } }
  }

  /// How far a job has come; `nil`: it is over.
  func stage(_ key: JobKey) -> JobStage? { state.withLock { $0.records[key]?.stage } }

  /// The original of a job, once it is open.
  func prospect(of job: RenderJob) -> Prospect? { state.withLock { $0.record(of: job)?.prospect } }

  /// An original that another job of the same content has open and has not begun to read.
  func prospect(for job: RenderJob) -> Prospect? {
    state.withLock { state in
      for key in state.byContent[job.key.rendition.contentVersion] ?? [] {
        if let record = state.records[key], record.stage != .rendering, let prospect = record.prospect {
          return prospect
        }
      }
      return nil
    }
  }

  /// The job's original is open. True: a degraded frame is wanted, and the caller is the one to look for it.
  func looked(_ job: RenderJob, _ prospect: Prospect) -> Bool {
    state.withLock { state in
      guard var record = state.record(of: job) else { return false }
      record.prospect = prospect
      let previews = !record.isPreviewed && record.tasks.contains(where: \.wantsDegraded)
      if previews { record.isPreviewed = true }
      state.records[job.key] = record
      return previews
    }
  }

  /// A degraded frame is there: who wants it.
  func degraded(_ job: RenderJob, _ frame: ImageFrame) -> [ImageTask] {
    state.withLock { state in
      guard let record = state.record(of: job) else { return [] }
      if (record.degraded?.result.size.width ?? 0) < frame.result.size.width {
        state.records[job.key]?.degraded = frame
      }
      return record.tasks.filter(\.wantsDegraded)
    }
  }

  /// The job is in line for its render. How much it presses by now; `nil`: it was given up meanwhile.
  func queued(_ job: RenderJob, _ ticket: RenderLane.Ticket) -> ImagePriority? {
    state.withLock { state in
      guard let record = state.record(of: job) else { return nil }
      // A quick worker may have begun it before we come to note where it waits.
      guard record.stage == .looking else { return record.priority }
      state.records[job.key]?.ticket = ticket
      state.records[job.key]?.stage = .waiting
      return record.priority
    }
  }

  /// What a render begins with.
  struct Start {
    let prospect: Prospect
    /// Somebody wants a degraded frame that is wider than this: 0 where none was seen yet. `nil`: nobody does.
    let wantedBeyondWidth: Int?
  }

  /// The job's render begins; `nil`: it was given up.
  func begin(_ job: RenderJob) -> Start? {
    state.withLock { state in
      guard let record = state.record(of: job), let prospect = record.prospect else { return nil }
      state.start(job.key)
      let shown = record.degraded?.result.size.width ?? 0
      let wants = record.tasks.contains {
        $0.wantsDegraded && (shown == 0 || $0.request.allowsSecondaryDegradedImage)
      }
      return Start(prospect: prospect, wantedBeyondWidth: wants ? shown : nil)
    }
  }

  /// Other jobs that wait for a render of the same original, with their tickets: candidates to share a decode.
  func siblings(of job: RenderJob) -> [(job: RenderJob, ticket: RenderLane.Ticket)] {
    guard !job.bypassesCaches else { return [] }
    return state.withLock { state in
      (state.byContent[job.key.rendition.contentVersion] ?? []).compactMap { key in
        guard key != job.key, key.fresh == nil, let record = state.records[key], record.stage == .waiting,
          let ticket = record.ticket, record.degraded != nil || !record.tasks.contains(where: \.wantsDegraded)
        else { return nil }
        return (record.job, ticket)
      }
    }
  }

  /// A sibling's render begins as part of another's.
  func beginShared(_ job: RenderJob) {
    state.withLock { state in
      if state.record(of: job) != nil { state.start(job.key) }
    }
  }

  /// The job is over: everyone who waits for it.
  func end(_ job: RenderJob) -> [ImageTask] {
    state.withLock { state in
      guard state.record(of: job) != nil else { return [] }
      return state.remove(job.key)?.tasks ?? []
    }
  }
}
