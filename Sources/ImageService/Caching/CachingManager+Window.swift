// What a manager's window wants: its plan, in positions, becomes entries.

import PhotoModel

extension CachingManager {
  func endWindow() {
    window = nil
    for (name, entry) in entries where entry.isInWindow {
      change(name) { $0.isInWindow = false }
      leaveIfUnwanted(name)
    }
  }

  /// The positions of the window's list that are to be looked up.
  func missingPositions(at now: ContinuousClock.Instant) -> [Int] {
    guard let window else { return [] }
    // What lies beyond the limit can't be kept, so it is not looked up.
    return window.arithmetic.plan(at: now).order.prefix(tools.mostAssets).filter { window.assets[$0] == nil }
  }

  /// Brings the entries into line with the window as it is now.
  func plan(at now: ContinuousClock.Instant) {
    guard var window else { return }
    let plan = window.arithmetic.plan(at: now)
    window.plan = plan
    // What is far from there is forgotten; it may be another by the time that one comes back.
    if window.assets.count > 2 * plan.kept.count {
      window.assets = window.assets.filter { plan.kept.contains($0.key) }
    }
    self.window = window
    let wanted = wishes(of: window, plan)
    for (name, entry) in entries where entry.isInWindow && wanted[name] == nil {
      change(name) { $0.isInWindow = false }
      leaveIfUnwanted(name)
    }
    let isReduced = plan.quality == .reduced || !allowsHighQuality
    for (name, wish) in wanted.sorted(by: { $0.value.rank < $1.value.rank }) {
      guard entries[name] != nil || add(name, wish.asset, wish.side) else { continue }
      update(name, wish.asset)
      change(name) { entry in
        entry.isInWindow = true
        entry.rank = wish.rank
        entry.isReduced = isReduced && !(entry.isStarted && allowsHighQuality)
        switch entry.stage {
        case .waiting where !wish.isPrepared && !entry.isStarted: entry.stage = .leftOut(.notFree)
        case .leftOut(.notFree) where wish.isPrepared && !isReduced: entry.stage = .waiting
        default: break
        }
      }
    }
    isLineOld = true
  }

  /// What a window wants of one asset.
  private struct Wish {
    let asset: Asset
    let rank: Int
    let side: PreheatWindow.Side?
    /// Else it is kept if it is there, and not begun.
    let isPrepared: Bool
  }

  /// The most pressing, as many as there may be beside those that were started.
  private func wishes(of window: Window, _ plan: PreheatWindow.Plan) -> [Name: Wish] {
    var wanted: [Name: Wish] = [:]
    let room = tools.mostAssets - startedCount
    func want(_ position: Int, rank: Int, isPrepared: Bool) {
      guard wanted.count < room, let asset = window.assets[position] ?? nil, asset.hasPreparedPictures else { return }
      let name = Name(asset: asset.localIdentifier, options: window.options)
      guard wanted[name] == nil, isPrepared || entries[name]?.isInWindow == true else { return }
      wanted[name] = Wish(
        asset: asset, rank: rank, side: plan.side(of: position), isPrepared: isPrepared)
    }
    for (rank, position) in plan.order.enumerated() {
      want(position, rank: plan.visible.contains(position) ? rank : Self.marginRank + rank, isPrepared: true)
    }
    // What is kept without need gives way to what is needed.
    let kept = hasLeftOut ? plan.range : plan.kept
    for position in kept where !plan.prepared.contains(position) {
      want(position, rank: Self.marginRank, isPrepared: false)
    }
    return wanted
  }
}
