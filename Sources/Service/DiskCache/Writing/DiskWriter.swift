// Writes stored entries and removes old ones, one thread at a time, on its own queue.
//
// A turn writes one batch of waiting entries, then removes one batch of old entries; turns repeat until nothing is
// left:
//
//     open the index (create, lock, reopen after a failure)
//     FolderSweep, one folder each turn, if rows may have been lost
//     one transaction: index updates; for each entry: make room, remove the victims' files, insert the row
//     commit, then the entries' files, each under a temporary name and then renamed
//     remove some entries of an old epoch, or beyond a capacity that has become smaller
//
// So every file has a row at every moment. A kill leaves at most rows without files, which are removed later.

import Dispatch
import Logging
import Synchronization

/// `@unchecked Sendable` because `index`, `lock`, `sweep`, `isOpenRecorded`, `hasLoggedStuckFile` and
/// `hasLoggedDisplaced` are used only on the queue, which `open`, `turn` and `end` assert.
final class DiskWriter: @unchecked Sendable {
  /// Limits SQLite's journal: each row changes two or three pages of it.
  private static let entriesPerTransaction = 512
  private static let indexUpdatesPerTransaction = 1024

  let buffer: Mutex<WriteBuffer>
  let folder: CacheFolder
  let capacityBytes: Int64
  let epochs: DiskStore.Epochs
  private let limits: DiskStoreLimits
  private let logger: Logger
  let environment: DiskEnvironment
  private let queue = DispatchQueue(label: "photod.disk-cache", qos: .utility)

  private var lock: CacheFolderLock?
  private var index: DiskIndex?
  private var sweep: FolderSweep?
  /// The index records that it is open.
  private var isOpenRecorded = false
  private var hasLoggedStuckFile = false
  private var hasLoggedDisplaced = false

  init(
    folder: CacheFolder, capacityBytes: Int64, epochs: DiskStore.Epochs, limits: DiskStoreLimits, logger: Logger,
    environment: DiskEnvironment
  ) {
    buffer = Mutex(WriteBuffer(capacityBytes: capacityBytes, limits: limits))
    self.folder = folder
    self.capacityBytes = capacityBytes
    self.epochs = epochs
    self.limits = limits
    self.logger = logger
    self.environment = environment
  }

  // MARK: From any thread

  func store(_ entry: DiskEntry, as name: EntryName) {
    let now = environment.now()
    if buffer.withLock({ $0.store(entry, as: name, now: now) }) { enqueue() }
  }

  func recordLookup(_ name: EntryName, _ reading: EntryReadResult) {
    let now = environment.now()
    let todo = buffer.withLock { $0.recordLookup(name, reading, now: now) }
    if todo.schedules { enqueue() }
    guard todo.shouldLog else { return }
    switch reading {
    case .entry, .missing: break
    case .damaged(let damage):
      logger.warning("damaged cache entry removed", metadata: ["damage": "\(damage.rawValue)"])
    case .failed(let code):
      logger.warning("cache entry unreadable", metadata: ["errno": "\(code)"])
    }
  }

  /// Opens the index before it returns.
  func open() {
    guard capacityBytes > 0 else { return }
    queue.sync {
      do { _ = try openIndex() } catch { fail(DiskFault(error)) }
    }
  }

  /// Opens the folder if another store used it. Returns whether the store was off for that reason and is on now.
  func reopen() -> Bool {
    guard buffer.withLock({ $0.isWaitingForFolder }) else { return false }
    return queue.sync {
      guard buffer.withLock({ $0.isWaitingForFolder }) else { return false }
      do { _ = try openIndex() } catch {
        fail(DiskFault(error))
        return false
      }
      guard buffer.withLock({ $0.folderOpened() }) else {
        end()
        return false
      }
      logger.info("disk cache enabled", metadata: ["folder": "\(folder.path)"])
      return true
    }
  }

  func close() {
    guard buffer.withLock({ $0.turnOff() }) else { return }
    queue.sync { end() }
  }

  func waitUntilIdle() {
    while buffer.withLock({ $0.isScheduled }) { queue.sync {} }
    // The last turn may not have ended yet.
    queue.sync {}
  }

  func waitForRoom() {
    let use = buffer.withLock { $0.lastUse }
    // At most two turns: one that may have begun before the last store, and the next.
    while buffer.withLock({ $0.willWrite(storedUpTo: use) }) { queue.sync {} }
  }

  /// Removes all entries of subjects. Returns false if that failed.
  func remove(_ subjects: Set<DiskStore.Subject>) -> Bool {
    queue.sync {
      // Without a capacity there is no folder of this store. Otherwise its entries are there, and may be found again.
      if buffer.withLock({ $0.statistics.isOff }) { return capacityBytes == 0 }
      buffer.withLock { buffer in buffer.drop { subjects.contains($0.subject) } }
      do {
        return try removeEntries(of: subjects, openIndex())
      } catch {
        fail(DiskFault(error))
        return false
      }
    }
  }

  private func enqueue() { queue.async { [self] in turn() } }

  // MARK: On the queue

  private func turn() {
    dispatchPrecondition(condition: .onQueue(queue))
    if buffer.withLock({ $0.statistics.isOff }) {
      _ = buffer.withLock { $0.batchFinished(hasMore: false) }
      return
    }
    let hasMore: Bool
    do {
      let index = try openIndex()
      if try !continueSweep(index) {
        hasMore = true
      } else {
        try writeBatch(index)
        hasMore = try evictSome(index)
      }
    } catch {
      return fail(DiskFault(error))
    }
    if buffer.withLock({ $0.batchFinished(hasMore: hasMore) }) { enqueue() }
  }

  private func openIndex() throws -> DiskIndex {
    dispatchPrecondition(condition: .onQueue(queue))
    if let index { return index }
    try environment.check(.openIndex)
    try folder.make()
    lock = nil
    lock = try folder.lock()
    folder.removePartial()
    logDisplaced()
    let index: DiskIndex
    do { index = try folder.openIndex() } catch {
      guard case .indexDamaged(let reason) = DiskFault(error) else { throw error }
      logger.warning("disk cache emptied", metadata: ["reason": "index unusable: \(reason)"])
      folder.removeIndex()
      index = try folder.openIndex()
    }
    let boot = environment.bootIdentifier() ?? "unknown"
    isOpenRecorded = index.openedInBoot == boot && boot != "unknown"
    sweep = isOpenRecorded || index.openedInBoot.isEmpty ? nil : try FolderSweep(folder, index)
    self.index = index
    let hasWork = sweep != nil || needsEviction(index)
    // A new folder has nothing to sweep.
    let isSweeping = sweep?.isDone == false
    let needsTurn = buffer.withLock {
      $0.opened(lastUse: index.lastUse, index.totals, isSweeping: isSweeping, hasWork: hasWork)
    }
    if needsTurn { enqueue() }
    return index
  }

  /// Continues a sweep, if one is in progress. Returns false if more of it is left.
  private func continueSweep(_ index: DiskIndex) throws -> Bool {
    if sweep != nil {
      try sweep?.step(folder, index)
      buffer.withLock { $0.contentChanged(index.totals) }
      if sweep?.isDone == false { return false }
      sweep = nil
      buffer.withLock { $0.sweepEnded() }
    }
    if !isOpenRecorded {
      try index.recordOpened(in: environment.bootIdentifier() ?? "unknown")
      isOpenRecorded = true
    }
    return true
  }

  private func writeBatch(_ index: DiskIndex) throws {
    let batch = buffer.withLock { $0.take() }
    if batch.isEmpty { return }
    try checkSpace(for: batch)
    for notes in Array(batch.indexUpdates).pieces(of: Self.indexUpdatesPerTransaction) {
      try index.transaction { transaction in
        for (name, note) in notes {
          switch note {
          case .used(let lastUse): try transaction.touch(name, lastUse: lastUse)
          case .missing:
            if try removeFile(name) { try transaction.remove(name) }
          }
        }
        try environment.check(.commit)
      }
    }
    buffer.withLock { $0.contentChanged(index.totals) }
    let entries = batch.entries.sorted { $0.value.lastUse < $1.value.lastUse }
    for piece in entries.pieces(of: Self.entriesPerTransaction) { try write(piece, index) }
    try environment.check(.batchDone)
    if buffer.withLock({ $0.recovered() }) { logger.info("disk cache writable again") }
  }

  private func write(_ entries: ArraySlice<(key: EntryName, value: WriteBuffer.WaitingEntry)>, _ index: DiskIndex)
    throws
  {
    var tally = EvictionTally()
    var leftOut: Set<EntryName> = []
    try index.transaction { transaction in
      for (name, waiting) in entries {
        // Remove the replaced file first: both files together might exceed the capacity.
        if try transaction.contains(name), try !remove(name, from: &transaction, &tally) {
          leftOut.insert(name)
          continue
        }
        let bytes = EntryCost.bytes(of: waiting.entry.bytes.count)
        while transaction.bytes + bytes > capacityBytes { try evict(from: &transaction, &tally) }
        try transaction.insert(name, bytes: bytes, lastUse: waiting.lastUse)
        // An older entry of this name may have been evicted for an earlier entry of the batch.
        tally.gone.remove(name)
      }
      try environment.check(.commit)
    }
    recordEvictions(tally, index)
    // An entry may have been evicted again to make room for a later entry of the batch.
    var files = entries.filter { !tally.gone.contains($0.key) && !leftOut.contains($0.key) }[...]
    var stored = 0
    defer {
      let written = Set(entries.map(\.key)).subtracting(files.map(\.key))
      buffer.withLock { $0.written(written, stored: stored, leftOut: leftOut.count) }
    }
    do throws(DiskFault) {
      while let (name, waiting) = files.first {
        if try folder.write(waiting.entry, as: name) {
          stored += 1
        } else {
          logStuckFile(name)
          leftOut.insert(name)
          buffer.withLock { $0.lost([name]) }
        }
        files.removeFirst()
      }
    } catch {
      buffer.withLock { $0.lost(files.map(\.key)) }
      throw error
    }
  }

  /// Removes an entry's file. Returns false if that is not possible for this file only.
  func removeFile(_ name: EntryName) throws(DiskFault) -> Bool {
    switch try folder.remove(name) {
    case .removed: return true
    case .displaced:
      logger.warning(
        "moved what was in the place of a cache entry", metadata: ["path": "\(folder.description(of: name))"])
      return true
    case .stuck:
      logStuckFile(name)
      return false
    }
  }

  /// Logs only once, because later turns try the file again.
  private func logStuckFile(_ name: EntryName) {
    if hasLoggedStuckFile { return }
    hasLoggedStuckFile = true
    logger.warning("cache entry not removable", metadata: ["path": "\(folder.description(of: name))"])
  }

  /// Logs renamed files and folders, once for each process: they stay until an operator removes them.
  private func logDisplaced() {
    if hasLoggedDisplaced { return }
    hasLoggedDisplaced = true
    let count = folder.displacedNames().count
    if count == 0 { return }
    logger.warning(
      "disk cache has files that are not its own",
      metadata: ["count": "\(count)", "paths": "\(folder.path)/displaced-*"])
  }

  private func checkSpace(for batch: WriteBuffer.Batch) throws(DiskFault) {
    // If the free space is unknown, continue: a full disk will report an error itself.
    guard let free = environment.freeBytes(folder.path) else { return }
    let needed = batch.entries.values.reduce(0) { $0 + EntryCost.bytes(of: $1.entry.bytes.count) }
    guard free >= limits.minimumFreeBytes + needed else {
      throw .nearlyFull(freeBytes: free, minimumBytes: limits.minimumFreeBytes)
    }
  }

  /// Suspends the store; it starts again when the disk may be written again.
  private func fail(_ fault: DiskFault) {
    dispatchPrecondition(condition: .onQueue(queue))
    // Closing a broken index may fail too; that error adds no information.
    try? index?.close(isClean: false)
    index = nil
    sweep = nil
    lock = nil
    if case .folderInUse = fault {
      if buffer.withLock({ $0.folderTaken() }) {
        // Normal while one daemon replaces another, so this is no error.
        logger.notice("disk cache waits for another process", metadata: ["folder": "\(folder.path)"])
      }
      return
    }
    if case .indexDamaged = fault { folder.removeIndex() }
    let now = environment.now()
    if buffer.withLock({ $0.failed(now: now) }) {
      logger.error(
        "disk cache write failed", metadata: ["reason": "\(fault)", "retry": "\(limits.retryDelay)"])
    }
  }

  private func end() {
    dispatchPrecondition(condition: .onQueue(queue))
    if let index {
      do {
        if sweep == nil {
          _ = try continueSweep(index)
          try writeBatch(index)
        }
        try index.close(isClean: sweep == nil)
      } catch {
        logger.warning("disk cache not closed cleanly", metadata: ["reason": "\(DiskFault(error))"])
        try? index.close(isClean: false)
      }
    }
    index = nil
    lock = nil
  }
}

extension RandomAccessCollection where Index == Int {
  fileprivate func pieces(of size: Int) -> [SubSequence] {
    stride(from: startIndex, to: endIndex, by: size).map { self[$0..<Swift.min($0 + size, endIndex)] }
  }
}
