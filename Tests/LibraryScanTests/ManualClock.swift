import LibraryScan
import PhotoModel
import Synchronization

/// A clock that moves only when a scan waits, and by `advance`. It begins at the current time.
final class ManualClock: Sendable {
  private let time = Mutex(LibraryEnvironment.system.now())
  private let waits = Mutex<[Int64]>([])

  /// The nanoseconds of each wait so far.
  var waited: [Int64] { waits.withLock { $0 } }

  func advance(_ duration: Duration) { time.withLock { $0 += Int64(duration / .nanoseconds(1)) } }

  /// - Parameter meanwhile: called during each wait.
  func environment(_ meanwhile: @escaping @Sendable (StopFlag) -> Void = { _ in }) -> LibraryEnvironment {
    var environment = LibraryEnvironment.system
    environment.now = { [self] in time.withLock { $0 } }
    environment.wait = { [self] nanoseconds, stop in
      waits.withLock { $0.append(nanoseconds) }
      time.withLock { $0 += nanoseconds }
      meanwhile(stop)
    }
    return environment
  }
}
