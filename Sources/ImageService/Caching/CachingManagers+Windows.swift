// Windows that move, and come to rest.

import Dispatch
import PhotoModel

extension CachingManagers {
  /// What a window is asked to be.
  package struct Move: Sendable {
    package var visible: Range<Int>
    package var margin: Int
    package var options: PreheatOptions

    package init(visible: Range<Int>, margin: Int, options: PreheatOptions) {
      self.visible = visible
      self.margin = margin
      self.options = options
    }
  }

  /// The list that a manager's window is over, as it was when it was looked at last.
  package func currentSource(id: String, for owner: Principal) -> (any PreheatSource)? {
    queue.sync { managers[Name(owner: owner.name, id: id)]?.window?.source }
  }

  /// Moves a manager's window. `nil`: this owner has no such manager. Asks the catalogue for what it does not know yet.
  ///
  /// - Parameter source: the list that positions are meant of.
  package func move(
    _ move: Move, over source: any PreheatSource, id: String, for owner: Principal
  ) throws(Failure) -> WindowStatus? {
    let generation = library.generation
    let missing = try on(id, owner) { manager -> [Int] in
      noteChanges()
      let now = now()
      var window = CachingManager.Window(source: source, options: move.options, arithmetic: PreheatWindow(limits.rules))
      if let old = manager.window {
        // What became of its frames is the user's, whatever the list.
        window.arithmetic = old.arithmetic
        if old.source.name != source.name {
          // Another list is no travel, wherever one comes from.
          window.arithmetic.listChanged(count: source.count, visible: move.visible)
        } else if old.source.version == source.version {
          window.assets = old.assets
        }
      }
      window.arithmetic.moved(to: move.visible, of: source.count, margin: move.margin, at: now)
      manager.window = window
      return manager.missingPositions(at: now)
    }
    guard let missing else { return nil }
    let assets =
      missing.isEmpty ? [] : try asking { () throws(AssetSourceError) in try source.assets(at: missing) }
    return try on(id, owner) { manager in
      know(assets, at: missing, of: source, generation, in: manager)
      return manager.windowStatus
    } ?? nil
  }

  /// Assets of a window were looked up: it is planned with them.
  private func know(
    _ assets: [Asset?], at positions: [Int], of source: any PreheatSource, _ generation: UInt64,
    in manager: CachingManager
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    if manager.window?.isOver(source) == true {
      for (position, asset) in zip(positions, assets) { manager.window?.assets[position] = .some(asset) }
      if generation != library.generation { manager.mayBeBehind() }
      if !source.isCurrent { manager.isStale = true }
    }
    manager.plan(at: now())
    thereMayBeRoom()
    time(manager)
  }

  /// Sees to it that the window is planned anew when its travel has settled, and when a rest has become a long one.
  private func time(_ manager: CachingManager) {
    let now = now()
    guard let change = manager.window?.arithmetic.nextChange(after: now) else { return }
    // A later move may settle sooner.
    if let timedFor = manager.timedFor, timedFor <= change { return }
    manager.timedFor = change
    later(now.duration(to: change)) { [self, number = manager.number, name = name(of: manager)] in
      queue.async { [self] in
        guard let manager = managers[name], manager.number == number else { return }
        if manager.timedFor == change { manager.timedFor = nil }
        settle(manager)
      }
    }
  }

  /// Plans a window anew where time alone has changed what it wants, with what is not known yet.
  func settle(_ manager: CachingManager) {
    let now = now()
    guard let window = manager.window else { return }
    let missing = manager.missingPositions(at: now)
    guard !missing.isEmpty else {
      if window.arithmetic.plan(at: now) != window.plan {
        manager.plan(at: now)
        thereMayBeRoom()
      }
      return time(manager)
    }
    let generation = library.generation
    let isAccepted = lookups.submit {
      [self, number = manager.number, name = name(of: manager), source = window.source] in
      let assets = logging { () throws(Failure) in
        try asking { () throws(AssetSourceError) in try source.assets(at: missing) }
      }
      guard let assets else { return }
      queue.async { [self] in
        guard let manager = managers[name], manager.number == number else { return }
        know(assets, at: missing, of: source, generation, in: manager)
      }
    }
    // Looked at again in a second.
    if !isAccepted { manager.isStale = true }
  }
}

extension CachingManager.Window {
  /// Whether its positions are those of a list.
  func isOver(_ source: any PreheatSource) -> Bool {
    self.source.name == source.name && self.source.version == source.version
  }
}
