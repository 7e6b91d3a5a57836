// What stands between those who look up and store and the one who writes: entries that wait, notes for the index, and the
// counters. A value that is told what happens and answers what to do; its owner holds it in a lock.

struct WriteBuffer {
  /// An entry on its way to the disk.
  struct Waiting {
    let entry: DiskEntry
    var lastUse: Int64

    /// What it is counted as while it waits. So at most two thousand wait, however small they are.
    var cost: Int { entry.bytes.count + 4096 }
  }

  /// What the index is to be told of an entry that is on disk.
  enum Note {
    case used(Int64)
    /// Its file is of no use, or there is none.
    case lost
  }

  /// What the writer takes at once.
  struct Batch {
    let entries: [EntryName: Waiting]
    let notes: [EntryName: Note]
    var isEmpty: Bool { entries.isEmpty && notes.isEmpty }
  }

  enum LookUp {
    case off
    case waiting(DiskEntry)
    /// Not here: on disk, if anywhere.
    case elsewhere
  }

  /// One entry may take this part of the capacity, so that a single one does not turn out all others, and one that must go
  /// always leaves room enough.
  private static let largestShare: Int64 = 4
  /// The log hears of a look-up that failed at most this often; the counters tell the rest.
  private static let complaintInterval: Duration = .seconds(3600)

  private(set) var statistics = DiskStoreStatistics()
  private let capacityBytes: Int64
  private let limits: DiskStoreLimits
  /// Not begun, and being written.
  private var waiting: [EntryName: Waiting] = [:]
  private var writing: [EntryName: Waiting] = [:]
  private var pendingBytes = 0
  private var notes: [EntryName: Note] = [:]
  private var lastUse: Int64 = 0
  /// A turn of the writer is under way or will be.
  private(set) var isScheduled = false
  /// After a failure: when to write again.
  private var retryAt: ContinuousClock.Instant?
  /// When a failed or damaged look-up may be logged again.
  private var complaintAt: ContinuousClock.Instant?

  init(capacityBytes: Int64, limits: DiskStoreLimits) {
    self.capacityBytes = capacityBytes
    self.limits = limits
    statistics.isOff = capacityBytes == 0
  }

  // MARK: Looking up

  mutating func lookUp(_ name: EntryName) -> LookUp {
    let found = state(of: name)
    guard case .waiting = found else { return found }
    statistics.hits += 1
    let use = nextUse()
    if waiting[name] != nil { waiting[name]?.lastUse = use } else { note(.used(use), of: name) }
    return found
  }

  func state(of name: EntryName) -> LookUp {
    if statistics.isOff { return .off }
    guard let found = waiting[name] ?? writing[name] else { return .elsewhere }
    return .waiting(found.entry)
  }

  /// A file was read. Answers whether the writer should take a turn, and whether the log should hear of it.
  mutating func lookedUp(
    _ name: EntryName, _ reading: EntryReading, now: ContinuousClock.Instant
  ) -> (schedules: Bool, complains: Bool) {
    switch reading {
    case .entry:
      statistics.hits += 1
      note(.used(nextUse()), of: name)
      return (notes.count * 2 >= limits.pendingNotes && schedule(now), false)
    case .missing:
      statistics.misses += 1
      return (false, false)
    case .damaged:
      statistics.misses += 1
      statistics.corrupt += 1
      note(.lost, of: name)
      return (schedule(now), complain(now))
    case .failed:
      statistics.misses += 1
      statistics.failures += 1
      return (false, complain(now))
    }
  }

  private mutating func nextUse() -> Int64 {
    lastUse += 1
    return lastUse
  }

  private mutating func note(_ note: Note, of name: EntryName) {
    if notes.count < limits.pendingNotes || notes[name] != nil { notes[name] = note }
  }

  private mutating func complain(_ now: ContinuousClock.Instant) -> Bool {
    if let complaintAt, now < complaintAt { return false }
    complaintAt = now + Self.complaintInterval
    return true
  }

  // MARK: Storing

  /// Answers whether the writer should take a turn.
  mutating func store(_ entry: DiskEntry, as name: EntryName, now: ContinuousClock.Instant) -> Bool {
    if statistics.isOff { return false }
    var new = Waiting(entry: entry, lastUse: 0)
    let replaced = waiting[name]?.cost ?? 0
    guard entry.bytes.count <= limits.entryBytes,
      EntryCost.bytes(of: entry.bytes.count) <= capacityBytes / Self.largestShare,
      pendingBytes - replaced + new.cost <= limits.pendingBytes, mayWrite(now)
    else {
      statistics.dropped += 1
      return false
    }
    new.lastUse = nextUse()
    waiting[name] = new
    pendingBytes += new.cost - replaced
    return schedule(now)
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

  // MARK: Writing

  /// The index is open. Answers whether the writer should take a turn, for what there is to clear away.
  mutating func opened(lastUse: Int64, _ totals: [EntryGroup: DiskIndex.Total], hasWork: Bool) -> Bool {
    self.lastUse = max(self.lastUse, lastUse)
    contentChanged(totals)
    guard hasWork, !isScheduled else { return false }
    isScheduled = true
    return true
  }

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

  /// All that waits. An entry can be looked up until it is `written`.
  mutating func take() -> Batch {
    defer {
      writing = waiting
      waiting = [:]
      notes = [:]
    }
    return Batch(entries: waiting, notes: notes)
  }

  /// Entries are in the folder, or have been let go before they came there.
  mutating func written(_ names: some Sequence<EntryName>, stored: Int) {
    statistics.stored += stored
    for name in names {
      if let entry = writing.removeValue(forKey: name) { pendingBytes -= entry.cost }
    }
  }

  mutating func removed(evicted: Int, outdated: Int) {
    statistics.evicted += evicted
    statistics.outdated += outdated
  }

  /// Rows are in the index whose files are not in the folder.
  mutating func lost(_ names: some Sequence<EntryName>) {
    for name in names { notes[name] = .lost }
  }

  /// What waits can't be written. Answers whether the log should hear of it: once, until `recovered`.
  mutating func failed(now: ContinuousClock.Instant) -> Bool {
    statistics.failures += 1
    statistics.dropped += writing.count + waiting.count
    writing = [:]
    waiting = [:]
    pendingBytes = 0
    retryAt = now + limits.retryDelay
    isScheduled = false
    defer { statistics.isQuiet = true }
    return !statistics.isQuiet
  }

  /// A batch was written. Answers whether the log should hear of it.
  mutating func recovered() -> Bool {
    retryAt = nil
    defer { statistics.isQuiet = false }
    return statistics.isQuiet
  }

  /// Answers whether there is a next one.
  mutating func turnEnded(hasMore: Bool) -> Bool {
    isScheduled = !statistics.isOff && (hasMore || !waiting.isEmpty)
    return isScheduled
  }

  // MARK: Ending

  /// Answers whether it was on.
  mutating func turnOff() -> Bool {
    defer { statistics.isOff = true }
    return !statistics.isOff
  }
}
