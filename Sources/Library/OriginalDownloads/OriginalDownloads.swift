// Originals of a remote store on the local disk, within a limit: the most recently used ones, and the
// pinned ones.
//
//     open      an original on the local disk
//     join      waits for a download: the first caller starts it, and it ends when the last caller leaves, unless that
//               one only ran out of time
//     pin       keeps one, wherever it is in the order of use
//
// An original is identified by its path and its identity in the catalogue, so a local one is found without the store.
// Its file name is made of both, so a stored file is never out of date. Originals that are no longer requested are
// evicted.

import Dispatch
import LibraryFolder
import ObjectStores
import PhotoModel
import Synchronization

/// Waits for an original. Called on a queue of the downloads, one call at a time; must return quickly.
package protocol OriginalWaiter: AnyObject, Sendable {
  /// More bytes have been received.
  func downloadProgressed(_ original: ArrivingOriginal)
  /// The last call. The file is complete, and stays readable when it is evicted.
  func downloadEnded(_ result: Result<any FileByteSource, DownloadError>)
}

package final class OriginalDownloads: Sendable {
  package struct Limits: Sendable, Hashable {
    /// Maximum bytes of all originals, including those being downloaded.
    package var diskBytes: Int64 = 10 << 30
    /// Maximum number of downloads at the same time.
    package var downloads = 4
    /// Maximum number of downloads that wait for a permit.
    package var waiting = 256
    /// Maximum bytes per second of all downloads for windows together; 0: no limit.
    package var windowBytesPerSecond = 8 << 20
    /// Maximum number of downloads at the same time that no request waits for.
    package var windowDownloads = 2
    /// Maximum bytes of one download that have been received and not yet written.
    package var pendingBytes = 1 << 20

    package init() {}
  }

  package enum Priority: Int, Sendable, Comparable {
    /// For an original that is to be kept; after all windows.
    case kept
    /// For a window that looks ahead. Leaves one permit free, and pauses while another original arrives for a caller.
    case window
    /// A caller waits.
    case request

    package static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }
  }

  /// Identifies one waiting caller. Ends with ``OriginalDownloads/leave(_:)`` or with the download.
  package struct Ticket: Sendable, Hashable {
    let name: OriginalName
    let number: UInt64
  }

  struct Waiter {
    let receiver: any OriginalWaiter
    let priority: Priority
  }

  struct Job {
    let key: ObjectKey
    let identity: FileIdentity
    let fingerprint: FileFingerprint?
    /// By the numbers of their tickets; empty if the download goes on without a caller.
    var waiters: [UInt64: Waiter]
    /// Orders jobs of equal priority.
    let number: UInt64
    /// Whether room for it is reserved: from the moment at which it gets its permit.
    var hasRoom = false
    /// `nil` while it waits for a permit or for room.
    var download: Download?

    var priority: Priority { waiters.values.lazy.map(\.priority).max() ?? .window }
  }

  struct State {
    var index: OriginalIndex
    var jobs: [OriginalName: Job] = [:]
    var running = 0
    var lastNumber: UInt64 = 0
    var ended = EndedCounts()
    var throttle: WindowThrottle
    /// False once an entity tag that looked like an MD5 did not match its object: this store's tags are not MD5s.
    var checksTags = true
    /// Originals whose bytes differ from the fingerprint in the catalogue. Each is downloaded again once per run; if
    /// the same bytes arrive, they are accepted as the store's.
    private(set) var unmatched: Set<OriginalName> = []
    /// Paused downloads for windows.
    var paused: Set<OriginalName> = []
    var isResumeScheduled = false
    /// Called after an original was found removed or damaged.
    var onLost: (@Sendable () -> Void)?

    /// Returns false if the original was noted before, or too many are.
    mutating func noteUnmatched(_ name: OriginalName) -> Bool {
      unmatched.count < OriginalDownloads.maximumUnmatched && unmatched.insert(name).inserted
    }
  }

  /// Numbers for ``downloads``.
  package struct Counts: Sendable, Hashable {
    package let originals: Int
    package let usedBytes: Int64
    package let reservedBytes: Int64
    package let running: Int
    package let waiting: Int
    /// Running downloads that are paused, because a request's download comes first or the rate of windows is reached.
    package let paused: Int
    /// Since the start: downloads by how they ended, and the bytes of complete ones.
    package let ended: EndedCounts
  }

  package struct EndedCounts: Sendable, Hashable {
    package internal(set) var complete = 0
    package internal(set) var failed = 0
    /// All waiting callers have left.
    package internal(set) var abandoned = 0
    package internal(set) var completeBytes: Int64 = 0
  }

  /// Originals that differ from their fingerprint; further ones are not compared.
  static let maximumUnmatched = 10_000

  let store: any ObjectStore
  let folder: OriginalFolder
  let limits: Limits
  let clock: DownloadClock
  let queue = DispatchQueue(label: "photod.download", qos: .userInitiated)
  let state: Mutex<State>

  /// Reads the names in the folder. Removes nothing that is over the limit: call ``trim()`` once originals are pinned.
  ///
  /// - Parameter path: made if its parent folder exists. No other process may use it.
  package init(
    store: any ObjectStore, path: String, limits: Limits, clock: DownloadClock = .system
  ) throws(SystemError) {
    (self.store, self.limits, self.clock) = (store, limits, clock)
    folder = try OriginalFolder(path: path)
    var index = OriginalIndex(capacityBytes: limits.diskBytes)
    for (name, size) in try folder.load() { index.insert(name, size: size) }
    state = Mutex(State(index: index, throttle: WindowThrottle(bytesPerSecond: limits.windowBytesPerSecond)))
  }

  package var counts: Counts {
    state.withLock { state in
      Counts(
        originals: state.index.count, usedBytes: state.index.usedBytes, reservedBytes: state.index.reservedBytes,
        running: state.running, waiting: state.jobs.count { $0.value.download == nil }, paused: state.paused.count,
        ended: state.ended)
    }
  }

  /// Sets what is called, on any thread, after an original was found removed or damaged.
  func onLoss(_ onLost: @escaping @Sendable () -> Void) { state.withLock { $0.onLost = onLost } }

  // MARK: Local originals

  /// Whether an original is local, according to the index in memory.
  package func isLocal(_ key: ObjectKey, _ identity: FileIdentity) -> Bool {
    let name = OriginalName(key, identity)
    return state.withLock { $0.index.contains(name) }
  }

  /// Opens a local original, and marks it as the most recently used. Waits for the disk.
  ///
  /// - Parameter fingerprint: the fingerprint in the catalogue. An original that differs from it is damaged, and is
  ///   removed.
  package func open(
    _ key: ObjectKey, _ identity: FileIdentity, fingerprint: FileFingerprint? = nil
  ) -> (any FileByteSource)? {
    let name = OriginalName(key, identity)
    let isLocal = state.withLock { state in
      state.index.touch(name)
      return state.index.contains(name)
    }
    guard isLocal else { return nil }
    let file = folder.open(name, size: identity.size)
    if let file, !isDamaged(file, name, fingerprint) { return file }
    // Another program has removed or damaged the file.
    let onLost = state.withLock { state in
      state.index.remove(name)
      return state.onLost
    }
    if file != nil { folder.remove(name) }
    onLost?()
    return nil
  }

  private func isDamaged(_ file: LibraryFile, _ name: OriginalName, _ fingerprint: FileFingerprint?) -> Bool {
    // If its ends can't be read, the caller's own reads fail and report it.
    guard let fingerprint, let found = try? FileFingerprint(of: file), found != fingerprint else { return false }
    return state.withLock { $0.noteUnmatched(name) }
  }

  /// Evicts originals that are over the limit, which may have been lowered since the last run.
  package func trim() {
    let removed = state.withLock { $0.index.reserve(0) }
    for name in removed ?? [] { folder.remove(name) }
  }

  /// Keeps an original from being evicted, now or once it is downloaded, until ``unpin(_:_:)`` is called as often.
  package func pin(_ key: ObjectKey, _ identity: FileIdentity) {
    let name = OriginalName(key, identity)
    state.withLock { $0.index.pin(name) }
  }

  package func unpin(_ key: ObjectKey, _ identity: FileIdentity) {
    let name = OriginalName(key, identity)
    state.withLock { $0.index.unpin(name) }
  }

  /// Keeps an original longer than others, now or once it is downloaded, until ``endHold(_:_:)`` is called as often.
  func hold(_ key: ObjectKey, _ identity: FileIdentity) {
    let name = OriginalName(key, identity)
    state.withLock { $0.index.hold(name) }
  }

  func endHold(_ key: ObjectKey, _ identity: FileIdentity) {
    let name = OriginalName(key, identity)
    state.withLock { $0.index.endHold(name) }
  }

  // MARK: Downloads

  /// Waits for an original. The waiter is called later, never before this method has returned.
  ///
  /// - Parameter fingerprint: the fingerprint in the catalogue, which the download is compared with; `nil` if it is
  ///   unknown.
  package func join(
    _ key: ObjectKey, _ identity: FileIdentity, fingerprint: FileFingerprint? = nil, priority: Priority,
    _ waiter: any OriginalWaiter
  ) -> Ticket {
    let name = OriginalName(key, identity)
    enum Step {
      case joined
      case isLocal
      case failed(DownloadError)
    }
    let (ticket, step) = state.withLock { state -> (Ticket, Step) in
      state.lastNumber += 1
      let ticket = Ticket(name: name, number: state.lastNumber)
      if state.jobs[name] != nil {
        state.jobs[name]?.waiters[ticket.number] = Waiter(receiver: waiter, priority: priority)
        return (ticket, .joined)
      }
      if state.index.contains(name) { return (ticket, .isLocal) }
      guard identity.size <= limits.diskBytes else { return (ticket, .failed(.noSpace)) }
      guard state.jobs.count < limits.downloads + limits.waiting else { return (ticket, .failed(.tooManyDownloads)) }
      state.jobs[name] = Job(
        key: key, identity: identity, fingerprint: fingerprint,
        waiters: [ticket.number: Waiter(receiver: waiter, priority: priority)], number: ticket.number)
      return (ticket, .joined)
    }
    queue.async { [self] in
      switch step {
      case .joined: startNext()
      case .failed(let error): waiter.downloadEnded(.failure(error))
      case .isLocal:
        if let file = open(key, identity, fingerprint: fingerprint) { return waiter.downloadEnded(.success(file)) }
        // Evicted or damaged in the meantime. The waiter's ticket stays valid under its own number.
        rejoin(key, identity, fingerprint, priority, ticket, waiter)
      }
    }
    return ticket
  }

  /// The beginning of an original that is being downloaded; `nil` if no byte of it has been received.
  package func arriving(_ ticket: Ticket) -> ArrivingOriginal? {
    state.withLock { $0.jobs[ticket.name]?.download.map(ArrivingOriginal.init) }
  }

  /// Stops waiting: the waiter is no longer called, except by a call that is already under way. The download ends if no
  /// other caller waits for it.
  ///
  /// - Parameter continuing: let a download of which bytes have arrived go on without a caller, like one for a window,
  ///   until it ends or a request needs its place.
  package func leave(_ ticket: Ticket, continuing: Bool = false) {
    let goesOn = continuing && (arriving(ticket)?.availableBytes ?? 0) > 0
    let abandoned = state.withLock { state -> Download? in
      guard state.jobs[ticket.name]?.waiters.removeValue(forKey: ticket.number) != nil,
        let job = state.jobs[ticket.name], job.waiters.isEmpty
      else { return nil }
      if goesOn, job.download != nil { return nil }
      Self.end(ticket.name, &state)
      state.ended.abandoned += 1
      return job.download
    }
    abandoned?.cancel()
    queue.async { [self] in startNext() }
  }

  /// Takes a job out of the table.
  static func end(_ name: OriginalName, _ state: inout State) {
    guard let job = state.jobs.removeValue(forKey: name) else { return }
    if job.hasRoom { state.index.release(job.identity.size) }
    if job.download != nil { state.running -= 1 }
    state.paused.remove(name)
  }
}
