// Preparing a frame that nobody has asked for yet: what ImageManager does for caching managers.
//
//     prepare -> quick lane, when nothing else waits there: memory, disk, a derivative; else a job of `preheat`
//
// A request that comes meanwhile joins the job as any other would, and the job then presses as much as the request.

import PhotoModel
import Synchronization

/// A frame that is being prepared; whoever has it may give it up.
package final class Preparation: Sendable {
  private struct State {
    var isGivenUp = false
    var task: ImageTask?
  }

  private let state = Mutex(State())

  init() {}

  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

  /// False: it was given up before its task was there.
  fileprivate func began(_ task: ImageTask) -> Bool {
    state.withLock { state in
      state.task = task
      return !state.isGivenUp
    }
  }

  fileprivate func giveUp() -> ImageTask? {
    state.withLock { state in
      state.isGivenUp = true
      return state.task.take()
    }
  }

  /// What became of it.
  package enum Outcome: Sendable {
    /// It was in memory, or somebody else has made it by now.
    case found(CachedFrame)
    /// It was made for this, or read from disk.
    case made(CachedFrame)
    /// It is incomplete, and so is nothing to keep.
    case notKept
    /// There was no room for so many bytes.
    case noRoom(Int)
    /// It takes more than a derivative, and that was not wanted.
    case notFree
    case failed(ImageServiceError)
  }
}

extension ImageManager {
  /// Prepares the final frame of a request, so that it is in memory for whoever asks. It is in no list of requests and
  /// has no deadline.
  ///
  /// - Parameters:
  ///   - onlyIfNearlyFree: where it is kept on disk, or a derivative serves; else nothing is done.
  ///   - done: called once, on a worker, also where it is given up.
  package func prepare(
    _ asset: Asset, _ request: ImageRequest, owner: String, onlyIfNearlyFree: Bool,
    done: @escaping @Sendable (Preparation, Preparation.Outcome) -> Void
  ) -> Preparation {
    let preparation = Preparation()
    let done: @Sendable (Preparation.Outcome) -> Void = { done(preparation, $0) }
    steps.quick.submitIdle { [self] in
      if preparation.isGivenUp { return done(.failed(.cancelled)) }
      let key = RenditionKey(asset, request)
      if let frame = steps.caches.memory.unusedFrame(for: key) { return done(.found(frame)) }
      if let stored = steps.caches.store.frame(for: key) {
        let kept = steps.caches.keep(stored, for: key, onDisk: false)
        return done(kept.cached.map { .made($0) } ?? .noRoom(CachedFrame.cost(of: kept)))
      }
      if onlyIfNearlyFree && !steps.isNearlyFree(asset, request) { return done(.notFree) }
      begin(preparation, asset, request, owner: owner, done)
    }
    return preparation
  }

  /// Nobody needs it any more. What nobody else waits for stops soon.
  ///
  /// - Returns: whether that was a render which had begun: it comes to nothing.
  package func giveUp(_ preparation: Preparation) -> Bool {
    guard let task = preparation.giveUp() else { return false }
    return cancel(task)
  }

  /// On a quick worker.
  private func begin(
    _ preparation: Preparation, _ asset: Asset, _ request: ImageRequest, owner: String,
    _ done: @escaping @Sendable (Preparation.Outcome) -> Void
  ) {
    var caller = Caller(requestID: "", owner: owner)
    caller.priority = .preheat
    let task = ImageTask(caller, asset: asset, request: request, created: now()) { task, delivery in
      switch delivery {
      case .degraded: break
      case .final(let frame):
        guard let cached = frame.cached else {
          return done(frame.result.isIncomplete ? .notKept : .noRoom(CachedFrame.cost(of: frame)))
        }
        done(task.beganItsJob.load(ordering: .relaxed) ? .made(cached) : .found(cached))
      case .failed(let error): done(.failed(error))
      }
    }
    let joined = jobs.join(task)
    // Given up between two lines: it is as if it had been a moment later.
    if !preparation.began(task) { _ = cancel(task) }
    switch joined {
    case .refused: task.finish(.failed(.queueFull))
    case .began(let job):
      steps.metrics.jobBegan()
      steps.beginHere(job, in: jobs)
    case .joined(let job, _, let previews): steps.joined(job, in: jobs, previews: previews)
    }
  }
}

extension JobSteps {
  /// Whether a derivative serves that is there. One system call.
  fileprivate func isNearlyFree(_ asset: Asset, _ request: ImageRequest) -> Bool {
    guard let rung = maker.ladder.rung(for: request, upright: asset.pixelSize, hasAlpha: asset.hasAlpha) else {
      return false
    }
    return caches.store.hasDerivative(rung, of: asset)
  }
}
