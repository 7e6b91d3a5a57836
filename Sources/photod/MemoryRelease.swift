import CPhotodSystem
import Dispatch
import Synchronization

/// Returns free memory to the kernel one second after a lane becomes idle, at most once a second: within a burst of
/// renders it would have to be allocated again at once.
final class MemoryRelease: Sendable {
  private static let delay = DispatchTimeInterval.seconds(1)

  private let isDue = Mutex(false)

  @Sendable func schedule() {
    let begins = isDue.withLock { isDue in
      defer { isDue = true }
      return !isDue
    }
    guard begins else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.delay) { [self] in
      isDue.withLock { $0 = false }
      photod_release_memory()
    }
  }
}
