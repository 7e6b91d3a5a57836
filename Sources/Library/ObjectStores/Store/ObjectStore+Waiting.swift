// Blocking forms of the operations, for scans and tools. Never call them on a queue of the store, on a connection's
// loop or in a render.

import Dispatch
import PhotoModel
import Synchronization

/// The one result of an operation, for the thread that waits for it.
private final class PendingResult<Value: Sendable>: Sendable {
  private let value = Mutex<Result<Value, ObjectStoreError>?>(nil)
  private let arrived = DispatchSemaphore(value: 0)
  /// How long a raised flag may go unnoticed.
  private static var pollInterval: DispatchTimeInterval { .milliseconds(200) }

  func arrive(_ result: Result<Value, ObjectStoreError>) {
    value.withLock { $0 = result }
    arrived.signal()
  }

  /// - Parameter cancel: called once if the flag is raised. The operation then completes soon.
  func wait(_ stop: StopFlag?, _ cancel: () -> Void) throws(ObjectStoreError) -> Value {
    if let stop {
      var hasCancelled = false
      while arrived.wait(timeout: .now() + Self.pollInterval) == .timedOut {
        guard stop.isRaised, !hasCancelled else { continue }
        hasCancelled = true
        cancel()
      }
    } else {
      arrived.wait()
    }
    guard let result = value.withLock({ $0 }) else { preconditionFailure("signalled without an answer") }
    return try result.get()
  }
}

/// Collects a read in memory.
final class CollectingReceiver: ObjectReceiver {
  private let bytes = Mutex<[UInt8]>([])
  private let completion: @Sendable (Result<[UInt8], ObjectStoreError>) -> Void

  init(_ completion: @escaping @Sendable (Result<[UInt8], ObjectStoreError>) -> Void) { self.completion = completion }

  func readBegan(_ description: ObjectDescription) {}

  func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    self.bytes.withLock { $0.append(contentsOf: bytes) }
    return true
  }

  func readEnded(_ result: Result<Void, ObjectStoreError>) {
    completion(result.map { bytes.withLock { $0 } })
  }
}

extension ObjectStore {
  /// Reads a part of an object into memory: the caller chooses the length, and so the memory.
  func bytes(
    _ key: ObjectKey, _ range: ObjectRange, of identity: ObjectIdentity, _ completion: @escaping Completion<[UInt8]>
  ) -> any ObjectOperation {
    read(key, range, of: identity, into: CollectingReceiver(completion))
  }

  /// - Parameter stop: ends the operation as `.cancelled`.
  package func waitForHead(_ key: ObjectKey, stop: StopFlag? = nil) throws(ObjectStoreError) -> ObjectDescription {
    try wait(stop) { head(key, $0) }
  }

  package func waitForBytes(
    _ key: ObjectKey, _ range: ObjectRange, of identity: ObjectIdentity, stop: StopFlag? = nil
  ) throws(ObjectStoreError) -> [UInt8] {
    try wait(stop) { bytes(key, range, of: identity, $0) }
  }

  package func waitForPage(
    from position: ObjectPage.Position?, stop: StopFlag? = nil
  ) throws(ObjectStoreError) -> ObjectPage {
    try wait(stop) { list(from: position, $0) }
  }

  package func waitToPut(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, stop: StopFlag? = nil
  ) throws(ObjectStoreError) -> ObjectIdentity {
    try wait(stop) { put(bytes, as: key, replaces: replaces, $0) }
  }

  package func waitToPut(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, stop: StopFlag? = nil
  ) throws(ObjectStoreError) -> ObjectIdentity {
    try wait(stop) { put(file, as: key, replaces: replaces, $0) }
  }

  package func waitForPage(
    below folder: ObjectKey, from position: ObjectPage.Position?, stop: StopFlag? = nil
  ) throws(ObjectStoreError) -> ObjectPage {
    try wait(stop) { list(below: folder, from: position, $0) }
  }

  package func waitToCopy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey
  ) throws(ObjectStoreError) { try wait { copy(key, of: identity, to: newKey, $0) } }

  package func waitToDelete(_ key: ObjectKey) throws(ObjectStoreError) { try wait { delete(key, $0) } }

  func wait<Value: Sendable>(
    _ stop: StopFlag? = nil, _ operation: (@escaping Completion<Value>) -> any ObjectOperation
  ) throws(ObjectStoreError) -> Value {
    let pending = PendingResult<Value>()
    let running = operation { pending.arrive($0) }
    return try withExtendedLifetime(running) { () throws(ObjectStoreError) in
      try pending.wait(stop) { running.cancel() }
    }
  }
}
