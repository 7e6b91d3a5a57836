// All caching managers: whose they are, how long they last, and whose turn it is.
//
//     caller, on a look-up queue -> assets by name or position -> managers, on their own queue -> status
//     timer, library's change    -> look-up queue -> the same
//     whoever waits in line, one manager after the other, a few at a time -> ImageManager.prepare -> ended
//
// Everything that changes here does so on one serial queue, which never asks the catalogue, reads no file and decodes
// nothing: a call takes about a millisecond for a thousand assets.

import Dispatch
import Logging
import PhotoModel
import Telemetry

/// `@unchecked Sendable` because all that changes is touched on `queue` alone, which its methods assert.
package final class CachingManagers: ChangeObserver, @unchecked Sendable {
  package enum Failure: Error, Sendable, Equatable {
    case tooManyManagers(limit: Int)
    case library(AssetSourceError)
  }

  /// Calls something later.
  package typealias Later = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  /// The manager that everyone has.
  package static let defaultID = "default"
  /// How long changes of the library are gathered before assets are looked up anew.
  private static let gathering = Duration.milliseconds(200)

  private struct Name: Hashable {
    let owner: String
    let id: String
  }

  package let limits: CachingLimits
  private let library: any AssetSource
  private let images: ImageManager
  private let lookups: WorkQueue
  private let tools: CachingManager.Tools
  /// How many preparations are under way at a time.
  private let width: Int
  private let logger: Logger
  private let now: @Sendable () -> ContinuousClock.Instant
  private let later: Later
  private let queue = DispatchQueue(label: "photod.preheat", qos: .userInitiated)

  // On `queue`:
  private var managers: [Name: CachingManager] = [:]
  /// The same, in the order in which it is their turn.
  private var turns: [CachingManager] = []
  private var nextNumber: UInt64 = 0
  private var underWay = 0
  private var isChangeDue = false
  private var lastGeneration: UInt64

  /// - Parameters:
  ///   - cache: has room for pinned frames.
  ///   - lookups: where assets are looked up for windows that nobody is calling about.
  ///   - width: how many preparations are under way at a time; more than a few keep nobody busier.
  ///   - later: tests have their own.
  package init(
    library: any AssetSource, images: ImageManager, cache: FrameCache, lookups: WorkQueue, limits: CachingLimits,
    metrics: CachingMetrics, width: Int, logger: Logger,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, later: Later? = nil
  ) {
    self.library = library
    self.images = images
    self.lookups = lookups
    self.limits = limits
    self.width = max(1, width)
    self.logger = logger
    self.now = now
    tools = CachingManager.Tools(
      images: images, cache: cache, metrics: metrics, mostAssets: limits.assets,
      mostInAll: limits.assetsInAll)
    lastGeneration = library.generation
    let queue = queue
    self.later = later ?? { delay, work in queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: work) }
  }

  // MARK: Managers

  /// - Parameter lease: at most the one that the limits say, which it is by default.
  package func make(
    for owner: Principal, allowsHighQuality: Bool = true, lease: Duration? = nil
  ) throws(Failure) -> CachingStatus {
    let made: Result<CachingStatus, Failure> = queue.sync {
      expire()
      let own = managers.keys.count { $0.owner == owner.name && $0.id != Self.defaultID }
      guard own < limits.managersPerPrincipal else {
        return .failure(.tooManyManagers(limit: limits.managersPerPrincipal))
      }
      guard managers.count < limits.managers else { return .failure(.tooManyManagers(limit: limits.managers)) }
      let lease = lease.map { min($0, limits.lease) } ?? limits.lease
      return .success(add(Self.randomID(), owner, allowsHighQuality, lease).status)
    }
    return try made.get()
  }

  /// `nil`: this owner has none of that name. It renews the lease, as every call does.
  package func status(_ id: String, for owner: Principal) throws(Failure) -> CachingStatus? {
    try on(id, owner) { $0.status }
  }

  /// The owner's own: the `default` one first, then by age.
  package func all(of owner: Principal) -> [CachingStatus] {
    queue.sync {
      expire()
      let own = managers.filter { $0.key.owner == owner.name }.values
      return own.sorted { ($0.id == Self.defaultID ? 0 : 1, $0.number) < ($1.id == Self.defaultID ? 0 : 1, $1.number) }
        .map(\.status)
    }
  }

  /// False: this owner has none of that name. The `default` one begins anew.
  package func end(_ id: String, for owner: Principal) -> Bool {
    queue.sync {
      expire()
      guard let manager = managers[Name(owner: owner.name, id: id)] else { return id == Self.defaultID }
      remove(manager)
      thereMayBeRoom()
      return true
    }
  }

  // MARK: startCachingImages, stopCachingImages

  /// What became of a call to start.
  package struct Started: Sendable {
    package internal(set) var started = 0
    /// What there is no room for.
    package internal(set) var leftOut: [LocalIdentifier] = []
    /// What there is none of, for this owner.
    package internal(set) var missing: [LocalIdentifier] = []
    package internal(set) var status: CachingStatus
  }

  /// Prepares frames and keeps them until they are stopped. `nil`: this owner has no such manager. Asks the catalogue.
  package func start(
    _ identifiers: [LocalIdentifier], _ options: PreheatOptions, id: String, for owner: Principal
  ) throws(Failure) -> Started? {
    let generation = library.generation
    guard try status(id, for: owner) != nil else { return nil }
    let assets = try asking { () throws(AssetSourceError) in try library.assets(named: identifiers, for: owner) }
    return try on(id, owner) { manager in
      var started = Started(status: manager.status)
      for (identifier, asset) in zip(identifiers, assets) {
        guard let asset else {
          started.missing.append(identifier)
          continue
        }
        if manager.start(asset, options) { started.started += 1 } else { started.leftOut.append(identifier) }
      }
      if generation != library.generation { manager.isStale = true }
      feed()
      started.status = manager.status
      return started
    }
  }

  /// Stops what was started with the same options. How many were; `nil`: this owner has no such manager.
  package func stop(
    _ identifiers: [LocalIdentifier], _ options: PreheatOptions, id: String, for owner: Principal
  ) throws(Failure) -> (stopped: Int, status: CachingStatus)? {
    try on(id, owner) { manager in
      let stopped = identifiers.count { manager.stop($0, options) }
      thereMayBeRoom()
      return (stopped, manager.status)
    }
  }

  /// Ends its window too.
  package func stopAll(id: String, for owner: Principal) throws(Failure) -> CachingStatus? {
    try on(id, owner) { manager in
      manager.stopAll()
      thereMayBeRoom()
      return manager.status
    }
  }

  // MARK: Windows

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

  /// The list that a manager's window is over, if it has a window and the library has not changed since it was made.
  package func currentSource(id: String, for owner: Principal) -> (any PreheatSource)? {
    queue.sync {
      guard lastGeneration == library.generation else { return nil }
      return managers[Name(owner: owner.name, id: id)]?.window?.source
    }
  }

  /// Moves a manager's window. `nil`: this owner has no such manager. Asks the catalogue for what it does not know yet.
  package func move(
    _ move: Move, over source: any PreheatSource, id: String, for owner: Principal
  ) throws(Failure) -> WindowStatus? {
    let generation = library.generation
    let missing = try on(id, owner) { manager -> [Int] in
      noteChanges()
      let now = now()
      var window = CachingManager.Window(source: source, options: move.options, arithmetic: PreheatWindow(limits.rules))
      if let old = manager.window {
        // Its moves and what became of them are the user's, whatever the list.
        window.arithmetic = old.arithmetic
        if old.source.name == source.name { window.assets = old.assets } else { old.source.end() }
      }
      window.arithmetic.moved(to: move.visible, of: source.count, margin: move.margin, at: now)
      manager.window = window
      return manager.missingPositions(at: now)
    }
    guard let missing else {
      source.end()
      return nil
    }
    let assets =
      missing.isEmpty ? [] : try asking { () throws(AssetSourceError) in try source.assets(at: missing) }
    return try on(id, owner) { manager in
      know(assets, at: missing, of: source.name, generation, in: manager)
      return manager.windowStatus
    } ?? nil
  }

  /// Assets of a window were looked up: it is planned with them.
  private func know(
    _ assets: [Asset?], at positions: [Int], of sourceName: String, _ generation: UInt64, in manager: CachingManager
  ) {
    dispatchPrecondition(condition: .onQueue(queue))
    if manager.window?.source.name == sourceName {
      for (position, asset) in zip(positions, assets) { manager.window?.assets[position] = .some(asset) }
      if generation != library.generation { manager.isStale = true }
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

  private func settle(_ manager: CachingManager) {
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
    let isAccepted = lookups.submit { [self, name = name(of: manager), source = window.source] in
      let assets = logging { () throws(Failure) in
        try asking { () throws(AssetSourceError) in try source.assets(at: missing) }
      }
      guard let assets else { return }
      queue.async { [self] in
        guard let manager = managers[name] else { return }
        know(assets, at: missing, of: source.name, generation, in: manager)
      }
    }
    // Looked at again in a second.
    if !isAccepted { manager.isStale = true }
  }

  // MARK: The library's changes

  /// The library has changed, and readers see it. From any thread; what follows is done elsewhere, a little later.
  package func libraryDidChange() { queue.async { [self] in noteChanges() } }

  /// Looks up anew what managers keep, where the library is another by now.
  private func noteChanges() {
    guard library.generation != lastGeneration, !isChangeDue else { return }
    isChangeDue = true
    later(Self.gathering) { [self] in
      queue.async { [self] in
        isChangeDue = false
        lastGeneration = library.generation
        for manager in turns { refresh(manager) }
      }
    }
  }

  private func refresh(_ manager: CachingManager) {
    guard !manager.isRefreshing else { return manager.isStale = true }
    manager.isRefreshing = true
    manager.isStale = false
    let identifiers = Array(Set(manager.entries.keys.map(\.asset)))
    let positions = manager.positionsInSight(at: now())
    let isAccepted = lookups.submit {
      [self, name = name(of: manager), owner = manager.owner, source = manager.window?.source] in
      let found = logging { () throws(Failure) in
        try asking { () throws(AssetSourceError) in
          let assets = try library.assets(named: identifiers, for: owner)
          let source = try source?.refreshed()
          let there = positions.filter { $0 < source?.count ?? 0 }
          return (assets: assets, source: source, positions: there, members: try source?.assets(at: there) ?? [])
        }
      }
      queue.async { [self] in
        guard let manager = managers[name] else { return }
        manager.isRefreshing = false
        guard let found else { return manager.isStale = true }
        manager.assetsAre(Dictionary(uniqueKeysWithValues: zip(identifiers, found.assets)))
        if let source, manager.window?.source.name == source.name {
          refreshed(manager, found.source, Dictionary(uniqueKeysWithValues: zip(found.positions, found.members)))
        } else if found.source?.name != source?.name {
          found.source?.end()
        }
        manager.plan(at: now())
        thereMayBeRoom()
        settle(manager)
      }
    }
    if !isAccepted {
      manager.isRefreshing = false
      manager.isStale = true
    }
  }

  private func refreshed(_ manager: CachingManager, _ source: (any PreheatSource)?, _ assets: [Int: Asset?]) {
    guard let source else { return manager.endWindow() }
    if let old = manager.window?.source, old.name != source.name { old.end() }
    manager.window?.source = source
    manager.window?.assets = assets
    if let visible = manager.window?.arithmetic.visible {
      manager.window?.arithmetic.listChanged(count: source.count, visible: visible)
    }
  }

  private func asking<Value>(_ question: () throws(AssetSourceError) -> Value) throws(Failure) -> Value {
    do throws(AssetSourceError) { return try question() } catch { throw .library(error) }
  }

  private func logging<Value>(_ question: () throws(Failure) -> Value) -> Value? {
    do throws(Failure) {
      return try question()
    } catch {
      logger.error("a preheat window can't be looked up", metadata: ["error": "\(error)"])
      return nil
    }
  }

  // MARK: Leases

  /// To be called about once a second: ends leases, counts what was used, notices what was missed.
  package func tick() {
    queue.async { [self] in
      expire()
      noteChanges()
      for manager in turns {
        manager.sweep()
        if manager.isStale { refresh(manager) }
      }
      thereMayBeRoom()
    }
  }

  /// Returns when everything that was begun on other threads before has been noted; for tests.
  package func sync() { queue.sync {} }

  /// How many there are, and how many entries wait; for metrics.
  package var depths: (managers: Int, pending: Int) {
    queue.sync { (managers.count, turns.reduce(0) { $0 + $1.status.pending }) }
  }

  private func expire() {
    let now = now()
    for manager in turns where manager.end <= now { remove(manager) }
  }

  /// Does something with a manager, and renews its lease. The `default` one is made where it is not there.
  private func on<Value>(
    _ id: String, _ owner: Principal, _ body: (CachingManager) -> Value
  ) throws(Failure) -> Value? {
    let result: Result<Value?, Failure> = queue.sync {
      expire()
      let name = Name(owner: owner.name, id: id)
      var manager = managers[name]
      if manager == nil && id == Self.defaultID {
        guard managers.count < limits.managers else { return .failure(.tooManyManagers(limit: limits.managers)) }
        manager = add(id, owner, true, limits.lease)
      }
      guard let manager else { return .success(nil) }
      manager.owner = owner
      manager.end = now() + manager.lease
      return .success(body(manager))
    }
    return try result.get()
  }

  private func add(_ id: String, _ owner: Principal, _ allowsHighQuality: Bool, _ lease: Duration) -> CachingManager {
    nextNumber += 1
    let manager = CachingManager(
      number: nextNumber, id: id, owner: owner, lease: lease, allowsHighQuality: allowsHighQuality, end: now() + lease,
      tools: tools)
    managers[Name(owner: owner.name, id: id)] = manager
    turns.append(manager)
    return manager
  }

  private func remove(_ manager: CachingManager) {
    manager.stopAll()
    managers[name(of: manager)] = nil
    turns.removeAll { $0 === manager }
  }

  private func name(of manager: CachingManager) -> Name { Name(owner: manager.owner.name, id: manager.id) }

  private static func randomID() -> String {
    var generator = SystemRandomNumberGenerator()
    let words = (0..<2).map { _ in String(generator.next() as UInt64, radix: 16) }
    return words.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
  }

  // MARK: Work

  /// Goes on where something was let go of.
  private func thereMayBeRoom() {
    var room = tools.cache.pinnedCapacityBytes - tools.cache.pinnedByteCount
    for manager in turns { room = manager.tryAgain(room) }
    feed()
  }

  /// Begins what is next in line, one manager after the other.
  private func feed() {
    dispatchPrecondition(condition: .onQueue(queue))
    var passed = 0
    while underWay < width, passed < turns.count {
      let manager = turns.removeFirst()
      turns.append(manager)
      let hasBegun = manager.beginNext { asset, request, onlyIfNearlyFree, entry in
        begin(asset, request, onlyIfNearlyFree, entry, of: manager)
      }
      passed = hasBegun ? 0 : passed + 1
    }
  }

  private func begin(
    _ asset: Asset, _ request: ImageRequest, _ onlyIfNearlyFree: Bool, _ entry: CachingManager.Name,
    of manager: CachingManager
  ) -> Preparation {
    underWay += 1
    let number = manager.number
    let name = name(of: manager)
    return images.prepare(asset, request, owner: manager.owner.name, onlyIfNearlyFree: onlyIfNearlyFree) {
      [self] preparation, outcome in
      queue.async { [self] in
        underWay -= 1
        if let manager = managers[name], manager.number == number { manager.ended(entry, preparation, outcome) }
        feed()
      }
    }
  }
}
