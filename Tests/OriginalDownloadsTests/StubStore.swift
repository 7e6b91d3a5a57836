import Dispatch
import ObjectStores
import Synchronization
import Testing

/// A store whose reads do what the test says, on a queue of their own like those of real stores.
final class StubStore: ObjectStore {
  /// A read under way.
  final class Read: ObjectOperation {
    let key: ObjectKey
    let identity: ObjectIdentity
    private let receiver: any ObjectReceiver
    private let queue: DispatchQueue
    private let waiting = Mutex<[[UInt8]]>([])
    private let hasEnded = Mutex(false)

    init(_ key: ObjectKey, _ identity: ObjectIdentity, _ receiver: any ObjectReceiver, _ queue: DispatchQueue) {
      (self.key, self.identity, self.receiver, self.queue) = (key, identity, receiver, queue)
    }

    func begin(sha256: [UInt8]? = nil) {
      queue.async { [self] in receiver.readBegan(ObjectDescription(identity: identity, sha256: sha256)) }
    }

    /// Offers bytes, in order; those that are not taken come again after `resume`.
    func send(_ bytes: [UInt8]) {
      queue.async { [self] in
        waiting.withLock { $0.append(bytes) }
        offer()
      }
    }

    /// Ends the read once all bytes have been taken.
    func end(_ result: Result<Void, ObjectStoreError> = .success(())) {
      queue.async { [self] in
        guard waiting.withLock({ $0.isEmpty }) else { return end(result) }
        let isFirst = hasEnded.withLock { hasEnded in
          defer { hasEnded = true }
          return !hasEnded
        }
        if isFirst { receiver.readEnded(result) }
      }
    }

    func cancel() {
      queue.async { [self] in waiting.withLock { $0 = [] } }
      end(.failure(.cancelled))
    }

    func resume() { queue.async { [self] in offer() } }

    private func offer() {
      while let bytes = waiting.withLock({ $0.first }), bytes.withUnsafeBytes(receiver.received) {
        waiting.withLock { _ = $0.removeFirst() }
      }
    }
  }

  private struct NoOperation: ObjectOperation {
    func cancel() {}
    func resume() {}
  }

  private let queue = DispatchQueue(label: "stub store")
  private let reads = Mutex<[Read]>([])
  private let objects = Mutex<[ObjectKey: ObjectIdentity]>([:])
  private let begun = DispatchSemaphore(value: 0)

  var name: String { "stub" }
  var readCount: Int { reads.withLock { $0.count } }

  /// Waits for the next read, in order.
  func nextRead(_ index: Int) -> Read {
    // A test that waited forever would stop all others.
    precondition(begun.wait(timeout: .now() + 60) == .success, "no read begins")
    return reads.withLock { $0[index] }
  }

  func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation {
    let read = Read(key, identity, receiver, queue)
    reads.withLock { $0.append(read) }
    begun.signal()
    return read
  }

  func set(_ key: ObjectKey, _ identity: ObjectIdentity) { objects.withLock { $0[key] = identity } }

  func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation {
    queue.async { [self] in
      let identity = objects.withLock { $0[key] }
      completion(identity.map { .success(ObjectDescription(identity: $0)) } ?? .failure(.notFound))
    }
    return NoOperation()
  }

  func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation { fail() }
  func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation { fail() }
  func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation { fail() }
  func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation { fail() }
  func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation { fail() }
  func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation { fail() }

  private func fail() -> any ObjectOperation { preconditionFailure("downloads only read") }
}
