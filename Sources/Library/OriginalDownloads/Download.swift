// One download: bytes of a read on their way to a file.
//
//     received (queue of the store) -> pending, within a limit -> write (photod.download) -> available
//
// When the limit is reached the read pauses, and with it the connection, until the bytes are written.
//
// At the end the bytes are verified with the SHA-256 that the store sent. Without one, they are compared with two less
// certain values: an entity tag that looks like an MD5, and the fingerprint in the catalogue. If one of these differs,
// the object is read once more. If the same bytes arrive again, they are accepted: the tag is not an MD5, as for some
// encrypted objects, or the fingerprint was taken from damaged bytes.

import Cryptography
import Dispatch
import LibraryFolder
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
    /// Where the next byte is written.
    var writtenBytes: Int64 = 0
    /// The number of bytes that may be read, also while the object is read once more.
    var availableBytes: Int64 = 0
    /// The object and the store to read it from.
    var source: (object: ObjectIdentity, store: any ObjectStore)?
    var sha256: [UInt8]?
    /// The entity tag, if it looks like an MD5.
    var digestTag: String?
    /// During the second read: the digest of the bytes that the first read received.
    var firstDigest: [UInt8]?
    var hasNonMD5Tag = false
    var isUnmatched = false
    /// The second read has replaced bytes that callers may have read before.
    var isReplaced = false
    var result: Result<Void, ObjectStoreError>?
    var failure: DownloadError?
    var operation: (any ObjectOperation)?
    var isCancelled = false
  }

  let name: OriginalName
  let key: ObjectKey
  /// The object's identity in the catalogue.
  let identity: FileIdentity
  let partial: PartialFile
  private let fingerprint: FileFingerprint?
  private let checksTag: Bool
  private let pendingLimit: Int
  private let queue: DispatchQueue
  private let mayReceive: @Sendable (Download, Int) -> Bool
  private let progressed: @Sendable (Download) -> Void
  private let ended: @Sendable (Download, Result<Void, DownloadError>) -> Void
  private let state = Mutex(State())
  private let hash = Mutex(Digest(.sha256))

  /// - Parameters:
  ///   - fingerprint: the fingerprint in the catalogue; `nil` if it is unknown.
  ///   - checksTag: whether entity tags may be MD5s.
  ///   - queue: serial; the last two functions are called on it.
  ///   - mayReceive: whether this many bytes may be taken now. If not, ``continueReading()`` is called later.
  ///   - ended: called once, after the last byte is written and the checksum is right.
  init(
    _ name: OriginalName, _ key: ObjectKey, _ identity: FileIdentity, fingerprint: FileFingerprint?, checksTag: Bool,
    partial: PartialFile, pendingLimit: Int, queue: DispatchQueue,
    mayReceive: @escaping @Sendable (Download, Int) -> Bool,
    progressed: @escaping @Sendable (Download) -> Void,
    ended: @escaping @Sendable (Download, Result<Void, DownloadError>) -> Void
  ) {
    (self.name, self.key, self.identity, self.partial) = (name, key, identity, partial)
    (self.fingerprint, self.checksTag) = (fingerprint, checksTag)
    (self.pendingLimit, self.queue) = (pendingLimit, queue)
    (self.mayReceive, self.progressed, self.ended) = (mayReceive, progressed, ended)
  }

  /// The number of bytes, from the start of the original, that may be read.
  var availableBytes: Int64 { state.withLock { $0.availableBytes } }
  /// Whether the entity tag looks like an MD5 but is not one, because the same bytes came twice.
  var hasNonMD5Tag: Bool { state.withLock { $0.hasNonMD5Tag } }
  /// Whether the bytes were accepted although they differ from the tag or from the fingerprint.
  var isUnmatched: Bool { state.withLock { $0.isUnmatched } }
  var isReplaced: Bool { state.withLock { $0.isReplaced } }
  var hasFailed: Bool { state.withLock { $0.failure != nil || $0.isCancelled } }

  /// Asks the store for the state of the object, because the catalogue has no entity tags, and then for its bytes.
  func begin(from store: any ObjectStore) {
    began(
      store.head(key) { [self] result in
        switch result {
        case .failure(let error): readEnded(.failure(error))
        case .success(let found):
          guard identity.isIdentity(of: found.identity, key) else { return readEnded(.failure(.changed)) }
          // Continue on the queue of the downloads, because a store calls back on a queue of its own.
          queue.async { [self] in read(found.identity, from: store) }
        }
      })
  }

  private func read(_ object: ObjectIdentity, from store: any ObjectStore) {
    let isCancelled = state.withLock { state in
      // The head's operation is over.
      state.operation = nil
      state.source = (object, store)
      return state.isCancelled
    }
    if isCancelled { return readEnded(.failure(.cancelled)) }
    began(store.read(key, nil, of: object, into: self))
  }

  /// Stores the running operation, which may have paused or been cancelled before this call.
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

  func readBegan(_ description: ObjectDescription) {
    hash.withLock { $0 = Digest(description.sha256 == nil ? .md5 : .sha256) }
    state.withLock { state in
      state.sha256 = description.sha256
      state.digestTag = description.identity.digestTag
    }
  }

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
    let (pieces, offset) = state.withLock { state in
      // `pendingBytes` still counts these pieces, so that all unwritten bytes are within the limit.
      defer { state.pending = [] }
      return (state.failure == nil ? state.pending : [], state.writtenBytes)
    }
    var position = offset
    for piece in pieces {
      do throws(SystemError) {
        try partial.write(piece, at: position)
        hash.withLock { $0.update(piece) }
        position += Int64(piece.count)
      } catch {
        state.withLock { $0.failure = .system(error) }
        break
      }
    }
    let (next, operation, result, hasFailed) = state.withLock { state in
      state.writtenBytes = position
      state.availableBytes = max(state.availableBytes, position)
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
    let (failure, writtenBytes, sha256, tag) = state.withLock {
      ($0.failure, $0.writtenBytes, $0.sha256, $0.digestTag)
    }
    if let failure { return ended(self, .failure(failure)) }
    if case .failure(let error) = result { return ended(self, .failure(.store(error))) }
    guard writtenBytes == identity.size else { return ended(self, .failure(.store(.malformed(.wrongLength)))) }
    let digest = hash.withLock { $0.finalize() }
    if let sha256 {
      let isRight = digest == sha256
      if isRight, (try? hasFingerprint()) == false { state.withLock { $0.isUnmatched = true } }
      return ended(self, isRight ? .success(()) : .failure(.store(.malformed(.wrongChecksum))))
    }
    let isTagRight = !checksTag || tag == nil || tag == "\"\(digest.hexadecimal)\""
    do throws(ByteSourceError) {
      if isTagRight, try hasFingerprint() {
        state.withLock { $0.isReplaced = $0.firstDigest.map { $0 != digest } ?? false }
        return ended(self, .success(()))
      }
    } catch {
      // EIO.
      return ended(self, .failure(.system(SystemError(code: 5))))
    }
    guard let first = state.withLock({ $0.firstDigest }) else { return readAgain(digest) }
    guard digest == first else { return ended(self, .failure(.store(.malformed(.wrongChecksum)))) }
    state.withLock { state in
      state.hasNonMD5Tag = !isTagRight
      state.isUnmatched = true
    }
    ended(self, .success(()))
  }

  private func hasFingerprint() throws(ByteSourceError) -> Bool {
    guard let fingerprint else { return true }
    return try FileFingerprint(of: ArrivingOriginal(self)) == fingerprint
  }

  /// Reads the object once more, because the received bytes are probably damaged. They stay readable until then.
  private func readAgain(_ digest: [UInt8]) {
    let source = state.withLock { state in
      (state.firstDigest, state.writtenBytes, state.isPaused) = (digest, 0, false)
      return state.source
    }
    if let source { read(source.object, from: source.store) }
  }
}

extension ObjectIdentity {
  private static let digestTagBytes = 34

  /// The entity tag in lower case, if it has 32 hexadecimal digits: many stores use the MD5 of an object that was
  /// written in one piece.
  fileprivate var digestTag: String? {
    guard case .entityTag(let tag) = version, tag.utf8.count == Self.digestTagBytes,
      tag.dropFirst().dropLast().allSatisfy(\.isHexDigit)
    else { return nil }
    return tag.lowercased()
  }
}

/// An original that is being downloaded: its first bytes can be read.
package final class ArrivingOriginal: ArrivingSource {
  private let download: Download

  init(_ download: Download) { self.download = download }

  package var size: Int64 { download.identity.size }
  package var availableBytes: Int64 { download.availableBytes }
  /// False if the object was read once more and other bytes came. Valid when the download has ended.
  package var isUnchanged: Bool { !download.isReplaced }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    guard offset >= 0, offset < size else { return .end }
    let available = download.availableBytes
    guard offset < available else {
      if download.hasFailed { throw .missingBytes }
      return .notYet
    }
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: available - offset)))
    return try download.partial.file.read(into: part, at: offset)
  }
}
