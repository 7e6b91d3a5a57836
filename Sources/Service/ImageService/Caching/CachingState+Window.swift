// The window of a caching manager: how it moves and follows its list, and how its plan, which is in positions, becomes
// entries.

import PhotoModel

extension CachingState {
  struct Window: Sendable {
    var source: any PreheatSource
    var options: PreheatOptions
    /// Originals in the cloud may be downloaded for it.
    var allowsNetwork = false
    var tracker: PreheatWindow
    /// The assets at the positions that were looked up; `nil` for a position where nothing is to be shown.
    var assets: [Int: Asset?] = [:]
    /// The latest plan.
    var plan: PreheatWindow.Plan?
    /// Number of assets that this plan prepares and that got no entry, because other managers left no room.
    var cutCount = 0

    /// Whether the window's positions refer to this list.
    func hasSameList(as source: any PreheatSource) -> Bool {
      self.source.name == source.name && self.source.version == source.version
    }
  }

  // MARK: Events

  /// The client has moved the window, or made one. Returns the positions whose assets must be looked up; the window is
  /// planned when that is done.
  package mutating func windowMoved(
    to visible: Range<Int>, margin: Int, _ options: PreheatOptions, allowsNetwork: Bool = false,
    over source: any PreheatSource, at now: ContinuousClock.Instant
  ) -> [Int] {
    var moved = Window(
      source: source, options: options, allowsNetwork: allowsNetwork, tracker: PreheatWindow(parameters))
    if let old = window {
      // The record of seen and unseen frames describes the user, so it is kept when the list changes.
      moved.tracker = old.tracker
      let isSameList = old.source.name == source.name
      if !isSameList || !old.options.hasSameSize(as: options) {
        // A change to another list, or of the pictures' size, is not a movement.
        moved.tracker.listChanged(count: source.count, visible: visible)
      }
      if isSameList, old.source.version == source.version { moved.assets = old.assets }
    }
    moved.tracker.moved(to: visible, of: source.count, margin: margin, at: now)
    window = moved
    return missingPositions(at: now)
  }

  /// Assets of the window's list were looked up. Returns false if the window has another list by now.
  package mutating func assetsLookedUp(
    _ assets: [Asset?], at positions: [Int], of source: any PreheatSource
  ) -> Bool {
    guard window?.hasSameList(as: source) == true else { return false }
    for (position, asset) in zip(positions, assets) {
      window?.assets[position] = .some(asset?.withoutDescription)
    }
    return true
  }

  /// The window's list and assets were read again. If the client has moved the window since the lookup began, its new
  /// place is kept.
  ///
  /// - Parameters:
  ///   - found: the updated window; `nil` if its list is gone.
  ///   - previous: the window when the lookup began.
  mutating func windowRefreshed(_ found: Window?, hasListChanged: Bool, from previous: Window) {
    guard let current = window, current.hasSameList(as: previous.source) else { return }
    guard let found else { return endWindow() }
    window?.source = found.source
    guard hasListChanged else {
      // Assets that were added since the lookup began are at least as new.
      window?.assets = current.assets.filter { previous.assets[$0.key] == nil }.merging(found.assets) { $1 }
      return
    }
    window?.assets = found.assets
    let visible = current.tracker.visible
    window?.tracker.listChanged(
      count: found.source.count, visible: visible == previous.tracker.visible ? found.tracker.visible : visible)
  }

  mutating func endWindow() {
    window = nil
    keptOrder = []
    for (entryKey, entry) in entries where entry.isInWindow {
      updateEntry(entryKey) { $0.leaveWindow() }
      removeIfUnwanted(entryKey)
    }
  }

  /// A frame that the window wanted has left it. The window learns from that how much of the margin is worth preparing.
  package mutating func frameLeft(_ side: PreheatWindow.Side, wasSeen: Bool) {
    window?.tracker.frameLeft(side, wasSeen: wasSeen)
  }

  // MARK: Plan

  /// The positions of the window's list whose assets must be looked up.
  package func missingPositions(at now: ContinuousClock.Instant) -> [Int] {
    guard let window else { return [] }
    // Positions beyond the limit can't be kept, so they are not looked up.
    return window.tracker.plan(at: now).order.prefix(maximumAssets).filter { window.assets[$0] == nil }
  }

  /// When the window's plan will change without any event; `nil` for never.
  package func nextWindowChange(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    window?.tracker.nextChange(after: now)
  }

  /// Updates the entries to match the window.
  ///
  /// - Parameter maximumEntries: how many entries other managers leave room for.
  package mutating func plan(at now: ContinuousClock.Instant, maximumEntries: Int) {
    guard var window else { return }
    let plan = window.tracker.plan(at: now)
    window.plan = plan
    // Forget assets far from the window; there may be another asset at the position when the window returns.
    if window.assets.count > 2 * plan.kept.count {
      window.assets = window.assets.filter { plan.kept.contains($0.key) }
    }
    self.window = window
    let (wanted, kept) = wantedEntries(of: window, plan)
    keptOrder = kept
    for (entryKey, entry) in entries where entry.isInWindow && wanted[entryKey] == nil {
      updateEntry(entryKey) { $0.leaveWindow() }
      removeIfUnwanted(entryKey)
    }
    let allowsHighQuality = allowsHighQuality
    let isReducedQuality = plan.quality == .reduced || !allowsHighQuality
    var cutCount = 0
    for (entryKey, wantedEntry) in wanted.sorted(by: { $0.value.rank < $1.value.rank }) {
      if entries[entryKey] == nil {
        // An entry that is only kept has given its place to one that is prepared.
        guard wantedEntry.isPrepared else { continue }
        guard add(entryKey, wantedEntry.asset, wantedEntry.side, maximumEntries: maximumEntries) else {
          cutCount += 1
          continue
        }
      }
      assetUpdated(entryKey, wantedEntry.asset)
      updateEntry(entryKey) { entry in
        entry.isInWindow = true
        entry.isOnlyKept = !wantedEntry.isPrepared
        entry.rank = wantedEntry.rank
        entry.isReducedQuality = isReducedQuality && !(entry.isStarted && allowsHighQuality)
        entry.allowsNetwork = entry.allowsNetwork || window.allowsNetwork
        switch entry.state {
        case .leftOut(.inCloud) where wantedEntry.isPrepared && entry.allowsNetwork: entry.state = .waiting
        case .waiting where !wantedEntry.isPrepared && !entry.isStarted: entry.state = .leftOut(.needsOriginal)
        case .awaitingOriginal where !wantedEntry.isPrepared && !entry.isStarted:
          entry.state = .leftOut(.needsOriginal)
        case .leftOut(.needsOriginal) where wantedEntry.isPrepared && !isReducedQuality: entry.state = .waiting
        default: break
        }
      }
    }
    self.window?.cutCount = cutCount
    needsSort = true
  }

  /// Whether the window must be planned again when other managers leave more room.
  var isCut: Bool { (window?.cutCount ?? 0) > 0 }

  /// An entry that the window wants.
  private struct WantedEntry {
    let asset: Asset
    let rank: Int
    let side: PreheatWindow.Side?
    /// If false, an existing entry is kept but none is started.
    let isPrepared: Bool
  }

  /// Releases the farthest entry that the window only keeps. Returns false if there is none.
  mutating func releaseFarthestKept() -> Bool {
    while let entryKey = keptOrder.popLast() {
      guard let entry = entries[entryKey], entry.isInWindow, !entry.isStarted else { continue }
      updateEntry(entryKey) { $0.leaveWindow() }
      removeIfUnwanted(entryKey)
      return true
    }
    return false
  }

  /// The most urgent positions, as many as the limit allows in addition to the started entries.
  ///
  /// - Returns: the entries to prepare or keep; and the keys of those that are only kept, the farthest last.
  private func wantedEntries(
    of window: Window, _ plan: PreheatWindow.Plan
  ) -> (wanted: [EntryKey: WantedEntry], kept: [EntryKey]) {
    var wanted: [EntryKey: WantedEntry] = [:]
    var kept: [EntryKey] = []
    let room = maximumAssets - startedCount
    func want(_ position: Int, rank: Int, isPrepared: Bool) {
      guard wanted.count < room, let asset = window.assets[position] ?? nil, asset.canBePrepared else { return }
      let entryKey = EntryKey(asset: asset.localIdentifier, options: window.options)
      guard wanted[entryKey] == nil, isPrepared || entries[entryKey]?.isInWindow == true else { return }
      wanted[entryKey] = WantedEntry(
        asset: asset, rank: rank, side: plan.side(of: position), isPrepared: isPrepared)
      if !isPrepared { kept.append(entryKey) }
    }
    for (rank, position) in plan.order.enumerated() {
      want(position, rank: plan.visible.contains(position) ? rank : Self.marginRank + rank, isPrepared: true)
    }
    // While room is lacking, only entries in the window's range are kept.
    for position in plan.keptOrder where !hasEntriesWithoutRoom || plan.range.contains(position) {
      want(position, rank: Self.marginRank, isPrepared: false)
    }
    return (wanted, kept)
  }
}
