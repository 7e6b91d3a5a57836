import Dispatch
import StoreFixtures
import Synchronization

@testable import ObjectStores

/// Refuses every second call once, and is resumed from another queue.
final class PausingReceiver: ObjectReceiver {
  private struct State {
    var bytes: [UInt8] = []
    var takesNext = true
    var pauses = 0
    var operation: (any ObjectOperation)?
    var needsResume = false
    var result: Result<Void, ObjectStoreError>?
  }

  private let state = Mutex(State())
  private let paused = Gate()
  private let ended = DispatchSemaphore(value: 0)

  var pauses: Int { state.withLock { $0.pauses } }

  /// From now on, pauses end.
  func resumed(by operation: any ObjectOperation) {
    let needsResume = state.withLock { state in
      state.operation = operation
      return state.needsResume
    }
    if needsResume { operation.resume() }
  }

  func waitForPause() { paused.wait() }

  func wait() throws(ObjectStoreError) -> [UInt8] {
    ended.wait()
    let (bytes, result) = state.withLock { ($0.bytes, $0.result) }
    try result?.get()
    return bytes
  }

  func readBegan(_ description: ObjectDescription) {}

  func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let operation: (any ObjectOperation)?? = state.withLock { state in
      defer { state.takesNext.toggle() }
      if state.takesNext {
        state.bytes.append(contentsOf: bytes)
        return nil
      }
      state.pauses += 1
      state.needsResume = true
      return .some(state.operation)
    }
    guard let operation else { return true }
    paused.open()
    if let operation { DispatchQueue.global().async { operation.resume() } }
    return false
  }

  func readEnded(_ result: Result<Void, ObjectStoreError>) {
    // A second end would be a failure of the store: the first one stays, and the test finds no more bytes.
    state.withLock { state in
      precondition(state.result == nil, "ended twice")
      state.result = result
    }
    ended.signal()
  }
}
