// The entries of a caching manager over time: which one is prepared next, how its preparation ended, and whether its
// frame was requested.

import PhotoModel

extension CachingState {
  /// Retries entries that were left out for lack of room, as far as `room` bytes suffice. Returns the bytes that are
  /// left.
  package mutating func retryLeftOut(_ room: Int) -> Int {
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

  /// Starts to prepare the next entry of the queue. Returns false if none is waiting.
  package mutating func startNext() -> Bool {
    if needsSort { sortWaiting() }
    while let entryKey = waitingOrder.popLast() {
      guard let entry = entries[entryKey], case .waiting = entry.state else { continue }
      lastPreparation += 1
      let id = PreparationID(number: lastPreparation)
      preparing[id] = entryKey
      updateEntry(entryKey) { $0.state = .preparing(id) }
      effects += [.pin(entry.key), .prepare(id, entry.wanted, withoutOriginal: entry.isReducedQuality)]
      return true
    }
    return false
  }

  private mutating func sortWaiting() {
    needsSort = false
    let waiting = entries.compactMap { entryKey, entry -> (EntryKey, Int)? in
      if case .waiting = entry.state { (entryKey, entry.rank) } else { nil }
    }
    waitingOrder = waiting.sorted { $0.1 > $1.1 }.map(\.0)
  }

  /// A preparation has ended. Without effect if it was cancelled before.
  ///
  /// - Parameter isPinned: whether the cache keeps the prepared frame as pinned; it does not if there was no room.
  package mutating func preparationEnded(_ id: PreparationID, _ outcome: PreheatTask.Outcome, isPinned: Bool) {
    guard let entryKey = preparing.removeValue(forKey: id) else { return }
    switch outcome {
    case .alreadyInMemory(let frame) where isPinned:
      updateEntry(entryKey) { $0.state = .ready(frame, wasPrepared: false) }
    case .prepared(let frame) where isPinned:
      counts.prepared += 1
      updateEntry(entryKey) { $0.state = .ready(frame, wasPrepared: true) }
    case .alreadyInMemory(let frame), .prepared(let frame): leaveOut(entryKey, .noRoom(frame.cost))
    case .needsOriginal:
      leaveOut(entryKey, .needsOriginal)
      // Full quality may be wanted by now.
      if let entry = entries[entryKey], !entry.isReducedQuality {
        updateEntry(entryKey) { $0.state = .waiting }
        needsSort = true
      }
    case .noRoom(let bytes): leaveOut(entryKey, .noRoom(bytes))
    case .failed(.inCloud): originalIsInCloud(entryKey)
    // Retried at the next opportunity.
    case .failed(.queueFull), .failed(.outOfDescriptors): leaveOut(entryKey, .noRoom(0))
    case .failed, .incomplete: leaveOut(entryKey, .failed)
    }
  }

  mutating func leaveOut(_ entryKey: EntryKey, _ reason: EntryState.Reason) {
    guard let entry = entries[entryKey] else { return }
    effects.append(.unpin(entry.key))
    updateEntry(entryKey) { $0.state = .leftOut(reason) }
    if case .noRoom = reason { hasEntriesWithoutRoom = true }
  }

  /// A cancelled preparation has stopped a render that had begun.
  package mutating func renderStopped(_ side: PreheatWindow.Side?) {
    counts.cancelled += 1
    if let side { frameLeft(side, wasSeen: false) }
  }

  // MARK: Smaller encodings

  /// Whether the frame of a preparation may be replaced by a smaller encoding.
  func isAutomatic(_ id: PreparationID) -> Bool {
    guard let entryKey = preparing[id], let entry = entries[entryKey] else { return false }
    return entryKey.options.isAutomatic(for: entry.wanted.asset)
  }

  /// The ready frames that a smaller encoding may replace.
  var readyAutomaticFrames: [(CachedFrame, ResolvedRequest)] {
    entries.compactMap { entryKey, entry in
      guard entryKey.options.isAutomatic(for: entry.wanted.asset), case .ready(let frame, _) = entry.state else {
        return nil
      }
      return (frame, entry.wanted)
    }
  }

  // MARK: Uses

  /// Records which frames were requested.
  package mutating func recordUses() { for entryKey in entries.keys { recordUse(entryKey) } }

  mutating func recordUse(_ entryKey: EntryKey) {
    guard let entry = entries[entryKey], !entry.isUsed, case .ready(let frame, true) = entry.state, frame.isUsed else {
      return
    }
    updateEntry(entryKey) { $0.isUsed = true }
    counts.used += 1
  }
}
