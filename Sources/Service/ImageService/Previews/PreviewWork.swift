import PhotoModel
import Synchronization

/// A decode or a render of a preview on the render lane, which can be cancelled at any time. While it waits it is
/// withdrawn, so that it takes no turn, no memory and no place in its caller's queue; while it runs it stops soon.
final class PreviewWork: Sendable {
  /// Raised by ``cancel()``.
  let stop = StopFlag()
  private let lane: RenderLane
  /// Of the latest ``submit(bytes:for:_:)``.
  private let ticket = Mutex<RenderLane.Ticket?>(nil)

  init(_ lane: RenderLane) { self.lane = lane }

  /// Queues `work` with a reservation of `bytes` of memory. `work` is not called if it is cancelled before its turn.
  func submit(bytes: Int, for caller: String, _ work: @escaping RenderLane.Work) {
    let new = lane.makeTicket()
    ticket.withLock { $0 = new }
    lane.submit(.high, bytes: bytes, for: caller, as: new) { [stop] reservation in
      if !stop.isRaised { work(reservation) }
    }
    // A `cancel` before `submit` found nothing to withdraw.
    if stop.isRaised { lane.withdraw(new) }
  }

  func cancel() {
    stop.raise()
    if let waiting = ticket.withLock({ $0 }) { lane.withdraw(waiting) }
  }
}
