import PhotoModel
import Synchronization

/// Runs the placeholder producer as background work. If one source gives no placeholder, the next source is a separate
/// step.
package final class PlaceholderBackgroundWork: BackgroundWork {
  private let work: PlaceholderProducer
  private let followUp = Mutex<PlaceholderProducer.Step?>(nil)

  package init(_ work: PlaceholderProducer) { self.work = work }

  package func restart() { work.restart() }

  package var followsEdits: Bool { true }

  package func next() throws(AssetSourceError) -> BackgroundStep? {
    let step: PlaceholderProducer.Step?
    if let waiting = followUp.withLock({ $0.take() }) { step = waiting } else { step = try work.next() }
    guard let step else { return nil }
    return BackgroundStep(bytes: step.peakBytes) { [self] stop throws(AssetSourceError) in
      let next = try work.run(step, stop: stop)
      followUp.withLock { $0 = next }
    }
  }

  package func flush() throws(AssetSourceError) { try work.flush() }
}
