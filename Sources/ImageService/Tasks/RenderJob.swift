import ImageCodec
import ImageRender
import PhotoModel

/// The work that equal tasks share: one final frame, and degraded ones before it for those who want them.
///
/// What changes of it is in ``JobTable``.
final class RenderJob: Sendable {
  let key: JobKey
  let asset: Asset
  /// What the final frame is of: `highQualityFormat`, whatever its tasks' delivery modes are.
  let request: ImageRequest
  let created: ContinuousClock.Instant
  /// Raised when the last task has left.
  let stop = StopFlag()

  init(key: JobKey, asset: Asset, request: ImageRequest, created: ContinuousClock.Instant) {
    self.key = key
    self.asset = asset
    self.request = request
    self.created = created
  }

  /// Neither looks into a cache or at a derivative nor leaves anything there.
  var bypassesCaches: Bool { key.fresh != nil }
}

/// What makes two tasks wait for the same job.
struct JobKey: Sendable, Hashable {
  let rendition: RenditionKey
  /// Rendered from the original for one who measures that, and whose it is; shared with nobody.
  let fresh: String?
}

/// An original that was opened, and what its header says: what jobs that wait for the same asset have in common.
struct Prospect: Sendable {
  let source: any ByteSource
  let header: ImageHeader
}

/// How far a job has come.
package enum JobStage: String, Sendable {
  /// In the quick lane: the caches, the derivatives, the original's header.
  case looking
  /// In the render lane, for a worker or for memory.
  case waiting
  case rendering
}
