#if canImport(Glibc)
  import Glibc
#endif

/// The entries that a transaction has removed.
struct EvictionTally {
  /// Entries removed to make room.
  var evicted = 0
  /// Names of removed entries that were not stored again since.
  var gone: Set<EntryName> = []
  /// Entries removed because their epoch has ended.
  var outdated = 0
  /// Entries whose files can't be removed.
  var stuck: Set<EntryName> = []
}

extension DiskWriter {
  /// Maximum number of rows removed in one turn.
  private static let evictionBatchRows = 128
  /// More files that can't be removed in one transaction are a fault of the folder, not of its files.
  private static let maximumStuckFiles = 16

  /// Evicts one entry, its file first: one of an old epoch if there is any, otherwise the least recently used one. A
  /// derivative is spared while evicting it would leave derivatives less than half of the capacity: a frame can be made
  /// from a derivative in milliseconds, so frames replace derivatives only beyond that half.
  func evict(from transaction: inout DiskIndexTransaction, _ tally: inout EvictionTally) throws {
    if let group = transaction.totals.first(where: { isOutdated($0.key) && $0.value.entries > 0 })?.key {
      guard let name = try transaction.entries(of: group, limit: 1).first else {
        throw DiskFault.indexDamaged("a total without rows")
      }
      try removeOutdated(name, from: &transaction, &tally)
      return
    }
    let victim = try victim(in: transaction, tally)
    // If the file can't be removed, another entry is the least recently used one now.
    guard try remove(victim, from: &transaction, &tally) else { return }
    tally.evicted += 1
    tally.gone.insert(victim)
  }

  private func victim(in transaction: DiskIndexTransaction, _ tally: EvictionTally) throws -> EntryName {
    // An entry whose file can't be removed counts as just used. If it is the oldest, no file of the group can be
    // removed.
    func oldest(in group: EntryGroup) throws -> DiskIndexTransaction.OldestEntry? {
      try transaction.oldest(in: group).flatMap { tally.stuck.contains($0.name) ? nil : $0 }
    }
    let derivatives = EntryGroup(kind: .derivative, epoch: epochs.derivative)
    let frame = try oldest(in: EntryGroup(kind: .frame, epoch: epochs.frame))
    let derivative = try oldest(in: derivatives)
    switch (frame, derivative) {
    case (nil, nil) where !tally.stuck.isEmpty: throw DiskFault.systemCallFailed(.removeFile, code: EPERM)
    case (nil, nil): throw DiskFault.indexDamaged("totals without rows")
    case (let frame?, nil): return frame.name
    case (nil, let derivative?): return derivative.name
    case (let frame?, let derivative?):
      let left = (transaction.totals[derivatives]?.bytes ?? 0) - derivative.bytes
      return left >= capacityBytes / 2 && derivative.lastUse < frame.lastUse ? derivative.name : frame.name
    }
  }

  /// Removes some entries of old epochs, or beyond a capacity that has become smaller. Returns whether more are left.
  func evictSome(_ index: DiskIndex) throws -> Bool {
    guard needsEviction(index) else { return false }
    var tally = EvictionTally()
    if let group = index.totals.keys.first(where: isOutdated) {
      try removeOutdated(group, index, &tally)
    } else {
      try index.transaction { transaction in
        for _ in 0..<Self.evictionBatchRows where transaction.bytes > capacityBytes {
          try evict(from: &transaction, &tally)
        }
        try environment.check(.commit)
      }
    }
    recordEvictions(tally, index)
    return needsEviction(index)
  }

  /// Removes all entries of some subjects in one transaction. Returns false if a file can't be removed: its row stays.
  func removeEntries(of subjects: Set<DiskStore.Subject>, _ index: DiskIndex) throws -> Bool {
    var count = 0
    var tally = EvictionTally()
    try index.transaction { transaction in
      for subject in subjects {
        for name in try transaction.entries(of: subject) {
          if try remove(name, from: &transaction, &tally) { count += 1 }
        }
      }
      try environment.check(.commit)
    }
    buffer.withLock { buffer in
      buffer.removed(count)
      buffer.contentChanged(index.totals)
    }
    return tally.stuck.isEmpty
  }

  func needsEviction(_ index: DiskIndex) -> Bool {
    index.totals.keys.contains(where: isOutdated) || index.totals.values.reduce(0) { $0 + $1.bytes } > capacityBytes
  }

  func recordEvictions(_ tally: EvictionTally, _ index: DiskIndex) {
    buffer.withLock {
      $0.removed(evicted: tally.evicted, outdated: tally.outdated)
      $0.contentChanged(index.totals)
    }
  }

  private func removeOutdated(_ group: EntryGroup, _ index: DiskIndex, _ tally: inout EvictionTally) throws {
    var isEmpty = false
    try index.transaction { transaction in
      let names = try transaction.entries(of: group, limit: Self.evictionBatchRows)
      for name in names { try removeOutdated(name, from: &transaction, &tally) }
      isEmpty = names.isEmpty
      if isEmpty { transaction.forget(group) }
      try environment.check(.commit)
    }
    if isEmpty { folder.removeFolders(of: group) }
  }

  /// Removes an entry of an old epoch. No lookup finds it, so its row is removed even if its file can't be.
  private func removeOutdated(
    _ name: EntryName, from transaction: inout DiskIndexTransaction, _ tally: inout EvictionTally
  ) throws {
    if try !remove(name, from: &transaction, &tally) { try transaction.remove(name) }
    tally.outdated += 1
  }

  /// Removes the file first: if the transaction then fails, a row without a file remains, which is harmless.
  ///
  /// - Returns: false if the file can't be removed: its row stays, as that of an entry that was just used.
  func remove(
    _ name: EntryName, from transaction: inout DiskIndexTransaction, _ tally: inout EvictionTally
  ) throws -> Bool {
    guard try removeFile(name) else {
      tally.stuck.insert(name)
      if tally.stuck.count > Self.maximumStuckFiles { throw DiskFault.systemCallFailed(.removeFile, code: EPERM) }
      try transaction.touch(name, lastUse: buffer.withLock { $0.nextUse() })
      return false
    }
    // Without this check, the search for the next victim would return the same entry again.
    guard try transaction.remove(name) else { throw DiskFault.indexDamaged("a use of an entry that is not there") }
    return true
  }

  private func isOutdated(_ group: EntryGroup) -> Bool { group.epoch != epochs[group.kind] }
}
