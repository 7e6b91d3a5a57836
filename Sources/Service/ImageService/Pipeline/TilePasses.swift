// Which pictures are being cut into tiles, and which jobs wait for these tiles. There is at most one pass for each
// content: the first requested tile of a picture starts it, and jobs for other tiles wait.

import PhotoModel
import Synchronization

final class TilePasses: Sendable {
  /// Maximum number of passes that run or wait at the same time. Tiles of further pictures are rendered one by one.
  private static let maximumCount = 4

  private struct Pass {
    var jobs: [RenderJob]
    let ticket: RenderLane.Ticket
    var isRunning = false
    /// Whether a job has got its tile. The other tiles are then made for the viewer's next requests.
    var hasServed = false

    /// Whether a job has got its tile, or a job that was not cancelled waits. Otherwise the viewer has left.
    var isWanted: Bool { hasServed || jobs.contains { !$0.stop.isRaised } }
  }

  private let passes = Mutex<[ContentVersion: Pass]>([:])

  enum JoinResult {
    /// The job is the first: the caller must start the pass.
    case mustStart
    /// The pass has this ticket in the render lane.
    case waits(RenderLane.Ticket, isRunning: Bool)
    case refused
  }

  /// - Parameter ticket: for the pass that the job starts.
  func join(_ job: RenderJob, _ ticket: RenderLane.Ticket) -> JoinResult {
    let content = job.key.rendition.contentVersion
    return passes.withLock { passes in
      if let pass = passes[content] {
        passes[content]?.jobs.append(job)
        return .waits(pass.ticket, isRunning: pass.isRunning)
      }
      guard passes.count < Self.maximumCount else { return .refused }
      passes[content] = Pass(jobs: [job], ticket: ticket)
      return .mustStart
    }
  }

  /// The ticket of the pass that a job waits for.
  func ticket(of job: RenderJob) -> RenderLane.Ticket? {
    passes.withLock { passes in
      let pass = passes[job.key.rendition.contentVersion]
      return pass?.jobs.contains(where: { $0 === job }) == true ? pass?.ticket : nil
    }
  }

  /// The jobs that wait for the pass of a content.
  func jobs(of content: ContentVersion) -> [RenderJob] { passes.withLock { $0[content]?.jobs ?? [] } }

  /// Records that a pass begins, and returns the jobs that wait for it. If all of them were cancelled, removes the pass
  /// in the same step, so that a later job starts another one, and returns `nil`.
  ///
  /// - Parameter ticket: the ticket of this pass; there may be a newer pass of the same content.
  func beginIfWanted(_ content: ContentVersion, _ ticket: RenderLane.Ticket) -> [RenderJob]? {
    passes.withLock { passes in
      guard let pass = passes[content], pass.ticket == ticket else { return nil }
      guard pass.isWanted else {
        passes[content] = nil
        return nil
      }
      passes[content]?.isRunning = true
      return pass.jobs
    }
  }

  /// Removes the pass of a content if it has not begun and all its jobs were cancelled. Returns its ticket.
  func removeAbandoned(_ content: ContentVersion) -> RenderLane.Ticket? {
    passes.withLock { passes in
      guard let pass = passes[content], !pass.isRunning, !pass.isWanted else { return nil }
      passes[content] = nil
      return pass.ticket
    }
  }

  /// Removes and returns the jobs that wait for a frame that is ready now.
  func take(_ key: RenditionKey) -> [RenderJob] {
    passes.withLock { passes in
      let jobs = passes[key.contentVersion]?.jobs ?? []
      let found = jobs.filter { $0.key.rendition == key }
      if !found.isEmpty {
        passes[key.contentVersion]?.jobs = jobs.filter { $0.key.rendition != key }
        passes[key.contentVersion]?.hasServed = true
      }
      return found
    }
  }

  /// Whether the running pass of a content is wanted.
  func isWanted(_ content: ContentVersion) -> Bool { passes.withLock { $0[content]?.isWanted ?? false } }

  /// Ends the pass of a content. Returns the jobs that still wait.
  func end(_ content: ContentVersion) -> [RenderJob] {
    passes.withLock { $0.removeValue(forKey: content)?.jobs ?? [] }
  }
}
