// What becomes of a manager's entries: which is prepared next, how it ended, and whether anybody asked for it.

import PhotoModel

extension CachingManager {
  /// What was left out for want of room is tried again, as far as there is some: how much of it is then left.
  func tryAgain(_ room: Int) -> Int {
    guard hasLeftOut else { return room }
    hasLeftOut = false
    var room = room
    let leftOut = entries.compactMap { name, entry -> (name: Name, rank: Int, bytes: Int)? in
      if case .leftOut(.noRoom(let bytes)) = entry.stage { (name, entry.rank, bytes) } else { nil }
    }
    for (name, _, bytes) in leftOut.sorted(by: { $0.rank < $1.rank }) {
      guard bytes <= room else {
        hasLeftOut = true
        continue
      }
      room -= bytes
      change(name) { $0.stage = .waiting }
      isLineOld = true
    }
    return room
  }

  /// The next one in line, which is then being prepared and pinned.
  func beginNext(
    _ begin: (Asset, ImageRequest, _ onlyIfNearlyFree: Bool, Name) -> Preparation
  ) -> Bool {
    if isLineOld { sortLine() }
    while let name = line.popLast() {
      guard let entry = entries[name], case .waiting = entry.stage else { continue }
      tools.cache.pin(entry.key)
      let preparation = begin(entry.asset, name.options.request(for: entry.asset), entry.isReduced, name)
      change(name) { $0.stage = .preparing(preparation) }
      return true
    }
    return false
  }

  private func sortLine() {
    isLineOld = false
    let waiting = entries.compactMap { name, entry -> (Name, Int)? in
      if case .waiting = entry.stage { (name, entry.rank) } else { nil }
    }
    line = waiting.sorted { $0.1 > $1.1 }.map(\.0)
  }

  /// A preparation is over.
  func ended(_ name: Name, _ preparation: Preparation, _ outcome: Preparation.Outcome) {
    guard let entry = entries[name], case .preparing(let current) = entry.stage, current === preparation else { return }
    func leftOut(_ reason: Stage.Reason) {
      tools.cache.unpin(entry.key)
      change(name) { $0.stage = .leftOut(reason) }
      if case .noRoom = reason { hasLeftOut = true }
    }
    switch outcome {
    case .found(let frame), .made(let frame):
      guard tools.cache.pinnedBytes(entry.key) != nil else { return leftOut(.noRoom(frame.cost)) }
      var wasMade = false
      if case .made = outcome { wasMade = true }
      if wasMade {
        prepared += 1
        tools.metrics.prepared()
      }
      change(name) { $0.stage = .ready(frame, wasMade: wasMade) }
    case .notFree:
      leftOut(.notFree)
      // It may be wanted in full by now.
      if let entry = entries[name], !entry.isReduced {
        change(name) { $0.stage = .waiting }
        isLineOld = true
      }
    case .noRoom(let bytes): leftOut(.noRoom(bytes))
    // Tried again at the next occasion.
    case .failed(.queueFull): leftOut(.noRoom(0))
    case .failed, .notKept: leftOut(.failed)
    }
  }

  /// Notes which frames were asked for.
  func sweep() { for name in entries.keys { sweep(name) } }

  func sweep(_ name: Name) {
    guard let entry = entries[name], !entry.isUsed, case .ready(let frame, true) = entry.stage, frame.isUsed else {
      return
    }
    change(name) { $0.isUsed = true }
    used += 1
    tools.metrics.used()
  }
}
