// Runs background work on the render lane, after all work that a client waits for. It submits one step at a time, and
// the next one only after that has ended, so the lane's queue never holds more than one.

import Dispatch
import Logging
import PhotoModel
import Synchronization

package final class BackgroundRunner: Sendable {
  private struct State {
    var isRunning = false
    /// `begin` was called since `scheduleNext` last began.
    var isRestartRequested = false
  }

  private let works: [any BackgroundWork]
  private let lane: RenderLane
  private let logger: Logger
  /// Runs `scheduleNext`.
  private let queue = DispatchQueue(label: "photod.background", qos: .utility)
  private let stop = StopFlag()
  private let state = Mutex(State())

  /// - Parameter works: done in this order.
  package init(_ works: [any BackgroundWork], lane: RenderLane, logger: Logger) {
    self.works = works
    self.lane = lane
    self.logger = logger
  }

  /// Starts looking for work. Call it whenever there may be something to do.
  package func start() {
    for work in works { work.restart() }
    begin()
  }

  /// Call it when pictures were edited. Restarts only work that follows edits (``BackgroundWork/followsEdits``).
  package func picturesEdited() {
    for work in works where work.followsEdits { work.restart() }
    begin()
  }

  private func begin() {
    let begins = state.withLock { state in
      state.isRestartRequested = true
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if begins { queue.async { [self] in scheduleNext() } }
  }

  /// Stops the current step soon and starts no further one.
  package func cancel() { stop.raise() }

  /// Stops, and saves the results of the steps that have ended. A running step is interrupted; its asset is done in the
  /// next run of the daemon.
  package func stopAndFlush() async {
    cancel()
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        for work in works {
          do throws(AssetSourceError) { try work.flush() } catch {
            logger.error("saving the results of background work failed", metadata: ["error": "\(error)"])
          }
        }
        continuation.resume()
      }
    }
  }

  /// Asks each work in order for its next step.
  private func scheduleNext() {
    state.withLock { $0.isRestartRequested = false }
    for work in works where !stop.isRaised {
      do throws(AssetSourceError) {
        while let step = try work.next() {
          // A step that could never fit is skipped. A later request for its asset is refused with a specific error.
          guard step.bytes <= lane.capacityBytes else { continue }
          lane.submit(.background, bytes: step.bytes) { [self] _ in
            run(step)
            queue.async { [self] in scheduleNext() }
          }
          return
        }
      } catch {
        logger.error("background work stopped after an error", metadata: ["error": "\(error)"])
      }
    }
    let runsAgain = state.withLock { state in
      state.isRunning = state.isRestartRequested && !stop.isRaised
      return state.isRunning
    }
    if runsAgain { queue.async { [self] in scheduleNext() } }
  }

  private func run(_ step: BackgroundStep) {
    guard !stop.isRaised else { return }
    do throws(AssetSourceError) {
      try step.run(stop)
    } catch {
      logger.error("background work failed", metadata: ["error": "\(error)"])
    }
  }
}
