// Originals that users keep on this machine (`keepOriginal`), whether or not they are requested.
//
//     update     reads the list, pins what is new in it, unpins what has left it; then evicts down to the limit
//     download   the missing ones, newest photographs first, after all that requests and windows want
//
// The list may take a share of the store, so that there is always room for requests. An outage of the store or of the
// disk ends the downloads for a while; local originals stay pinned. An original that can't be downloaded, such as an
// object that the store refuses, does not stop others: it is retried after an hour, and failed originals come after all
// others.

import Dispatch
import Logging
import ObjectStores
import PhotoModel
import Synchronization

package final class KeptOriginals: ChangeObserver {
  package struct Limits: Sendable, Hashable {
    /// Share of the store that originals to keep may take; the rest is for all others.
    package var percentOfDisk = 75
    /// Files in the list; each takes about 300 bytes of memory.
    var files = 100_000
    /// Downloads at a time; 0: an original is kept only once a request has downloaded it.
    package var downloads = 2

    package init() {}
  }

  /// Numbers for ``counts``.
  package struct Counts: Sendable, Hashable {
    /// In the list and on this machine.
    package var local = 0
    /// In the list and not on this machine yet.
    package var missing = 0
    /// To be kept, and beyond the limits.
    package var leftOut = 0
  }

  /// Reads the list: the bytes and the number of files that it may have.
  package typealias ReadList = @Sendable (Int64, Int) throws -> KeptOriginalList

  private struct Original: Hashable {
    let key: ObjectKey
    let identity: FileIdentity
    let fingerprint: FileFingerprint?
  }

  private struct State {
    /// The list, which is pinned.
    var kept: Set<Original> = []
    /// The originals to download: in the order of the list, failed ones last.
    var missing: ArraySlice<Original> = []
    /// Taken from `missing`; their tickets are not in `running` yet, and their downloads have not ended.
    var starting: Set<Original> = []
    var running: [Original: OriginalDownloads.Ticket] = [:]
    /// Originals whose last download failed. They come after all others. A subset of `kept`, like `refused`.
    var failed: Set<Original> = []
    /// Originals whose last download failed for a reason of their own. They are not in `missing` before the next retry.
    var refused: Set<Original> = []
    var isRetryScheduled = false
    var leftOut = 0
    var isUpdateScheduled = false
    /// The store or the disk has failed: no download is started before the next update.
    var isSuspended = false
  }

  /// Delay after a change of the library, so that changes in quick succession cause one update.
  private static let updateDelay = Duration.seconds(1)
  /// Delay after a failure of the store or of the disk.
  private static let retryDelay = Duration.seconds(60)
  /// Delay after failures of single originals: each retry may cost a request, or a whole download.
  private static let refusedDelay = Duration.seconds(3600)

  private let downloads: OriginalDownloads
  private let limits: Limits
  private let limitBytes: Int64
  private let clock: DownloadClock
  private let readList: ReadList
  private let logger: Logger
  private let queue = DispatchQueue(label: "photod.kept-originals", qos: .utility)
  private let state = Mutex(State())

  /// - Parameters:
  ///   - diskBytes: the limit of the store of originals.
  ///   - readList: called on the queue `photod.kept-originals`.
  package init(
    _ downloads: OriginalDownloads, diskBytes: Int64, limits: Limits, clock: DownloadClock = .system, logger: Logger,
    readList: @escaping ReadList
  ) {
    (self.downloads, self.limits, self.clock, self.readList) = (downloads, limits, clock, readList)
    self.logger = logger
    limitBytes = diskBytes / 100 * Int64(limits.percentOfDisk)
    downloads.onLoss { [weak self] in self?.libraryDidChange() }
  }

  package var counts: Counts {
    state.withLock { state in
      let missing =
        state.missing.count + state.refused.count + state.running.count
        + state.starting.count(where: state.kept.contains)
      return Counts(local: state.kept.count - missing, missing: missing, leftOut: state.leftOut)
    }
  }

  package func libraryDidChange() { update(after: Self.updateDelay) }

  private func update(after delay: Duration) {
    let isFirst = state.withLock { state in
      defer { state.isUpdateScheduled = true }
      return !state.isUpdateScheduled
    }
    guard isFirst else { return }
    clock.after(delay) { [weak self] in
      guard let self else { return }
      queue.async { self.readAgain() }
    }
  }

  /// Reads the list, and begins to download what is missing. Call it once at start, before anything is evicted.
  package func update() { queue.sync { readAgain() } }

  private func readAgain() {
    dispatchPrecondition(condition: .onQueue(queue))
    state.withLock { $0.isUpdateScheduled = false }
    let list: KeptOriginalList
    do {
      list = try readList(limitBytes, limits.files)
    } catch {
      logger.error("reading the list of kept originals failed", metadata: ["error": "\(error)"])
      return update(after: Self.retryDelay)
    }
    let originals = list.originals.compactMap { file in
      ObjectKey(file.path).map { Original(key: $0, identity: file.identity, fingerprint: file.fingerprint) }
    }
    let kept = Set(originals)
    let (added, removed, left, leftOutBefore) = state.withLock { state in
      let (added, removed) = (kept.subtracting(state.kept), state.kept.subtracting(kept))
      let left = removed.compactMap { state.running.removeValue(forKey: $0) }
      defer { (state.kept, state.leftOut, state.isSuspended) = (kept, list.leftOut, false) }
      state.failed.formIntersection(kept)
      state.refused.formIntersection(kept)
      return (added, removed, left, state.leftOut)
    }
    for original in added { downloads.pin(original.key, original.identity) }
    for original in removed { downloads.unpin(original.key, original.identity) }
    for ticket in left { downloads.leave(ticket) }
    downloads.trim()
    let missing = originals.filter { !downloads.isLocal($0.key, $0.identity) }
    if list.leftOut > 0, list.leftOut != leftOutBefore {
      logger.warning(
        "originals to keep exceed originals.keptPercent; raise it or originals.diskBytes",
        metadata: ["files": "\(list.leftOut)", "bytes": "\(list.leftOutBytes)"])
    }
    let absent = Set(missing)
    state.withLock { state in
      // Requests may have downloaded some of them.
      state.refused.formIntersection(absent)
      let waiting = missing.filter {
        state.running[$0] == nil && !state.starting.contains($0) && !state.refused.contains($0)
      }
      state.missing =
        (waiting.filter { !state.failed.contains($0) } + waiting.filter { state.failed.contains($0) })[...]
    }
    startNext()
  }

  // MARK: Downloads

  private func startNext() {
    while let original = nextMissing() {
      let waiter = Waiter { [weak self] result in self?.ended(original, result) }
      let ticket = downloads.join(
        original.key, original.identity, fingerprint: original.fingerprint, priority: .kept, waiter)
      let isUnwanted = state.withLock { state in
        // The waiter is called on another queue: the download may have ended before this.
        guard state.starting.remove(original) != nil else { return false }
        guard state.kept.contains(original) else { return true }
        state.running[original] = ticket
        return false
      }
      if isUnwanted { downloads.leave(ticket) }
    }
  }

  private func nextMissing() -> Original? {
    state.withLock { state in
      guard !state.isSuspended, state.starting.count + state.running.count < limits.downloads,
        let original = state.missing.popFirst()
      else { return nil }
      state.starting.insert(original)
      return original
    }
  }

  private final class Waiter: OriginalWaiter {
    private let ended: @Sendable (Result<any FileByteSource, DownloadError>) -> Void

    init(_ ended: @escaping @Sendable (Result<any FileByteSource, DownloadError>) -> Void) { self.ended = ended }

    func downloadProgressed(_ original: ArrivingOriginal) {}
    func downloadEnded(_ result: Result<any FileByteSource, DownloadError>) { ended(result) }
  }

  private func ended(_ original: Original, _ result: Result<any FileByteSource, DownloadError>) {
    let (isOutage, schedulesRetry) = state.withLock { state -> (Bool, Bool) in
      state.starting.remove(original)
      state.running[original] = nil
      guard case .failure(let error) = result else {
        state.failed.remove(original)
        return (false, false)
      }
      let scope = error.scope
      if scope == .store { state.isSuspended = true }
      guard state.kept.contains(original) else { return (scope == .store, false) }
      state.failed.insert(original)
      guard scope == .original else { return (scope == .store, false) }
      state.refused.insert(original)
      defer { state.isRetryScheduled = true }
      return (false, !state.isRetryScheduled)
    }
    if case .failure(let error) = result {
      logger.notice(
        "downloading an original to keep failed", metadata: ["key": "\(original.key)", "error": "\(error)"])
    }
    if schedulesRetry { retryRefused(after: Self.refusedDelay) }
    if isOutage { return update(after: Self.retryDelay) }
    queue.async { [self] in startNext() }
  }

  private func retryRefused(after delay: Duration) {
    clock.after(delay) { [weak self] in
      guard let self else { return }
      state.withLock { ($0.refused, $0.isRetryScheduled) = ([], false) }
      queue.async { self.readAgain() }
    }
  }
}

extension DownloadError {
  fileprivate enum Scope {
    /// The library has changed; the next scan finds it.
    case library
    /// Others may succeed.
    case original
    /// Others would fail too, and all may succeed later.
    case store
  }

  fileprivate var scope: Scope {
    switch self {
    case .system, .tooManyDownloads: .store
    case .noSpace: .original
    case .store(.notFound), .store(.changed): .library
    case .store(.suspended), .store(.limitExceeded(.pendingOperations)), .store(.system), .store(.cancelled): .store
    case .store(.accessDenied(let problem)): problem == .forbidden ? .original : .store
    case .store(let error): error.isOutage ? .store : .original
    }
  }
}
