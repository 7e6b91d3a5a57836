/// What a transaction has let go.
struct Clearing {
  /// To make room.
  var evicted = 0
  /// Those of them that have not come back since.
  var gone: Set<EntryName> = []
  /// Because their epoch has passed.
  var outdated = 0
}

extension DiskWriter {
  /// Rows that are cleared away in one turn.
  private static let clearedRows = 128

  /// Lets one entry go, its file first: of an old epoch, where there is one; else the one that has not been used for
  /// longest, save that a derivative stays while derivatives would be left with less than half of the capacity. So frames,
  /// which a derivative gives again in milliseconds, take the place of derivatives only beyond that half.
  func evict(from transaction: inout DiskIndexTransaction, _ clearing: inout Clearing) throws {
    if let group = transaction.totals.first(where: { isOutdated($0.key) && $0.value.entries > 0 })?.key {
      guard let name = try transaction.some(of: group, limit: 1).first else {
        throw DiskFault.indexDamaged("a total without rows")
      }
      try remove(name, from: &transaction)
      clearing.outdated += 1
      return
    }
    let victim = try victim(in: transaction)
    try remove(victim, from: &transaction)
    clearing.evicted += 1
    clearing.gone.insert(victim)
  }

  private func victim(in transaction: DiskIndexTransaction) throws -> EntryName {
    let derivatives = EntryGroup(kind: .derivative, epoch: epochs.derivative)
    let frame = try transaction.oldest(in: EntryGroup(kind: .frame, epoch: epochs.frame))
    let derivative = try transaction.oldest(in: derivatives)
    switch (frame, derivative) {
    case (nil, nil): throw DiskFault.indexDamaged("totals without rows")
    case (let frame?, nil): return frame.name
    case (nil, let derivative?): return derivative.name
    case (let frame?, let derivative?):
      let left = (transaction.totals[derivatives]?.bytes ?? 0) - derivative.bytes
      return left >= capacityBytes / 2 && derivative.lastUse < frame.lastUse ? derivative.name : frame.name
    }
  }

  /// Some of what is of an old epoch, or beyond a capacity that has become smaller. Answers whether there is more.
  func clear(_ index: DiskIndex) throws -> Bool {
    guard needsClearing(index) else { return false }
    var clearing = Clearing()
    if let group = index.totals.keys.first(where: isOutdated) {
      try clearOutdated(group, index, &clearing)
    } else {
      try index.transaction { transaction in
        for _ in 0..<Self.clearedRows where transaction.bytes > capacityBytes {
          try evict(from: &transaction, &clearing)
        }
        try surroundings.check(.commit)
      }
    }
    noteCleared(clearing, index)
    return needsClearing(index)
  }

  func needsClearing(_ index: DiskIndex) -> Bool {
    index.totals.keys.contains(where: isOutdated) || index.totals.values.reduce(0) { $0 + $1.bytes } > capacityBytes
  }

  func noteCleared(_ clearing: Clearing, _ index: DiskIndex) {
    buffer.withLock {
      $0.removed(evicted: clearing.evicted, outdated: clearing.outdated)
      $0.contentChanged(index.totals)
    }
  }

  private func clearOutdated(_ group: EntryGroup, _ index: DiskIndex, _ clearing: inout Clearing) throws {
    var isEmpty = false
    try index.transaction { transaction in
      let names = try transaction.some(of: group, limit: Self.clearedRows)
      for name in names { try remove(name, from: &transaction) }
      clearing.outdated += names.count
      isEmpty = names.isEmpty
      if isEmpty { transaction.forget(group) }
      try surroundings.check(.commit)
    }
    if isEmpty { folder.removeFolders(of: group) }
  }

  /// The file first: should the transaction fail, a row is left without one, and that is no harm.
  private func remove(_ name: EntryName, from transaction: inout DiskIndexTransaction) throws {
    try folder.remove(name)
    // Whoever asks for the next victim would be given this one again.
    guard try transaction.remove(name) else { throw DiskFault.indexDamaged("a use of an entry that is not there") }
  }

  private func isOutdated(_ group: EntryGroup) -> Bool { group.epoch != epochs[group.kind] }
}
