// Keeps managers up to date with the library: after a change, their assets are looked up again, and windows move with
// their lists.
//
//     commit -> 200 ms later, for each manager, on the lookup queue: the touched assets, from the library's history
//                 -> those that the manager keeps; the current list of its window; the touched part of the window
//               a long list that must be read again: the same steps on the queue of fetches
//     -> on the managers' queue: entries and window are updated

import Dispatch
import PhotoModel

extension CachingManagerRegistry {
  /// The library has changed, and the change is visible to readers. Callable from any thread; the work is done on
  /// another queue, a little later.
  package func libraryDidChange() { queue.async { [self] in checkForChanges() } }

  /// Looks up the managers' assets again if the library has changed.
  func checkForChanges() {
    guard library.generation != lastGeneration, !isRefreshScheduled else { return }
    isRefreshScheduled = true
    schedule(Self.changeDebounce) { [self] in
      queue.async { [self] in
        isRefreshScheduled = false
        lastGeneration = library.generation
        for manager in roundRobin { refresh(manager) }
      }
    }
  }

  /// The data that a lookup needs about a manager.
  private struct RefreshRequest: Sendable {
    let instanceID: UInt64
    let managerKey: ManagerKey
    let owner: Principal
    /// The assets that the manager keeps or wants.
    let assets: Set<LocalIdentifier>
    let assetsChangeToken: ChangeToken?
    let window: CachingState.Window?
    let maximumAssets: Int
    let now: ContinuousClock.Instant
  }

  /// The result of a lookup.
  private struct RefreshResult: Sendable {
    /// The touched assets; `nil` for an asset that is gone or not visible to the owner.
    var assets: [LocalIdentifier: Asset?]
    /// The updated window; `nil` if its list is gone.
    var window: CachingState.Window?
    /// The content of the window's list has changed.
    var hasListChanged = false
    let assetsChangeToken: ChangeToken
  }

  func refresh(_ manager: CachingManager) {
    guard !manager.isRefreshing else { return manager.needsRefresh = true }
    manager.isRefreshing = true
    manager.needsRefresh = false
    let request = RefreshRequest(
      instanceID: manager.instanceID, managerKey: manager.key, owner: manager.owner,
      assets: Set(manager.state.entries.keys.map(\.asset)), assetsChangeToken: manager.assetsChangeToken,
      window: manager.state.window, maximumAssets: limits.assets, now: now())
    submitLookUp(request, on: lookups, mayReadAll: false)
  }

  /// Performs a lookup on a queue. The first attempt reads no long list, which is enough for almost all changes.
  private func submitLookUp(_ request: RefreshRequest, on workQueue: WorkQueue, mayReadAll: Bool) {
    let isAccepted = workQueue.submit { [self] in
      let found = loggingFailure { () throws(CachingError) -> RefreshResult? in
        try mappingErrors { () throws(AssetSourceError) in try lookUp(request, mayReadAll: mayReadAll) }
      }
      // Two optionals: the outer one is nil after a failure, the inner one if a long list must be read.
      if let found, found == nil { return submitLookUp(request, on: fetches, mayReadAll: true) }
      queue.async { [self] in apply(found ?? nil, of: request) }
    }
    if !isAccepted { queue.async { [self] in apply(nil, of: request) } }
  }

  /// - Returns: `nil` if a long list would have to be read and `mayReadAll` is false.
  private func lookUp(_ request: RefreshRequest, mayReadAll: Bool) throws(AssetSourceError) -> RefreshResult? {
    let touched = try library.touchedAssets(since: request.assetsChangeToken, for: request.owner)
    func isTouched(_ identifier: LocalIdentifier) -> Bool { touched.identifiers?.contains(identifier) ?? true }
    var window = request.window
    var hasListChanged = false
    if let old = window {
      let change = try old.source.changes(
        visible: old.tracker.visible, known: Array(old.assets.keys), mayReadAll: mayReadAll)
      switch change {
      case .unchanged(let source): window?.source = source
      case .gone: window = nil
      case .needsFullRead: return nil
      case .changed(let source, let visible, let moved):
        hasListChanged = true
        window?.source = source
        window?.tracker.listChanged(count: source.count, visible: visible)
        window?.assets = [:]
        for (from, to) in moved { window?.assets[to] = old.assets[from] }
      }
    }
    if var now = window {
      let plan = now.tracker.plan(at: request.now)
      // Forget positions outside; there may be another asset there when the window returns.
      let known = now.assets.filter { plan.kept.contains($0.key) }
      now.assets = known.filter { $0.value.map { !isTouched($0.localIdentifier) } ?? false }
      let missing = plan.order.prefix(request.maximumAssets).filter { known[$0] == nil }
      let positions = known.keys.filter { now.assets[$0] == nil } + missing
      let assets = positions.isEmpty ? [] : try now.source.assets(at: positions)
      for (position, asset) in zip(positions, assets) { now.assets[position] = .some(asset?.withoutDescription) }
      window = now
    }
    let identifiers = request.assets.filter(isTouched)
    let assets = identifiers.isEmpty ? [] : try library.assets(named: Array(identifiers), for: request.owner)
    return RefreshResult(
      assets: Dictionary(uniqueKeysWithValues: zip(identifiers, assets)), window: window,
      hasListChanged: hasListChanged,
      assetsChangeToken: touched.changeToken)
  }

  private func apply(_ result: RefreshResult?, of request: RefreshRequest) {
    dispatchPrecondition(condition: .onQueue(queue))
    guard let manager = managers[request.managerKey], manager.instanceID == request.instanceID else { return }
    manager.isRefreshing = false
    guard let result else { return manager.needsRefresh = true }
    // Assets that were added during the lookup may be from before the change.
    manager.assetsChangeToken = manager.needsRefresh ? nil : result.assetsChangeToken
    update(manager) { $0.assetsChanged(to: result.assets) }
    if let previous = request.window {
      update(manager) {
        $0.windowRefreshed(result.window, hasListChanged: result.hasListChanged, from: previous)
      }
    }
    planAfterChange(manager)
  }

  func loggingFailure<Value>(_ body: () throws(CachingError) -> Value) -> Value? {
    do throws(CachingError) {
      return try body()
    } catch {
      logger.error("preheat window lookup failed", metadata: ["error": "\(error)"])
      return nil
    }
  }
}
