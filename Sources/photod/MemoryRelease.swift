import CPhotodSystem
import Dispatch
import Synchronization

/// Gives free memory back to the kernel a moment after the renders have ended, and at most once in that moment: between
/// two renders of a burst it would only have to be asked for again.
final class MemoryRelease: Sendable {
  private static let delay = DispatchTimeInterval.seconds(1)

  private let isDue = Mutex(false)

  @Sendable func soon() {
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
