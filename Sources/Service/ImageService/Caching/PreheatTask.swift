// Prepares frames ahead of requests: the part of ImageManager that serves caching managers.
//
//     prepare -> quick lane, when nothing else waits there: memory, disk, a derivative; else a `preheat` job
//
// A request for the same frame joins the job like any other task. The job then has the request's priority.

import PhotoModel
import Synchronization

/// The preparation of one frame. Its holder may cancel it.
package final class PreheatTask: Sendable {
  private struct State {
    var isCancelled = false
    var task: ImageTask?
  }

  private let state = Mutex(State())

  init() {}

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Returns false if the preparation was cancelled before its task existed.
  fileprivate func attach(_ task: ImageTask) -> Bool {
    state.withLock { state in
      state.task = task
      return !state.isCancelled
    }
  }

  fileprivate func cancel() -> ImageTask? {
    state.withLock { state in
      state.isCancelled = true
      return state.task.take()
    }
  }

  /// How the preparation ended.
  package enum Outcome: Sendable {
    /// The frame was already in memory, or another task's job made it.
    case alreadyInMemory(CachedFrame)
    /// The frame was made for this preparation, or read from disk.
    case prepared(CachedFrame)
    /// The frame is incomplete and therefore not kept.
    case incomplete
    /// There was no room for this many bytes.
    case noRoom(Int)
    /// The frame needs the original, which the caller excluded.
    case needsOriginal
    case failed(ImageServiceError)
  }
}

extension ImageManager {
  /// Prepares the final frame of a request, so that a later request finds it in memory. A preparation is not in the
  /// list of requests and has no deadline.
  ///
  /// - Parameters:
  ///   - priority: of the render, if one is needed.
  ///   - withoutOriginal: prepare only from disk or from a derivative; if neither is possible, do nothing.
  ///   - done: called once, on a worker, also after a cancellation.
  package func prepare(
    _ wanted: ResolvedRequest, caller: String, priority: ImagePriority = .preheat, withoutOriginal: Bool,
    done: @escaping @Sendable (PreheatTask, PreheatTask.Outcome) -> Void
  ) -> PreheatTask {
    let preparation = PreheatTask()
    let done: @Sendable (PreheatTask.Outcome) -> Void = { done(preparation, $0) }
    pipeline.quickLane.submitLowPriority { [self] in
      if preparation.isCancelled { return done(.failed(.cancelled)) }
      if let frame = pipeline.cache.memory.peekFrame(for: wanted.key) { return done(.alreadyInMemory(frame)) }
      if let stored = pipeline.cache.store.frame(for: wanted.key) {
        let kept = pipeline.cache.keep(stored, for: wanted.key, onDisk: false)
        return done(kept.cached.map { .prepared($0) } ?? .noRoom(CachedFrame.cost(of: kept)))
      }
      if withoutOriginal && !pipeline.quickFrames.canMake(wanted) { return done(.needsOriginal) }
      begin(preparation, wanted, caller: caller, priority, done)
    }
    return preparation
  }

  /// Downloads an original that is in the cloud before a request needs it. Downloads that requests wait for come first.
  /// Until the wait is cancelled, also after the download has ended, other originals are evicted before this one.
  ///
  /// - Parameter ended: called once, later and on any queue, with whether the original is local, unless the wait is
  ///   cancelled before.
  func download(_ original: OriginalFile, ended: @escaping @Sendable (Bool) -> Void) -> RemoteWait {
    guard let downloader = pipeline.originals.downloader else {
      preconditionFailure("an original of a local library is not in the cloud")
    }
    let wait = downloader.download(original, isUrgent: false, onBytes: { _ in }) { result in
      if case .success = result { ended(true) } else { ended(false) }
    }
    return RemoteWait(cancel: wait.cancel)
  }

  /// Cancels a preparation. Work that no other task waits for stops soon.
  ///
  /// - Returns: whether this stopped a render that had begun.
  package func cancel(_ preparation: PreheatTask) -> Bool {
    guard let task = preparation.cancel() else { return false }
    return cancel(task)
  }

  /// Runs on a quick worker.
  private func begin(
    _ preparation: PreheatTask, _ wanted: ResolvedRequest, caller: String, _ priority: ImagePriority,
    _ done: @escaping @Sendable (PreheatTask.Outcome) -> Void
  ) {
    var context = RequestContext(requestID: "", caller: caller)
    context.priority = priority
    let task = ImageTask(context, wanted, created: now()) { task, delivery in
      switch delivery {
      case .progress, .degraded: break
      case .final(let frame) where frame.result.isInCloud: done(.failed(.inCloud))
      case .final(let frame):
        guard let cached = frame.cached else {
          return done(frame.result.isIncomplete ? .incomplete : .noRoom(CachedFrame.cost(of: frame)))
        }
        done(task.startedJob.load(ordering: .relaxed) ? .prepared(cached) : .alreadyInMemory(cached))
      case .failed(let error): done(.failed(error))
      }
    }
    pipeline.start(task, isOnQuickWorker: true) {
      // Cancelled between creation and `attach`: treat it like a later cancellation.
      if !preparation.attach(task) { _ = cancel(task) }
    }
  }
}
