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
  static let gathering = Duration.milliseconds(200)

  struct Name: Hashable {
    let owner: String
    let id: String
  }

  package let limits: CachingLimits
  let library: any AssetSource
  let images: ImageManager
  let lookups: WorkQueue
  let fetches: WorkQueue
  let tools: CachingManager.Tools
  /// How many preparations are under way at a time.
  let width: Int
  let logger: Logger
  let now: @Sendable () -> ContinuousClock.Instant
  let later: Later
  let queue = DispatchQueue(label: "photod.preheat", qos: .userInitiated)

  // On `queue`:
  var managers: [Name: CachingManager] = [:]
  /// The same, in the order in which it is their turn.
  var turns: [CachingManager] = []
  private var nextNumber: UInt64 = 0
  var underWay = 0
  var isChangeDue = false
  var lastGeneration: UInt64

  /// - Parameters:
  ///   - cache: has room for pinned frames.
  ///   - lookups: where assets are looked up for windows that nobody is calling about.
  ///   - fetches: where long lists are read.
  ///   - width: how many preparations are under way at a time; more than a few keep nobody busier.
  ///   - later: tests have their own.
  package init(
    library: any AssetSource, images: ImageManager, cache: FrameCache, lookups: WorkQueue, fetches: WorkQueue,
    limits: CachingLimits, metrics: CachingMetrics, width: Int, logger: Logger,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, later: Later? = nil
  ) {
    self.library = library
    self.images = images
    self.lookups = lookups
    self.fetches = fetches
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
  ///
  /// - Parameter orAnybodys: where the owner has none of that name, somebody else's is meant, whose lease goes on as it was.
  package func status(
    _ id: String, for owner: Principal, orAnybodys: Bool = false
  ) throws(Failure) -> CachingStatus? {
    if let own = try on(id, owner, { $0.status }) { return own }
    return orAnybodys ? queue.sync { anybodys(id)?.status } : nil
  }

  /// The owner's own: the `default` one first, then by age.
  ///
  /// - Parameter andAnybodys: behind them those that others have made.
  package func all(of owner: Principal, andAnybodys: Bool = false) -> [CachingStatus] {
    queue.sync {
      expire()
      let (own, others) = (
        managers.filter { $0.key.owner == owner.name }.values,
        managers.filter { $0.key.owner != owner.name && $0.key.id != Self.defaultID }.values
      )
      return own.sorted { ($0.id == Self.defaultID ? 0 : 1, $0.number) < ($1.id == Self.defaultID ? 0 : 1, $1.number) }
        .map(\.status) + (andAnybodys ? others.sorted { $0.number < $1.number }.map(\.status) : [])
    }
  }

  /// False: this owner has none of that name. The `default` one begins anew.
  ///
  /// - Parameter orAnybodys: where the owner has none of that name, somebody else's is meant.
  package func end(_ id: String, for owner: Principal, orAnybodys: Bool = false) -> Bool {
    queue.sync {
      expire()
      guard let manager = managers[Name(owner: owner.name, id: id)] ?? (orAnybodys ? anybodys(id) : nil) else {
        return id == Self.defaultID
      }
      remove(manager)
      thereMayBeRoom()
      return true
    }
  }

  /// Whoever's it is; everybody has a `default` one.
  private func anybodys(_ id: String) -> CachingManager? {
    id == Self.defaultID ? nil : turns.first { $0.id == id }
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
      if generation != library.generation { manager.mayBeBehind() }
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

  // MARK: Leases

  /// To be called about once a second: ends leases, counts what was used, notices what was missed.
  package func tick() {
    queue.async { [self] in
      expire()
      noteChanges()
      for manager in turns {
        manager.sweep()
        if manager.window?.source.isThere == false { manager.endWindow() }
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

  func expire() {
    let now = now()
    for manager in turns where manager.end <= now { remove(manager) }
  }

  /// Does something with a manager, and renews its lease. The `default` one is made where it is not there.
  func on<Value>(
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

  func name(of manager: CachingManager) -> Name { Name(owner: manager.owner.name, id: manager.id) }

  private static func randomID() -> String {
    var generator = SystemRandomNumberGenerator()
    let words = (0..<2).map { _ in String(generator.next() as UInt64, radix: 16) }
    return words.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
  }

  func asking<Value>(_ question: () throws(AssetSourceError) -> Value) throws(Failure) -> Value {
    do throws(AssetSourceError) { return try question() } catch { throw .library(error) }
  }
}
