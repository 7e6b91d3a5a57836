import ImageCodec
import ImageRender
import PhotoModel
import Primitives
import Synchronization

/// The work that equal tasks share: one final frame, and degraded frames before it for the tasks that want them.
///
/// The job's mutable state is in ``JobTable``.
final class RenderJob: Sendable {
  let key: JobKey
  let asset: Asset
  /// The request of the final frame: always `highQualityFormat`, independent of the delivery modes of the tasks.
  let wanted: SizedRequest
  let created: ContinuousClock.Instant
  /// The caller of the first task, in whose share of the queue the job waits. It is rendered in the turn of this
  /// caller, or of another one that waits for it and comes earlier.
  let caller: String
  /// Raised when the last task leaves, and when the job ends with an error.
  let stop = StopFlag()
  /// Total working time of earlier steps, in nanoseconds.
  private let workNanoseconds = Atomic<Int64>(0)
  /// Whether the original was downloaded from its remote store for this job.
  let hasDownloaded = Atomic<Bool>(false)

  /// Whether the shared store was asked for the derivatives of the asset: once for each job.
  let hasAskedSharedStore = Atomic<Bool>(false)

  /// - Parameter task: the first task that waits for the job.
  init(for task: ImageTask) {
    key = task.key
    asset = task.wanted.asset
    wanted = task.wanted.sized.forFinalFrame
    created = task.created
    caller = task.caller
  }

  /// The request of degraded frames.
  var degradedRequest: SizedRequest { wanted.forDegradedFrame(hasAlpha: asset.hasAlpha) }

  /// Adds the working time of one step.
  func addWorkTime(_ duration: Duration) {
    workNanoseconds.add(duration.wholeNanoseconds, ordering: .relaxed)
  }

  /// How long the job waited for workers and memory before the step that began at `stepBegan`: the job's age minus the
  /// working time of earlier steps.
  func queueTime(before stepBegan: ContinuousClock.Instant) -> Duration {
    max(.zero, created.duration(to: stepBegan) - .nanoseconds(workNanoseconds.load(ordering: .relaxed)))
  }

  /// Whether the job neither reads caches and derivatives nor stores anything in them.
  var bypassesCaches: Bool { key.uncachedRequest != nil }
}

/// Tasks with equal keys wait for the same job.
struct JobKey: Sendable, Hashable {
  let rendition: RenditionKey
  /// Set for a request that bypasses the caches, to measure rendering: its caller and ID, so that no other task shares
  /// the job.
  let uncachedRequest: String?
}

/// An opened original and its header. Jobs that wait for the same asset can share it.
struct OpenedOriginal: Sendable {
  let source: any ByteSource
  let header: ImageHeader
}

/// The stage of a job.
package enum JobStage: String, Sendable {
  /// In the quick lane: looks for a derivative, or opens the original and reads its header.
  case opening
  /// Waits for the download of its original. No worker waits with it.
  case downloading
  /// Waits for its derivatives from the shared store. No worker waits with it.
  case awaitingDerivatives
  /// In the render lane: waits for a worker or for memory.
  case queued
  /// A step runs in the render lane: the job's own, that of a shared decode, or the tile pass that it waits for.
  case rendering
}
