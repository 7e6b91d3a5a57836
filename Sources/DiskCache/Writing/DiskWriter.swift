// Writes what was stored, and clears away what must go: one thread at a time, on a queue of its own.
//
// A turn is one batch of what waits, then one of what is to be cleared away, until there is neither:
//
//     the index is open (made, locked, opened anew after a failure)
//     FolderSweep, a folder a turn, where rows may have been lost
//     one transaction: notes; for each entry room is made, victims' files removed, its row inserted
//     commit, then the entries' files, each under a temporary name and renamed
//     some of what is of an old epoch, or beyond a capacity that has become smaller
//
// So at every moment each file has a row, and a kill leaves at most rows without files, which go in their turn.

import Dispatch
import Logging
import Synchronization

/// `@unchecked Sendable` because `index`, `lock`, `sweep` and `isNoted` are touched on the queue only, which `open`,
/// `turn` and `end` assert.
final class DiskWriter: @unchecked Sendable {
  /// Bounds of SQLite's journal: each row changes two or three pages of it.
  private static let entriesPerTransaction = 512
  private static let notesPerTransaction = 1024

  let buffer: Mutex<WriteBuffer>
  let folder: CacheFolder
  let capacityBytes: Int64
  let epochs: DiskStore.Epochs
  private let limits: DiskStoreLimits
  private let logger: Logger
  let surroundings: DiskSurroundings
  private let queue = DispatchQueue(label: "photod.disk-cache", qos: .utility)

  private var lock: FolderLock?
  private var index: DiskIndex?
  private var sweep: FolderSweep?
  /// The index says that it is open.
  private var isNoted = false

  init(
    folder: CacheFolder, capacityBytes: Int64, epochs: DiskStore.Epochs, limits: DiskStoreLimits, logger: Logger,
    surroundings: DiskSurroundings
  ) {
    buffer = Mutex(WriteBuffer(capacityBytes: capacityBytes, limits: limits))
    self.folder = folder
    self.capacityBytes = capacityBytes
    self.epochs = epochs
    self.limits = limits
    self.logger = logger
    self.surroundings = surroundings
  }

  // MARK: From any thread

  func store(_ entry: DiskEntry, as name: EntryName) {
    let now = surroundings.now()
    if buffer.withLock({ $0.store(entry, as: name, now: now) }) { enqueue() }
  }

  func lookedUp(_ name: EntryName, _ reading: EntryReading) {
    let now = surroundings.now()
    let todo = buffer.withLock { $0.lookedUp(name, reading, now: now) }
    if todo.schedules { enqueue() }
    guard todo.complains else { return }
    switch reading {
    case .entry, .missing: break
    case .damaged(let damage):
      logger.warning("a damaged cache entry is removed", metadata: ["damage": "\(damage.rawValue)"])
    case .failed(let code):
      logger.warning("a cache entry can't be read", metadata: ["errno": "\(code)"])
    }
  }

  /// Opens the index before it returns.
  func open() {
    guard capacityBytes > 0 else { return }
    queue.sync {
      do { _ = try openIndex() } catch { fail(DiskFault(error)) }
    }
  }

  func close() {
    guard buffer.withLock({ $0.turnOff() }) else { return }
    queue.sync { end() }
  }

  func waitUntilIdle() {
    while buffer.withLock({ $0.isScheduled }) { queue.sync {} }
    // The last turn may still be about to end.
    queue.sync {}
  }

  private func enqueue() { queue.async { [self] in turn() } }

  // MARK: On the queue

  private func turn() {
    dispatchPrecondition(condition: .onQueue(queue))
    if buffer.withLock({ $0.statistics.isOff }) {
      _ = buffer.withLock { $0.turnEnded(hasMore: false) }
      return
    }
    let hasMore: Bool
    do {
      let index = try openIndex()
      if try !isSwept(index) {
        hasMore = true
      } else {
        try writeBatch(index)
        hasMore = try clear(index)
      }
    } catch {
      return fail(DiskFault(error))
    }
    if buffer.withLock({ $0.turnEnded(hasMore: hasMore) }) { enqueue() }
  }

  private func openIndex() throws -> DiskIndex {
    dispatchPrecondition(condition: .onQueue(queue))
    if let index { return index }
    try surroundings.check(.openIndex)
    try folder.make()
    lock = nil
    lock = try folder.lock()
    folder.removePartial()
    let index: DiskIndex
    do { index = try folder.openIndex() } catch {
      guard case .indexDamaged(let reason) = DiskFault(error) else { throw error }
      logger.warning("the disk cache's index can't be used: the cache is emptied", metadata: ["reason": "\(reason)"])
      folder.removeIndex()
      index = try folder.openIndex()
    }
    let boot = surroundings.bootIdentifier() ?? "unknown"
    isNoted = index.openedInBoot == boot && boot != "unknown"
    sweep = isNoted || index.openedInBoot.isEmpty ? nil : try FolderSweep(folder, index)
    self.index = index
    let hasWork = sweep != nil || needsClearing(index)
    if buffer.withLock({ $0.opened(lastUse: index.lastUse, index.totals, hasWork: hasWork) }) { enqueue() }
    return index
  }

  /// Goes on with the sweep, where there is one. `false`: there is more of it.
  private func isSwept(_ index: DiskIndex) throws -> Bool {
    if sweep != nil {
      try sweep?.step(folder, index)
      buffer.withLock { $0.contentChanged(index.totals) }
      if sweep?.isDone == false { return false }
      sweep = nil
    }
    if !isNoted {
      try index.noteOpened(in: surroundings.bootIdentifier() ?? "unknown")
      isNoted = true
    }
    return true
  }

  private func writeBatch(_ index: DiskIndex) throws {
    let batch = buffer.withLock { $0.take() }
    if batch.isEmpty { return }
    try checkSpace(for: batch)
    for notes in Array(batch.notes).pieces(of: Self.notesPerTransaction) {
      try index.transaction { transaction in
        for (name, note) in notes {
          switch note {
          case .used(let lastUse): try transaction.touch(name, lastUse: lastUse)
          case .lost:
            try folder.remove(name)
            try transaction.remove(name)
          }
        }
        try surroundings.check(.commit)
      }
    }
    buffer.withLock { $0.contentChanged(index.totals) }
    let entries = batch.entries.sorted { $0.value.lastUse < $1.value.lastUse }
    for piece in entries.pieces(of: Self.entriesPerTransaction) { try write(piece, index) }
    try surroundings.check(.batchDone)
    if buffer.withLock({ $0.recovered() }) { logger.info("the disk cache can be written again") }
  }

  private func write(_ entries: ArraySlice<(key: EntryName, value: WriteBuffer.Waiting)>, _ index: DiskIndex) throws {
    var clearing = Clearing()
    try index.transaction { transaction in
      for (name, waiting) in entries {
        // The file that it replaces goes before it comes: both at once might be too much.
        if try transaction.remove(name) { try folder.remove(name) }
        let bytes = EntryCost.bytes(of: waiting.entry.bytes.count)
        while transaction.bytes + bytes > capacityBytes { try evict(from: &transaction, &clearing) }
        try transaction.insert(name, bytes: bytes, lastUse: waiting.lastUse)
        // It may have gone, for one before it, as what it was.
        clearing.gone.remove(name)
      }
      try surroundings.check(.commit)
    }
    noteCleared(clearing, index)
    // One may have had to go again for another of these.
    var files = entries.filter { !clearing.gone.contains($0.key) }[...]
    let count = files.count
    defer {
      let written = Set(entries.map(\.key)).subtracting(files.map(\.key))
      buffer.withLock { $0.written(written, stored: count - files.count) }
    }
    do throws(DiskFault) {
      while let (name, waiting) = files.first {
        try folder.write(waiting.entry, as: name)
        files.removeFirst()
      }
    } catch {
      buffer.withLock { $0.lost(files.map(\.key)) }
      throw error
    }
  }

  private func checkSpace(for batch: WriteBuffer.Batch) throws(DiskFault) {
    // What is not known is not held against the disk: it will say so itself.
    guard let free = surroundings.freeBytes(folder.path) else { return }
    let needed = batch.entries.values.reduce(0) { $0 + EntryCost.bytes(of: $1.entry.bytes.count) }
    guard free >= limits.minimumFreeBytes + needed else {
      throw .nearlyFull(freeBytes: free, minimumBytes: limits.minimumFreeBytes)
    }
  }

  /// The store goes quiet, and begins anew when it may write again.
  private func fail(_ fault: DiskFault) {
    dispatchPrecondition(condition: .onQueue(queue))
    // A broken index may not close either; that says nothing more.
    try? index?.close(isClean: false)
    index = nil
    sweep = nil
    lock = nil
    if case .folderTaken = fault {
      if buffer.withLock({ $0.turnOff() }) {
        logger.error("the disk cache is off: another process has its folder", metadata: ["folder": "\(folder.path)"])
      }
      _ = buffer.withLock { $0.turnEnded(hasMore: false) }
      return
    }
    if case .indexDamaged = fault { folder.removeIndex() }
    let now = surroundings.now()
    if buffer.withLock({ $0.failed(now: now) }) {
      logger.error(
        "the disk cache can't be written: pictures are rendered instead",
        metadata: ["reason": "\(fault)", "retry": "\(limits.retryDelay)"])
    }
  }

  private func end() {
    dispatchPrecondition(condition: .onQueue(queue))
    if let index {
      do {
        if sweep == nil {
          _ = try isSwept(index)
          try writeBatch(index)
        }
        try index.close(isClean: sweep == nil)
      } catch {
        logger.warning("the disk cache was not closed properly", metadata: ["reason": "\(DiskFault(error))"])
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
