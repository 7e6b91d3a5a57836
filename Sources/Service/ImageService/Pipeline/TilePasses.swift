// Which pictures are being cut into tiles, and which jobs wait for these tiles. There is at most one pass for each
// content: the first requested tile of a picture starts it, and jobs for other tiles wait.

import ImageRender
import PhotoModel
import Synchronization

final class TilePasses: Sendable {
  /// Maximum number of passes that run or wait at the same time. Tiles of further pictures are rendered one by one.
  private static let maximumCount = 4

  private let waiting = Mutex<[ContentVersion: [RenderJob]]>([:])

  enum JoinResult {
    /// The job is the first: the caller must start the pass.
    case mustStart
    case waits
    case refused
  }

  func join(_ job: RenderJob) -> JoinResult {
    let content = job.key.rendition.contentVersion
    return waiting.withLock { waiting in
      if waiting[content] != nil {
        waiting[content]?.append(job)
        return .waits
      }
      guard waiting.count < Self.maximumCount else { return .refused }
      waiting[content] = [job]
      return .mustStart
    }
  }

  /// Removes and returns the jobs that wait for a frame that is ready now.
  func take(_ key: RenditionKey) -> [RenderJob] {
    waiting.withLock { waiting in
      let jobs = waiting[key.contentVersion] ?? []
      let found = jobs.filter { $0.key.rendition == key }
      if !found.isEmpty { waiting[key.contentVersion] = jobs.filter { $0.key.rendition != key } }
      return found
    }
  }

  /// Ends the pass of a content. Returns the jobs that still wait.
  func end(_ content: ContentVersion) -> [RenderJob] { waiting.withLock { $0.removeValue(forKey: content) ?? [] } }
}
