// The entries of a caching manager over time: which one is prepared next, how its preparation ended, and whether its
// frame was requested.

import PhotoModel

extension CachingManager {
  /// Retries entries that were left out for lack of room, as far as `room` suffices. Returns the room that is left.
  func retryLeftOut(_ room: Int) -> Int {
    guard hasEntriesWithoutRoom else { return room }
    hasEntriesWithoutRoom = false
    var room = room
    let leftOut = entries.compactMap { entryKey, entry -> (entryKey: EntryKey, rank: Int, bytes: Int)? in
      if case .leftOut(.noRoom(let bytes)) = entry.state { (entryKey, entry.rank, bytes) } else { nil }
    }
    for (entryKey, _, bytes) in leftOut.sorted(by: { $0.rank < $1.rank }) {
      guard bytes <= room else {
        hasEntriesWithoutRoom = true
        continue
      }
      room -= bytes
      updateEntry(entryKey) { $0.state = .waiting }
      needsSort = true
    }
    return room
  }

  /// Starts to prepare and pins the next entry of the queue.
  func startNext(
    _ begin: (Asset, ImageRequest, _ withoutOriginal: Bool, EntryKey) -> Preparation
  ) -> Bool {
    if needsSort { sortWaiting() }
    while let entryKey = waitingOrder.popLast() {
      guard let entry = entries[entryKey], case .waiting = entry.state else { continue }
      dependencies.cache.pin(entry.key)
      let preparation = begin(entry.asset, entryKey.options.request(for: entry.asset), entry.isReducedQuality, entryKey)
      updateEntry(entryKey) { $0.state = .preparing(preparation) }
      return true
    }
    return false
  }

  private func sortWaiting() {
    needsSort = false
    let waiting = entries.compactMap { entryKey, entry -> (EntryKey, Int)? in
      if case .waiting = entry.state { (entryKey, entry.rank) } else { nil }
    }
    waitingOrder = waiting.sorted { $0.1 > $1.1 }.map(\.0)
  }

  /// A preparation has ended.
  func preparationEnded(_ entryKey: EntryKey, _ preparation: Preparation, _ outcome: Preparation.Outcome) {
    guard let entry = entries[entryKey], case .preparing(let current) = entry.state, current === preparation else {
      return
    }
    func leftOut(_ reason: EntryState.Reason) {
      dependencies.cache.unpin(entry.key)
      updateEntry(entryKey) { $0.state = .leftOut(reason) }
      if case .noRoom = reason { hasEntriesWithoutRoom = true }
    }
    switch outcome {
    case .alreadyInMemory(let frame), .prepared(let frame):
      guard dependencies.cache.pinnedByteCount(of: entry.key) != nil else { return leftOut(.noRoom(frame.cost)) }
      var wasPrepared = false
      if case .prepared = outcome { wasPrepared = true }
      if wasPrepared {
        prepared += 1
        dependencies.metrics.prepared()
      }
      updateEntry(entryKey) { $0.state = .ready(frame, wasPrepared: wasPrepared) }
    case .needsOriginal:
      leftOut(.needsOriginal)
      // Full quality may be wanted by now.
      if let entry = entries[entryKey], !entry.isReducedQuality {
        updateEntry(entryKey) { $0.state = .waiting }
        needsSort = true
      }
    case .noRoom(let bytes): leftOut(.noRoom(bytes))
    // Retried at the next opportunity.
    case .failed(.queueFull): leftOut(.noRoom(0))
    case .failed, .incomplete: leftOut(.failed)
    }
  }

  /// Records which frames were requested.
  func recordUses() { for entryKey in entries.keys { recordUses(entryKey) } }

  func recordUses(_ entryKey: EntryKey) {
    guard let entry = entries[entryKey], !entry.isUsed, case .ready(let frame, true) = entry.state, frame.isUsed else {
      return
    }
    updateEntry(entryKey) { $0.isUsed = true }
    used += 1
    dependencies.metrics.used()
  }
}
