import Dispatch
import Synchronization

@testable import ObjectStores

/// Takes no byte.
final class RefusingReceiver: ObjectReceiver {
  private let ended = DispatchSemaphore(value: 0)

  func readBegan(_ description: ObjectDescription) {}
  func received(_ bytes: UnsafeRawBufferPointer) -> Bool { false }
  func readEnded(_ result: Result<Void, ObjectStoreError>) { ended.signal() }
  func wait() { ended.wait() }
}

/// A number that arrives from another thread.
final class SentBytes: Sendable {
  private let count = Mutex(0)
  private let arrived = DispatchSemaphore(value: 0)

  func set(_ count: Int) {
    self.count.withLock { $0 = count }
    arrived.signal()
  }

  func wait() -> Int {
    arrived.wait()
    return count.withLock { $0 }
  }
}
