// The state between callers and the writer: entries that wait, updates for the index, and the counters. A plain value:
// events go in as method calls, and the return value says what to do next. Its owner keeps it in a lock.

struct WriteBuffer {
  /// An entry that waits to be written.
  struct WaitingEntry {
    let entry: DiskEntry
    /// The number of the use that stored it.
    var firstUse: Int64 = 0
    var lastUse: Int64 = 0

    /// The cost while it waits. The fixed part limits the number of waiting entries to about two thousand, however
    /// small they are.
    var cost: Int { entry.bytes.count + 4096 }
  }

  /// A pending update of the index for an entry on disk.
  enum IndexUpdate {
    case used(Int64)
    /// The file is unusable or missing.
    case missing
  }

  /// The work that the writer takes in one turn.
  struct Batch {
    let entries: [EntryName: WaitingEntry]
    let indexUpdates: [EntryName: IndexUpdate]
    var isEmpty: Bool { entries.isEmpty && indexUpdates.isEmpty }
  }

  enum LookupResult {
    case off
    case waiting(DiskEntry)
    /// Not in the buffer: on disk, if it exists.
    case notBuffered
  }

  /// One entry may take at most 1/4 of the capacity, so that a single entry does not evict all others, and evicting
  /// always makes enough room.
  private static let capacityDivisor: Int64 = 4
  /// A failed lookup is logged at most this often; the counters record every one.
  private static let logInterval: Duration = .seconds(3600)

  private(set) var statistics = DiskStoreStatistics()
  private let capacityBytes: Int64
  private let limits: DiskStoreLimits
  /// Entries that wait, and entries that are being written.
  private var waiting: [EntryName: WaitingEntry] = [:]
  private var writing: [EntryName: WaitingEntry] = [:]
  private var pendingBytes = 0
  private var indexUpdates: [EntryName: IndexUpdate] = [:]
  private(set) var lastUse: Int64 = 0
  /// The store is off because another store uses the folder, and it is not closed.
  private(set) var isWaitingForFolder = false
  /// A turn of the writer is running or scheduled.
  private(set) var isScheduled = false
  /// A sweep is in progress: entries wait until it is done.
  private var isSweeping = false
  /// After a failure: when to write again.
  private var retryAt: ContinuousClock.Instant?
  /// When a failed or damaged lookup may be logged again.
  private var nextLogTime: ContinuousClock.Instant?

  init(capacityBytes: Int64, limits: DiskStoreLimits) {
    self.capacityBytes = capacityBytes
    self.limits = limits
    statistics.isOff = capacityBytes == 0
  }

  // MARK: Looking up

  mutating func lookUp(_ name: EntryName) -> LookupResult {
    let found = state(of: name)
    guard case .waiting = found else { return found }
    statistics.hits += 1
    let use = nextUse()
    if waiting[name] != nil { waiting[name]?.lastUse = use } else { note(.used(use), of: name) }
    return found
  }

  func state(of name: EntryName) -> LookupResult {
    if statistics.isOff { return .off }
    guard let found = waiting[name] ?? writing[name] else { return .notBuffered }
    return .waiting(found.entry)
  }

  /// Records that a file was read. Returns whether to schedule the writer, and whether to log.
  mutating func recordLookup(
    _ name: EntryName, _ reading: EntryReadResult, now: ContinuousClock.Instant
  ) -> (schedules: Bool, shouldLog: Bool) {
    switch reading {
    case .entry:
      statistics.hits += 1
      note(.used(nextUse()), of: name)
      return (indexUpdates.count * 2 >= limits.pendingIndexUpdates && schedule(now), false)
    case .missing:
      statistics.misses += 1
      return (false, false)
    case .damaged:
      statistics.misses += 1
      statistics.corrupt += 1
      note(.missing, of: name)
      return (schedule(now), shouldLog(now))
    case .failed:
      statistics.misses += 1
      statistics.failures += 1
      return (false, shouldLog(now))
    }
  }

  /// The number of a use that happens now.
  mutating func nextUse() -> Int64 {
    lastUse += 1
    return lastUse
  }

  private mutating func note(_ note: IndexUpdate, of name: EntryName) {
    if indexUpdates.count < limits.pendingIndexUpdates || indexUpdates[name] != nil { indexUpdates[name] = note }
  }

  private mutating func shouldLog(_ now: ContinuousClock.Instant) -> Bool {
    if let nextLogTime, now < nextLogTime { return false }
    nextLogTime = now + Self.logInterval
    return true
  }

  // MARK: Storing

  /// Returns whether to schedule the writer.
  mutating func store(_ entry: DiskEntry, as name: EntryName, now: ContinuousClock.Instant) -> Bool {
    if statistics.isOff { return false }
    var new = WaitingEntry(entry: entry)
    let replaced = waiting[name]?.cost ?? 0
    guard entry.bytes.count <= limits.entryBytes,
      EntryCost.bytes(of: entry.bytes.count) <= capacityBytes / Self.capacityDivisor,
      pendingBytes - replaced + new.cost <= limits.pendingBytes, mayWrite(now)
    else {
      statistics.dropped += 1
      return false
    }
    new.firstUse = nextUse()
    new.lastUse = new.firstUse
    waiting[name] = new
    pendingBytes += new.cost - replaced
    return schedule(now)
  }

  /// Whether a running or scheduled turn of the writer will write an entry that was stored by the use with this number
  /// or an earlier one. Linear in the number of buffered entries.
  func willWrite(storedUpTo use: Int64) -> Bool {
    guard isScheduled, !isSweeping, !statistics.isOff, !statistics.isSuspended else { return false }
    return waiting.values.contains { $0.firstUse <= use } || writing.values.contains { $0.firstUse <= use }
  }

  private func mayWrite(_ now: ContinuousClock.Instant) -> Bool {
    guard let retryAt else { return true }
    return now >= retryAt
  }

  private mutating func schedule(_ now: ContinuousClock.Instant) -> Bool {
    if isScheduled || statistics.isOff || !mayWrite(now) { return false }
    isScheduled = true
    return true
  }

  /// Drops entries that wait and are not being written yet.
  mutating func drop(where isDropped: (EntryName) -> Bool) {
    for (name, entry) in waiting where isDropped(name) {
      waiting[name] = nil
      pendingBytes -= entry.cost
    }
  }

  // MARK: Writing

  /// Records that the index is open. Returns whether to schedule the writer, for entries that must be removed.
  mutating func opened(
    lastUse: Int64, _ totals: [EntryGroup: DiskIndex.Total], isSweeping: Bool, hasWork: Bool
  ) -> Bool {
    self.isSweeping = isSweeping
    self.lastUse = max(self.lastUse, lastUse)
    contentChanged(totals)
    guard hasWork, !isScheduled else { return false }
    isScheduled = true
    return true
  }

  mutating func sweepEnded() { isSweeping = false }

  mutating func contentChanged(_ totals: [EntryGroup: DiskIndex.Total]) {
    statistics.frames = .init()
    statistics.derivatives = .init()
    for (group, total) in totals {
      switch group.kind {
      case .frame:
        statistics.frames.entries += total.entries
        statistics.frames.bytes += total.bytes
      case .derivative:
        statistics.derivatives.entries += total.entries
        statistics.derivatives.bytes += total.bytes
      }
    }
  }

  /// Takes everything that waits. Lookups still find an entry until it is `written`.
  mutating func take() -> Batch {
    defer {
      writing = waiting
      waiting = [:]
      indexUpdates = [:]
    }
    return Batch(entries: waiting, indexUpdates: indexUpdates)
  }

  /// Records that entries are in the folder, were evicted before they were written, or were left out.
  mutating func written(_ names: some Sequence<EntryName>, stored: Int, leftOut: Int) {
    statistics.stored += stored
    statistics.dropped += leftOut
    for name in names {
      if let entry = writing.removeValue(forKey: name) { pendingBytes -= entry.cost }
    }
  }

  mutating func removed(evicted: Int, outdated: Int) {
    statistics.evicted += evicted
    statistics.outdated += outdated
  }

  /// Records entries that were removed with their subject.
  mutating func removed(_ count: Int) { statistics.removed += count }

  /// Records that these rows are in the index but their files are not in the folder.
  mutating func lost(_ names: some Sequence<EntryName>) {
    for name in names { indexUpdates[name] = .missing }
  }

  /// Records that writing failed. Returns whether to log: once, until `recovered`.
  mutating func failed(now: ContinuousClock.Instant) -> Bool {
    statistics.failures += 1
    dropAll()
    retryAt = now + limits.retryDelay
    isScheduled = false
    defer { statistics.isSuspended = true }
    return !statistics.isSuspended
  }

  /// Records that another store uses the folder. Returns whether to log: once, until `folderOpened`.
  mutating func folderTaken() -> Bool {
    isScheduled = false
    // A closed store stays closed.
    if statistics.isOff { return false }
    dropAll()
    // The other store may change these entries.
    indexUpdates = [:]
    (statistics.isOff, isWaitingForFolder) = (true, true)
    return true
  }

  /// Records that the folder is this store's now. Returns false if the store was closed before that.
  mutating func folderOpened() -> Bool {
    guard isWaitingForFolder else { return false }
    (statistics.isOff, isWaitingForFolder) = (false, false)
    return true
  }

  private mutating func dropAll() {
    statistics.dropped += writing.count + waiting.count
    writing = [:]
    waiting = [:]
    pendingBytes = 0
  }

  /// Records that a batch was written. Returns whether to log.
  mutating func recovered() -> Bool {
    retryAt = nil
    defer { statistics.isSuspended = false }
    return statistics.isSuspended
  }

  /// Records the end of a batch. Returns whether another one follows.
  mutating func batchFinished(hasMore: Bool) -> Bool {
    isScheduled = !statistics.isOff && (hasMore || !waiting.isEmpty)
    return isScheduled
  }

  // MARK: Ending

  /// Turns the buffer off. Returns whether it was on.
  mutating func turnOff() -> Bool {
    isWaitingForFolder = false
    defer { statistics.isOff = true }
    return !statistics.isOff
  }
}
