import Dispatch
import LibraryFolder

/// The sources that wake a watcher: kernel events, and a timer for the next path that is due.
///
/// `@unchecked Sendable` because dispatch sources may be used from any thread, although their types do not declare it.
struct WatchWakeUps: @unchecked Sendable {
  private let events: FolderEvents
  private let source: any DispatchSourceRead
  private let timer: any DispatchSourceTimer

  /// - Parameter queue: the queue of both handlers.
  init(of events: FolderEvents, on queue: DispatchQueue) {
    self.events = events
    source = DispatchSource.makeReadSource(fileDescriptor: events.descriptor, queue: queue)
    timer = DispatchSource.makeTimerSource(queue: queue)
  }

  /// Starts to call the handlers. Call it once.
  func activate(eventsArrived: @escaping @Sendable () -> Void, timerFired: @escaping @Sendable () -> Void) {
    source.setEventHandler { eventsArrived() }
    // The event source uses the descriptor until it is cancelled.
    source.setCancelHandler { [events] in withExtendedLifetime(events) {} }
    timer.setEventHandler { timerFired() }
    source.activate()
    timer.activate()
  }

  /// Sets the timer. A time that has passed fires it at once.
  func wake(after nanoseconds: Int64) {
    timer.schedule(deadline: .now() + .nanoseconds(Int(max(0, nanoseconds))), leeway: .milliseconds(5))
  }

  /// Ends both. Later calls do nothing.
  func cancel() {
    source.cancel()
    timer.cancel()
  }
}
