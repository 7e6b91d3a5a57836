// One download: bytes of a read on their way to a file.
//
//     received (queue of the store) -> pending, within a limit -> write (photod.download) -> available
//
// When the limit is reached the read pauses, and with it the connection, until the bytes are written.

import Cryptography
import Dispatch
import ObjectStores
import PhotoModel
import Synchronization

final class Download: ObjectReceiver {
  private struct State {
    var pending: [[UInt8]] = []
    var pendingBytes = 0
    /// Whether the queue has a block that will write what is pending.
    var isWriting = false
    var isPaused = false
    var availableBytes: Int64 = 0
    var sha256: [UInt8]?
    var result: Result<Void, ObjectStoreError>?
    var failure: OriginalDownloadError?
    var operation: (any ObjectOperation)?
    var isCancelled = false
  }

  let name: OriginalName
  let key: ObjectKey
  /// What the catalogue knows of the object.
  let identity: FileIdentity
  let partial: PartialFile
  private let pendingLimit: Int
  private let queue: DispatchQueue
  private let mayReceive: @Sendable (Download, Int) -> Bool
  private let progressed: @Sendable (Download) -> Void
  private let ended: @Sendable (Download, Result<Void, OriginalDownloadError>) -> Void
  private let state = Mutex(State())
  private let hash = Mutex(Digest(.sha256))

  /// - Parameters:
  ///   - queue: serial; the last two functions are called on it.
  ///   - mayReceive: whether so many bytes may be taken now. If not, ``continueReading()`` is called later.
  ///   - ended: called once, after the last byte is written and the checksum is right.
  init(
    _ name: OriginalName, _ key: ObjectKey, _ identity: FileIdentity, partial: PartialFile, pendingLimit: Int,
    queue: DispatchQueue, mayReceive: @escaping @Sendable (Download, Int) -> Bool,
    progressed: @escaping @Sendable (Download) -> Void,
    ended: @escaping @Sendable (Download, Result<Void, OriginalDownloadError>) -> Void
  ) {
    (self.name, self.key, self.identity, self.partial) = (name, key, identity, partial)
    (self.pendingLimit, self.queue) = (pendingLimit, queue)
    (self.mayReceive, self.progressed, self.ended) = (mayReceive, progressed, ended)
  }

  /// Bytes from the start of the original that are written.
  var availableBytes: Int64 { state.withLock { $0.availableBytes } }
  var hasFailed: Bool { state.withLock { $0.failure != nil || $0.isCancelled } }

  /// Asks the store for the state of the object, because the catalogue has no entity tags, and then for its bytes.
  func begin(from store: any ObjectStore) {
    began(
      store.head(key) { [self] result in
        switch result {
        case .failure(let error): readEnded(.failure(error))
        case .success(let found):
          guard identity.isIdentity(of: found.identity, key) else { return readEnded(.failure(.changed)) }
          // From the queue of the downloads: a store calls back on its own.
          queue.async { [self] in read(found.identity, from: store) }
        }
      })
  }

  private func read(_ object: ObjectIdentity, from store: any ObjectStore) {
    let isCancelled = state.withLock { state in
      // The head's operation is over.
      state.operation = nil
      return state.isCancelled
    }
    if isCancelled { return readEnded(.failure(.cancelled)) }
    began(store.read(key, nil, of: object, into: self))
  }

  /// Notes the operation that runs. It may have paused or been cancelled before this call.
  private func began(_ operation: any ObjectOperation) {
    let (isCancelled, isPaused) = state.withLock { state in
      state.operation = operation
      return (state.isCancelled, state.isPaused)
    }
    if isCancelled { operation.cancel() } else if isPaused { writeLater() }
  }

  /// Continues a read whose bytes `mayReceive` has refused.
  func continueReading() {
    let operation = state.withLock { state in
      // `began` resumes it.
      if state.operation == nil { state.isPaused = true }
      return state.operation
    }
    operation?.resume()
  }

  func cancel() {
    let operation = state.withLock { state in
      state.isCancelled = true
      return state.operation
    }
    operation?.cancel()
  }

  // MARK: ObjectReceiver

  func readBegan(_ description: ObjectDescription) { state.withLock { $0.sha256 = description.sha256 } }

  func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard mayReceive(self, bytes.count) else { return false }
    let (isTaken, begins) = state.withLock { state in
      // One piece may always wait, however large it is.
      guard state.pendingBytes == 0 || state.pendingBytes + bytes.count <= pendingLimit else {
        state.isPaused = true
        return (false, false)
      }
      state.pending.append(Array(bytes))
      state.pendingBytes += bytes.count
      defer { state.isWriting = true }
      return (true, !state.isWriting)
    }
    if begins { writeLater() }
    return isTaken
  }

  func readEnded(_ result: Result<Void, ObjectStoreError>) {
    state.withLock { $0.result = result }
    writeLater()
  }

  // MARK: On the queue

  private func writeLater() { queue.async { [self] in write() } }

  private func write() {
    dispatchPrecondition(condition: .onQueue(queue))
    let (pieces, offset, needsHash) = state.withLock { state in
      // `pendingBytes` still counts them: what is taken from the network and not written is within the limit.
      defer { state.pending = [] }
      return (state.failure == nil ? state.pending : [], state.availableBytes, state.sha256 != nil)
    }
    var position = offset
    for piece in pieces {
      do throws(SystemError) {
        try partial.write(piece, at: position)
        if needsHash { hash.withLock { $0.update(piece) } }
        position += Int64(piece.count)
      } catch {
        state.withLock { $0.failure = .system(error) }
        break
      }
    }
    let (next, operation, result, hasFailed) = state.withLock { state in
      state.availableBytes = position
      state.pendingBytes = state.pending.reduce(0) { $0 + $1.count }
      state.isWriting = !state.pending.isEmpty
      // Without its operation the read is resumed by `begin`.
      defer { if state.operation != nil { state.isPaused = false } }
      // The end comes once, and after all bytes.
      let result = state.pending.isEmpty ? state.result : nil
      if result != nil { state.result = nil }
      return (state.isWriting, state.isPaused ? state.operation : nil, result, state.failure != nil)
    }
    if position > offset { progressed(self) }
    if next { writeLater() }
    if hasFailed, result == nil { cancel() } else { operation?.resume() }
    if let result { end(result) }
  }

  private func end(_ result: Result<Void, ObjectStoreError>) {
    let (failure, wanted) = state.withLock { ($0.failure, $0.sha256) }
    if let failure { return ended(self, .failure(failure)) }
    if case .failure(let error) = result { return ended(self, .failure(.store(error))) }
    guard availableBytes == identity.size else { return ended(self, .failure(.store(.malformed(.wrongLength)))) }
    if let wanted, !hash.withLock({ $0.finalize() }).elementsEqual(wanted) {
      return ended(self, .failure(.store(.malformed(.wrongChecksum))))
    }
    ended(self, .success(()))
  }
}

/// An original of which the first bytes have been received.
package final class ArrivingOriginal: ArrivingSource {
  private let download: Download

  init(_ download: Download) { self.download = download }

  package var size: Int64 { download.identity.size }
  package var availableBytes: Int64 { download.availableBytes }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    let available = download.availableBytes
    guard offset < available else {
      // EIO: the rest will not come.
      if download.hasFailed { throw .readFailed(code: 5) }
      return .notYet
    }
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: available - offset)))
    return try download.partial.file.read(into: part, at: offset)
  }
}
