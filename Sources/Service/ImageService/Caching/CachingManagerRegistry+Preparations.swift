// Sends events to the managers' states and performs the effects. A few preparations run at a time, and managers take
// turns (round robin).

import Dispatch
import PhotoModel

extension CachingManagerRegistry {
  /// Sends an event to a manager's state, then performs the effects.
  ///
  /// - Parameter event: must not use the manager.
  @discardableResult
  func update<Value>(_ manager: CachingManager, _ event: (inout CachingState) -> Value) -> Value {
    dispatchPrecondition(condition: .onQueue(queue))
    let (entryCount, counts) = (manager.state.entryCount, manager.state.counts)
    let value = event(&manager.state)
    for effect in manager.state.takeEffects() { perform(effect, of: manager) }
    let change = manager.state.entryCount - entryCount
    if change != 0 { entryShares.change(of: manager.key.owner, by: change) }
    report(manager.state.counts, since: counts)
    return value
  }

  /// The maximum number of entries of a manager, given the entries of all other managers and the share of its owner.
  func maximumEntries(of manager: CachingManager) -> Int {
    let owner = manager.key.owner
    return entryShares.maximum(of: owner) - (entryShares.count(of: owner) - manager.state.entryCount)
  }

  /// Updates a manager's entries to match its window.
  func plan(_ manager: CachingManager) {
    let now = now()
    let maximumEntries = maximumEntries(of: manager)
    update(manager) { $0.plan(at: now, maximumEntries: maximumEntries) }
  }

  /// Plans a window after a change of its list or its quality. If assets are missing, the window is planned after they
  /// have been looked up.
  func planAfterChange(_ manager: CachingManager) {
    if manager.state.missingPositions(at: now()).isEmpty { plan(manager) }
    roomFreed()
    replan(manager)
  }

  /// Uses the room that released entries or frames have left: for windows that were cut, then for entries that were
  /// left out for lack of room, then for waiting entries.
  func roomFreed() {
    for manager in roundRobin where manager.state.isCut && manager.state.entryCount < maximumEntries(of: manager) {
      plan(manager)
    }
    var room = cache.pinnedCapacityBytes - cache.pinnedByteCount
    for manager in roundRobin { room = update(manager) { $0.retryLeftOut(room) } }
    startNextPreparations()
  }

  /// Starts the next preparations, one manager after the other.
  func startNextPreparations() {
    var idleManagers = 0
    while activePreparations < maximumPreparations, idleManagers < roundRobin.count {
      let manager = roundRobin.removeFirst()
      roundRobin.append(manager)
      let hasBegun = update(manager) { $0.startNext() }
      idleManagers = hasBegun ? 0 : idleManagers + 1
    }
    startNextDownloads()
  }

  /// Starts the next downloads, one manager after the other. They have a limit of their own, so that a slow store does
  /// not delay the preparation of local pictures.
  private func startNextDownloads() {
    var idleManagers = 0
    while activeDownloads < limits.windowDownloads, idleManagers < roundRobin.count {
      let manager = roundRobin.removeFirst()
      roundRobin.append(manager)
      let hasBegun = update(manager) { $0.startNextDownload() }
      idleManagers = hasBegun ? 0 : idleManagers + 1
    }
  }

  // MARK: Effects

  private func perform(_ effect: CachingState.Effect, of manager: CachingManager) {
    switch effect {
    case .pin(let key): cache.pin(key)
    case .unpin(let key): cache.unpin(key)
    case .prepare(let id, let wanted, let withoutOriginal):
      manager.preparations[id] = prepare(id, wanted, withoutOriginal, of: manager)
    case .cancel(let id, let side):
      guard let preparation = manager.preparations.removeValue(forKey: id), images.cancel(preparation) else { return }
      manager.state.renderStopped(side)
    case .download(let id, let original): download(id, original, of: manager)
    case .cancelDownload(let id):
      guard let wait = manager.downloads.removeValue(forKey: id) else { return }
      activeDownloads -= 1
      wait.cancel()
    case .endHold(let id): manager.holds.removeValue(forKey: id)?.cancel()
    case .checkMemory(let key, let side): manager.state.frameLeft(side, wasSeen: images.isInMemory(key))
    }
  }

  private func prepare(
    _ id: CachingState.PreparationID, _ wanted: ResolvedRequest, _ withoutOriginal: Bool, of manager: CachingManager
  ) -> PreheatTask {
    activePreparations += 1
    let instanceID = manager.instanceID
    let managerKey = manager.key
    let isAutomatic = manager.state.isAutomatic(id)
    return images.prepare(wanted, caller: manager.owner.name, withoutOriginal: withoutOriginal) {
      [self] _, outcome in
      queue.async { [self] in
        activePreparations -= 1
        if let manager = managers[managerKey], manager.instanceID == instanceID {
          manager.preparations[id] = nil
          let isPinned = cache.pinnedByteCount(of: wanted.key) != nil
          update(manager) { $0.preparationEnded(id, outcome, isPinned: isPinned) }
          if isPinned, isAutomatic, let frame = outcome.frame { upgrade(frame, of: wanted, in: manager) }
        }
        startNextPreparations()
      }
    }
  }

  private func download(_ id: CachingState.DownloadID, _ original: OriginalFile, of manager: CachingManager) {
    activeDownloads += 1
    let (instanceID, managerKey) = (manager.instanceID, manager.key)
    manager.downloads[id] = images.download(original) { [self] isLocal in
      queue.async { [self] in
        guard let manager = managers[managerKey], manager.instanceID == instanceID,
          let wait = manager.downloads.removeValue(forKey: id)
        else { return }
        activeDownloads -= 1
        manager.holds[id] = wait
        update(manager) { $0.downloadEnded(id, isLocal: isLocal) }
        startNextPreparations()
      }
    }
  }

  // MARK: Smaller encodings

  /// Sets the formats of smaller encodings. If they have changed, frames that are ready are encoded in them too.
  func useUpgradeFormats(_ formats: UpgradeFormats, in manager: CachingManager) {
    guard formats != manager.upgradeFormats else { return }
    manager.upgradeFormats = formats
    for (frame, wanted) in manager.state.readyAutomaticFrames { upgrade(frame, of: wanted, in: manager) }
  }

  /// Requests a smaller encoding of a ready frame. A frame that leaves the window before its turn is not encoded.
  private func upgrade(_ frame: CachedFrame, of wanted: ResolvedRequest, in manager: CachingManager) {
    upgrades?.preparedFrame(frame, of: wanted, for: manager.upgradeFormats) { [cache] in
      cache.pinnedByteCount(of: wanted.key) != nil
    }
  }

  private func report(_ counts: CachingState.Counts, since old: CachingState.Counts) {
    for _ in old.prepared..<counts.prepared { metrics.prepared() }
    for _ in old.used..<counts.used { metrics.used() }
    for _ in old.wasted..<counts.wasted { metrics.wasted() }
    for _ in old.cancelled..<counts.cancelled { metrics.cancelled() }
  }
}

extension PreheatTask.Outcome {
  /// The frame that is in memory now.
  fileprivate var frame: CachedFrame? {
    switch self {
    case .alreadyInMemory(let frame), .prepared(let frame): frame
    case .incomplete, .noRoom, .needsOriginal, .failed: nil
    }
  }
}
