import Dispatch
import LibraryFolder
import PhotoModel
import Synchronization

/// An operation that can't be stopped once it has begun.
final class CancellationFlag: ObjectOperation {
  private let flag = Atomic(false)

  var isCancelled: Bool { flag.load(ordering: .relaxed) }
  func cancel() { flag.store(true, ordering: .relaxed) }
  func resume() {}
}

/// A read of a file, a piece at a time.
///
/// `@unchecked Sendable` because `file`, `position` and `hasEnded` are used only on `queue`, which the methods assert.
final class FolderRead: ObjectOperation, @unchecked Sendable {
  private static let pieceBytes = 65_536

  private let range: ObjectRange?
  private let identity: ObjectIdentity
  private let queue: DispatchQueue
  private let receiver: any ObjectReceiver
  private let cancellation = CancellationFlag()

  private var file: LibraryFile?
  private var position: Int64
  private var hasEnded = false

  init(range: ObjectRange?, identity: ObjectIdentity, queue: DispatchQueue, receiver: any ObjectReceiver) {
    (self.range, self.identity, self.queue, self.receiver) = (range, identity, queue, receiver)
    position = range?.offset ?? 0
  }

  func cancel() {
    cancellation.cancel()
    queue.async { [self] in end(.failure(.cancelled)) }
  }

  func resume() { queue.async { [self] in step() } }

  func begin(_ file: LibraryFile) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !hasEnded else { return }
    guard ObjectIdentity(file.identity) == identity else { return end(.failure(.changed)) }
    self.file = file
    receiver.readBegan(
      ObjectDescription(identity: identity, modified: file.identity.modified / 1_000_000_000))
    step()
  }

  private func step() {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !hasEnded, let file else { return }
    let end = range.map { $0.offset + $0.length } ?? identity.size
    while position < end {
      guard !cancellation.isCancelled else { return self.end(.failure(.cancelled)) }
      let bytes: [UInt8]
      do throws(ByteSourceError) {
        bytes = try file.bytes(at: position, count: Int(min(Int64(Self.pieceBytes), end - position)))
      } catch {
        switch error {
        case .readFailed(let code): return self.end(.failure(.system(SystemError(code: code))))
        }
      }
      // The file has become shorter.
      guard !bytes.isEmpty else { return self.end(.failure(.changed)) }
      guard bytes.withUnsafeBytes(receiver.received) else { return }
      position += Int64(bytes.count)
    }
    self.end(file.isUnchanged ? .success(()) : .failure(.changed))
  }

  func end(_ result: Result<Void, ObjectStoreError>) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard !hasEnded else { return }
    hasEnded = true
    file = nil
    receiver.readEnded(result)
  }
}
