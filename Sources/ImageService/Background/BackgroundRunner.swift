// Carries out background work on the render lane, behind everything that somebody waits for: one step at a time, so that
// there is never more than one in line, and the next is looked for only when the last is done.

import Dispatch
import Logging
import PhotoModel
import Synchronization

package final class BackgroundRunner: Sendable {
  private struct State {
    var isRunning = false
    /// It was started again while it ran.
    var isDue = false
  }

  private let works: [any BackgroundWork]
  private let lane: RenderLane
  private let logger: Logger
  /// Where the next step is looked for.
  private let queue = DispatchQueue(label: "photod.background", qos: .utility)
  private let stop = StopFlag()
  private let state = Mutex(State())

  /// - Parameter works: in the order in which they are done.
  package init(_ works: [any BackgroundWork], lane: RenderLane, logger: Logger) {
    self.works = works
    self.lane = lane
    self.logger = logger
  }

  /// There may be something to do.
  package func start() {
    for work in works { work.restart() }
    let begins = state.withLock { state in
      state.isDue = true
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if begins { queue.async { [self] in lookForMore() } }
  }

  /// Ends what is under way, soon, and begins nothing more.
  package func end() { stop.raise() }

  /// Ends, and returns when what was done is kept.
  package func ended() async {
    end()
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        for work in works {
          do throws(AssetSourceError) { try work.finish() } catch {
            logger.error("background work can't be kept", metadata: ["error": "\(error)"])
          }
        }
        continuation.resume()
      }
    }
  }

  /// Asks each work in turn for its next step.
  private func lookForMore() {
    state.withLock { $0.isDue = false }
    for work in works where !stop.isRaised {
      do throws(AssetSourceError) {
        while let step = try work.next() {
          // One that could never fit is passed over: its asset is asked for one day, and refused by name.
          guard step.bytes <= lane.capacityBytes else { continue }
          lane.submit(.background, bytes: step.bytes) { [self] _ in
            carryOut(step)
            queue.async { [self] in lookForMore() }
          }
          return
        }
      } catch {
        logger.error("background work has ended", metadata: ["error": "\(error)"])
      }
    }
    let isDue = state.withLock { state in
      state.isRunning = state.isDue && !stop.isRaised
      return state.isRunning
    }
    if isDue { queue.async { [self] in lookForMore() } }
  }

  private func carryOut(_ step: BackgroundStep) {
    guard !stop.isRaised else { return }
    do throws(AssetSourceError) {
      try step.carryOut(stop)
    } catch {
      logger.error("background work failed", metadata: ["error": "\(error)"])
    }
  }
}
