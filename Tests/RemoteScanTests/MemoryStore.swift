import Dispatch
import ObjectStores
import Synchronization

/// A store in memory. Each write gives an object a new entity tag, as if no two contents were equal.
final class MemoryStore: ObjectStore {
  private struct State {
    var objects: [ObjectKey: (bytes: [UInt8], tag: String, modified: Int64)] = [:]
    var writes = 0
    var reads = 0
    /// Calls that read an object fail with this error.
    var readFailure: ObjectStoreError?
    /// Calls that read these objects fail.
    var refusals: [ObjectKey: ObjectStoreError] = [:]
    var listFailure: ObjectStoreError?
    var isReversed = false
    /// Called once, before the next read of an object; `nil`: of any.
    var beforeRead: (key: ObjectKey?, body: @Sendable () -> Void)?
    /// Called once, when the next list has come to a key.
    var duringList: (key: ObjectKey, body: @Sendable () -> Void)?
    /// Objects that lists have no entity tag of.
    var unidentified: Set<ObjectKey> = []
    var listsTimes = true
  }

  private final class Done: ObjectOperation {
    func cancel() {}
    func resume() {}
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "memory store", attributes: .concurrent)

  var name: String { "memory" }
  /// Ranges that were read.
  var reads: Int { state.withLock { $0.reads } }

  /// - Parameter tag: its entity tag; `nil`: a new one.
  func set(_ key: String, _ bytes: [UInt8]?, tag: String? = nil, modified: Int64 = 1_600_000_000) {
    guard let key = ObjectKey(key) else { preconditionFailure("\(key) is no key") }
    state.withLock { state in
      state.writes += 1
      let tag = tag ?? "\"\(state.writes)\""
      state.objects[key] = bytes.map { ($0, tag, modified) }
    }
  }

  /// Moves an object, with its entity tag.
  ///
  /// - Parameter modified: its new time; `nil`: it keeps its time.
  func move(_ key: String, to newKey: String, modified: Int64? = nil) {
    guard let key = ObjectKey(key), let newKey = ObjectKey(newKey) else { preconditionFailure("no keys") }
    state.withLock { state in
      var object = state.objects.removeValue(forKey: key)
      if let modified { object?.modified = modified }
      state.objects[newKey] = object
    }
  }

  func fail(reads failure: ObjectStoreError?) { state.withLock { $0.readFailure = failure } }
  func refuse(_ key: String, _ failure: ObjectStoreError?) {
    guard let key = ObjectKey(key) else { preconditionFailure("\(key) is no key") }
    state.withLock { $0.refusals[key] = failure }
  }
  func fail(lists failure: ObjectStoreError?) { state.withLock { $0.listFailure = failure } }
  /// Lists have no times from now on, as those of web servers.
  func hideTimes() { state.withLock { $0.listsTimes = false } }
  func reverse() { state.withLock { $0.isReversed = true } }
  func beforeNextRead(of key: String? = nil, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.beforeRead = (key.flatMap { ObjectKey($0) }, body) }
  }
  func duringNextList(at key: String, _ body: @escaping @Sendable () -> Void) {
    guard let key = ObjectKey(key) else { preconditionFailure("\(key) is no key") }
    state.withLock { $0.duringList = (key, body) }
  }
  func hideTag(of key: String, _ isHidden: Bool) {
    guard let key = ObjectKey(key) else { preconditionFailure("\(key) is no key") }
    state.withLock { state in
      if isHidden { state.unidentified.insert(key) } else { state.unidentified.remove(key) }
    }
  }

  private func identity(_ object: (bytes: [UInt8], tag: String, modified: Int64)) -> ObjectIdentity {
    ObjectIdentity(size: Int64(object.bytes.count), version: .entityTag(object.tag))
  }

  func head(_ key: ObjectKey, _ completion: @escaping Completion<ObjectDescription>) -> any ObjectOperation {
    queue.async { [self] in
      let object = state.withLock { $0.objects[key] }
      completion(
        object.map { .success(ObjectDescription(identity: identity($0), modified: $0.modified)) } ?? .failure(.notFound)
      )
    }
    return Done()
  }

  func read(
    _ key: ObjectKey, _ range: ObjectRange?, of identity: ObjectIdentity, into receiver: any ObjectReceiver
  ) -> any ObjectOperation {
    queue.async { [self] in
      let body = state.withLock { state -> (@Sendable () -> Void)? in
        state.reads += 1
        guard let (wanted, body) = state.beforeRead, wanted == nil || wanted == key else { return nil }
        state.beforeRead = nil
        return body
      }
      body?()
      let (object, failure) = state.withLock { ($0.objects[key], $0.readFailure ?? $0.refusals[key]) }
      if let failure { return receiver.readEnded(.failure(failure)) }
      guard let object else { return receiver.readEnded(.failure(.notFound)) }
      guard self.identity(object) == identity else { return receiver.readEnded(.failure(.changed)) }
      receiver.readBegan(ObjectDescription(identity: identity))
      let start = Int(range?.offset ?? 0)
      let end = start + Int(range?.length ?? identity.size)
      let isTaken = Array(object.bytes[start..<end]).withUnsafeBytes(receiver.received)
      precondition(isTaken, "scans take all bytes")
      receiver.readEnded(.success(()))
    }
    return Done()
  }

  /// One page, which is no snapshot.
  func list(
    from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation {
    queue.async { [self] in
      let (first, pause) = state.withLock { state in
        defer { state.duringList = nil }
        return (state.objects, state.duringList)
      }
      pause?.body()
      let (later, isReversed, failure) = state.withLock { ($0.objects, $0.isReversed, $0.listFailure) }
      if let failure { return completion(.failure(failure)) }
      var objects = later
      if let pause {
        objects = first.filter { $0.key < pause.key }.merging(later.filter { !($0.key < pause.key) }) { $1 }
      }
      let (unidentified, listsTimes) = state.withLock { ($0.unidentified, $0.listsTimes) }
      let entries = objects.filter { !unidentified.contains($0.key) }.map {
        ObjectPage.Entry(key: $0.key, identity: identity($0.value), modified: listsTimes ? $0.value.modified : nil)
      }
      completion(
        .success(
          ObjectPage(
            entries: entries.sorted { isReversed ? $1.key < $0.key : $0.key < $1.key }, skipped: 1,
            unidentified: objects.keys.filter { unidentified.contains($0) })))
    }
    return Done()
  }

  func put(
    _ bytes: [UInt8], as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation { preconditionFailure("scans don't write") }
  func put(
    _ file: ObjectFile, as key: ObjectKey, replaces: Bool, _ completion: @escaping Completion<ObjectIdentity>
  ) -> any ObjectOperation { preconditionFailure("scans don't write") }
  func list(
    below folder: ObjectKey, from position: ObjectPage.Position?, _ completion: @escaping Completion<ObjectPage>
  ) -> any ObjectOperation { preconditionFailure("scans list the whole store") }
  func copy(
    _ key: ObjectKey, of identity: ObjectIdentity, to newKey: ObjectKey, _ completion: @escaping Completion<Void>
  ) -> any ObjectOperation { preconditionFailure("scans don't write") }
  func delete(_ key: ObjectKey, _ completion: @escaping Completion<Void>) -> any ObjectOperation {
    preconditionFailure("scans don't write")
  }
}
