// Turns the plan of a manager's window, which is in positions, into entries.

import PhotoModel

extension CachingManager {
  func endWindow() {
    window = nil
    for (entryKey, entry) in entries where entry.isInWindow {
      updateEntry(entryKey) { $0.leaveWindow() }
      removeIfUnwanted(entryKey)
    }
  }

  /// The positions of the window's list whose assets must be looked up.
  func missingPositions(at now: ContinuousClock.Instant) -> [Int] {
    guard let window else { return [] }
    // Positions beyond the limit can't be kept, so they are not looked up.
    return window.tracker.plan(at: now).order.prefix(dependencies.maximumAssets).filter { window.assets[$0] == nil }
  }

  /// Updates the entries to match the current window.
  func plan(at now: ContinuousClock.Instant) {
    guard var window else { return }
    let plan = window.tracker.plan(at: now)
    window.plan = plan
    // Forget assets far from the window; there may be another asset at the position when the window returns.
    if window.assets.count > 2 * plan.kept.count {
      window.assets = window.assets.filter { plan.kept.contains($0.key) }
    }
    self.window = window
    let wanted = wantedEntries(of: window, plan)
    for (entryKey, entry) in entries where entry.isInWindow && wanted[entryKey] == nil {
      updateEntry(entryKey) { $0.leaveWindow() }
      removeIfUnwanted(entryKey)
    }
    let isReducedQuality = plan.quality == .reduced || !allowsHighQuality
    for (entryKey, wantedEntry) in wanted.sorted(by: { $0.value.rank < $1.value.rank }) {
      guard entries[entryKey] != nil || add(entryKey, wantedEntry.asset, wantedEntry.side) else { continue }
      assetUpdated(entryKey, wantedEntry.asset)
      updateEntry(entryKey) { entry in
        entry.isInWindow = true
        entry.isOnlyKept = !wantedEntry.isPrepared
        entry.rank = wantedEntry.rank
        entry.isReducedQuality = isReducedQuality && !(entry.isStarted && allowsHighQuality)
        switch entry.state {
        case .waiting where !wantedEntry.isPrepared && !entry.isStarted: entry.state = .leftOut(.needsOriginal)
        case .leftOut(.needsOriginal) where wantedEntry.isPrepared && !isReducedQuality: entry.state = .waiting
        default: break
        }
      }
    }
    needsSort = true
  }

  /// What a window wants for one asset.
  private struct WantedEntry {
    let asset: Asset
    let rank: Int
    let side: PreheatWindow.Side?
    /// If false, an existing entry is kept but none is started.
    let isPrepared: Bool
  }

  /// The most urgent positions, as many as the limit allows in addition to the started entries.
  private func wantedEntries(of window: Window, _ plan: PreheatWindow.Plan) -> [EntryKey: WantedEntry] {
    var wanted: [EntryKey: WantedEntry] = [:]
    let room = dependencies.maximumAssets - startedCount
    func want(_ position: Int, rank: Int, isPrepared: Bool) {
      guard wanted.count < room, let asset = window.assets[position] ?? nil, asset.canBePrepared else { return }
      let entryKey = EntryKey(asset: asset.localIdentifier, options: window.options)
      guard wanted[entryKey] == nil, isPrepared || entries[entryKey]?.isInWindow == true else { return }
      wanted[entryKey] = WantedEntry(
        asset: asset, rank: rank, side: plan.side(of: position), isPrepared: isPrepared)
    }
    for (rank, position) in plan.order.enumerated() {
      want(position, rank: plan.visible.contains(position) ? rank : Self.marginRank + rank, isPrepared: true)
    }
    // Entries that are kept without need give way to needed ones.
    let kept = hasEntriesWithoutRoom ? plan.range : plan.kept
    for position in kept where !plan.prepared.contains(position) {
      want(position, rank: Self.marginRank, isPrepared: false)
    }
    return wanted
  }
}
