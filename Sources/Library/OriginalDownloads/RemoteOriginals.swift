import ObjectStores
import PhotoModel
import Synchronization

/// The originals of a remote library, as the image service and the API see them: local ones are opened, the
/// others are downloaded.
package struct RemoteOriginals: OriginalDownloader {
  private let downloads: OriginalDownloads
  private let heads: OriginalHeads

  package init(_ downloads: OriginalDownloads, heads: OriginalHeads) {
    (self.downloads, self.heads) = (downloads, heads)
  }

  package var store: OriginalStore {
    OriginalStore(downloader: self) { [downloads] original throws(OriginalStoreError) in
      guard let key = ObjectKey(original.path) else { throw .notFound }
      guard let file = downloads.open(key, original.identity, fingerprint: original.fingerprint) else { throw .inCloud }
      return file
    }
  }

  package func isLocal(_ original: OriginalFile) -> Bool {
    ObjectKey(original.path).map { downloads.isLocal($0, original.identity) } ?? true
  }

  package func head(of original: OriginalFile) -> (any ByteSource)? {
    ObjectKey(original.path).flatMap { heads.open($0, original.identity) }
  }

  package func download(
    _ original: OriginalFile, isUrgent: Bool, onBytes: @escaping @Sendable (any ArrivingSource) -> Void,
    ended: @escaping @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
  ) -> any OriginalWait {
    guard let key = ObjectKey(original.path) else {
      // No row of a remote library has such a path.
      preconditionFailure("an original whose path is not a key was opened as in the cloud")
    }
    if !isUrgent { downloads.hold(key, original.identity) }
    let wait = RemoteOriginalWait(
      downloads, held: isUrgent ? nil : (key, original.identity), onBytes: onBytes, ended: ended)
    let ticket = downloads.join(
      key, original.identity, fingerprint: original.fingerprint, priority: isUrgent ? .request : .window, wait)
    wait.begin(ticket)
    // Bytes that have already arrived for others.
    if let arriving = downloads.arriving(ticket), arriving.availableBytes > 0 {
      wait.downloadProgressed(arriving)
    }
    return wait
  }
}

/// One caller that waits for an original.
private final class RemoteOriginalWait: OriginalWait, OriginalWaiter {
  private struct State {
    var ticket: OriginalDownloads.Ticket?
    var isOver = false
    /// The original that is held until the wait is cancelled.
    var held: (key: ObjectKey, identity: FileIdentity)?
  }

  private let downloads: OriginalDownloads
  private let onBytes: @Sendable (any ArrivingSource) -> Void
  private let ended: @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
  private let state: Mutex<State>

  init(
    _ downloads: OriginalDownloads, held: (key: ObjectKey, identity: FileIdentity)?,
    onBytes: @escaping @Sendable (any ArrivingSource) -> Void,
    ended: @escaping @Sendable (Result<any FileByteSource, OriginalDownloadError>) -> Void
  ) {
    (self.downloads, self.onBytes, self.ended) = (downloads, onBytes, ended)
    state = Mutex(State(held: held))
  }

  func begin(_ ticket: OriginalDownloads.Ticket) { state.withLock { $0.ticket = ticket } }

  func cancel() { leave(continuing: false) }
  func expire() { leave(continuing: true) }

  private func leave(continuing: Bool) {
    let (ticket, held) = state.withLock { state in
      defer { (state.isOver, state.held) = (true, nil) }
      return (state.isOver ? nil : state.ticket, state.held)
    }
    if let ticket { downloads.leave(ticket, continuing: continuing) }
    if let held { downloads.endHold(held.key, held.identity) }
  }

  func downloadProgressed(_ original: ArrivingOriginal) {
    if !state.withLock({ $0.isOver }) { onBytes(original) }
  }

  func downloadEnded(_ result: Result<any FileByteSource, DownloadError>) {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    if isFirst { ended(result.mapError(OriginalDownloadError.init)) }
  }
}

extension OriginalDownloadError {
  init(_ error: DownloadError) {
    switch error {
    case .noSpace: self = .noSpace
    case .tooManyDownloads: self = .queueFull
    case .system(let error) where error.isOutOfSpace: self = .noSpace
    case .system(let error): self = .localStoreFailed("the local store of originals: \(error)")
    case .store(.notFound): self = .notFound
    case .store(.changed): self = .changed
    case .store(.timedOut): self = .timedOut
    case .store(.suspended(let retryAfter)): self = .suspended(retryAfter: retryAfter)
    case .store(.limitExceeded(.pendingOperations)): self = .queueFull
    case .store(let error): self = .failed(error.description)
    }
  }
}
