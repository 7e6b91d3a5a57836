import PhotoModel
import Synchronization

/// Placeholders as background work: where one source of a placeholder led to none, the next is a step of its own.
package final class PlaceholderSteps: BackgroundWork {
  private let work: PlaceholderWork
  private let followUp = Mutex<PlaceholderWork.Step?>(nil)

  package init(_ work: PlaceholderWork) { self.work = work }

  package func restart() { work.restart() }

  package func next() throws(AssetSourceError) -> BackgroundStep? {
    let step: PlaceholderWork.Step?
    if let waiting = followUp.withLock({ $0.take() }) { step = waiting } else { step = try work.next() }
    guard let step else { return nil }
    return BackgroundStep(bytes: step.peakBytes) { [self] stop throws(AssetSourceError) in
      let next = try work.carryOut(step, stop: stop)
      followUp.withLock { $0 = next }
    }
  }

  package func finish() throws(AssetSourceError) { try work.flush() }
}
