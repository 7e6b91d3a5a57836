// Moves the windows of caching managers, and plans them again when they come to rest.

import Dispatch
import PhotoModel

extension CachingManagerRegistry {
  /// The requested state of a window.
  package struct WindowMove: Sendable {
    var visible: Range<Int>
    var margin: Int
    var options: PreheatOptions
    /// Originals in the cloud may be downloaded.
    var allowsNetwork: Bool
    /// The formats in which the client takes smaller encodings; `nil` for those that its owner's clients have listed.
    var upgradeFormats: UpgradeFormats?

    package init(
      visible: Range<Int>, margin: Int, options: PreheatOptions, allowsNetwork: Bool = false,
      upgradeFormats: UpgradeFormats? = nil
    ) {
      self.visible = visible
      self.margin = margin
      self.options = options
      self.allowsNetwork = allowsNetwork
      self.upgradeFormats = upgradeFormats
    }
  }

  /// The list of a manager's window, as of its latest lookup.
  package func currentSource(id: String, client: String? = nil, for owner: Principal) -> (any PreheatSource)? {
    queue.sync { managers[ManagerKey(owner: owner, id: id, client: client)]?.state.window?.source }
  }

  /// Moves a manager's window. Returns `nil` if this owner has no such manager. Queries the catalogue for unknown
  /// positions.
  ///
  /// - Parameter source: the list that the positions refer to.
  package func move(
    _ move: WindowMove, over source: any PreheatSource, id: String, client: String? = nil, for owner: Principal
  ) throws(CachingError) -> WindowStatus? {
    let generation = library.generation
    let missing = try withManager(id, client, owner) { manager -> [Int] in
      checkForChanges()
      let now = now()
      useUpgradeFormats(move.upgradeFormats ?? listedFormats.formats(of: owner.name), in: manager)
      return update(manager) {
        $0.windowMoved(
          to: move.visible, margin: move.margin, move.options,
          allowsNetwork: move.allowsNetwork && limits.windowDownloads > 0, over: source, at: now)
      }
    }
    guard let missing else { return nil }
    let assets =
      missing.isEmpty ? [] : try mappingErrors { () throws(AssetSourceError) in try source.assets(at: missing) }
    return try withManager(id, client, owner) { manager in
      assetsLookedUp(assets, at: missing, of: source, generation, in: manager)
      return manager.state.windowStatus
    } ?? nil
  }

  /// Adds looked-up assets to a window and plans it.
  private func assetsLookedUp(
    _ assets: [Asset?], at positions: [Int], of source: any PreheatSource, _ generation: UInt64,
    in manager: CachingManager
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    if update(manager, { $0.assetsLookedUp(assets, at: positions, of: source) }) {
      if generation != library.generation { manager.invalidateAssets() }
      if !source.isCurrent { manager.needsRefresh = true }
    }
    plan(manager)
    roomFreed()
    scheduleReplan(manager)
  }

  /// Schedules a new plan for when the window's movement has settled, or when a rest has become long.
  private func scheduleReplan(_ manager: CachingManager) {
    let now = now()
    guard let change = manager.state.nextWindowChange(after: now) else { return }
    // An earlier timer is enough. A later one is replaced, because a new move may settle sooner.
    if let timerDeadline = manager.timerDeadline, timerDeadline <= change { return }
    manager.timerDeadline = change
    schedule(now.duration(to: change)) {
      [self, instanceID = manager.instanceID, managerKey = manager.key] in
      queue.async { [self] in
        guard let manager = managers[managerKey], manager.instanceID == instanceID else { return }
        if manager.timerDeadline == change { manager.timerDeadline = nil }
        replan(manager)
      }
    }
  }

  /// Plans a window again because time has passed, and looks up positions that the new plan needs.
  func replan(_ manager: CachingManager) {
    let now = now()
    guard let window = manager.state.window else { return }
    let missing = manager.state.missingPositions(at: now)
    guard !missing.isEmpty else {
      if window.tracker.plan(at: now) != window.plan {
        plan(manager)
        roomFreed()
      }
      return scheduleReplan(manager)
    }
    let generation = library.generation
    let isAccepted = lookups.submit {
      [self, instanceID = manager.instanceID, managerKey = manager.key, source = window.source] in
      let assets = loggingFailure { () throws(CachingError) in
        try mappingErrors { () throws(AssetSourceError) in try source.assets(at: missing) }
      }
      queue.async { [self] in
        guard let manager = managers[managerKey], manager.instanceID == instanceID else { return }
        // Retried in a second.
        guard let assets else { return manager.needsRefresh = true }
        assetsLookedUp(assets, at: missing, of: source, generation, in: manager)
      }
    }
    // Retried in a second.
    if !isAccepted { manager.needsRefresh = true }
  }
}
