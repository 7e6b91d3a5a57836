// All caching managers: who owns them, how long they live, and whose entries are prepared next.
//
//     caller, on a lookup queue -> assets by identifier or position -> managers, on their own queue -> status
//     timer, change of the library -> lookup queue -> the same
//     waiting entries, one manager after the other, a few at a time -> ImageManager.prepare -> ended
//
// CachingState decides what a manager keeps and what follows from an event; the registry performs these effects. All
// state changes on one serial queue, which never queries the catalogue, reads a file or decodes. A call takes about a
// millisecond for a thousand assets.

import Dispatch
import Logging
import PhotoModel
import Primitives
import Telemetry

/// `@unchecked Sendable` because all mutable state is used only on `queue`, which the methods assert.
package final class CachingManagerRegistry: ChangeObserver, @unchecked Sendable {
  package enum CachingError: Error, Sendable, Equatable {
    case tooManyManagers(limit: Int)
    case library(AssetSourceError)
  }

  /// Calls a closure after a delay.
  package typealias Scheduler = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  /// The name of the manager that every principal has. Each named client of a principal can have one more of its own.
  package static let defaultID = "default"
  /// Debounce: how long changes of the library are collected before assets are looked up again.
  static let changeDebounce = Duration.milliseconds(200)

  struct ManagerKey: Hashable {
    let owner: String
    let id: String
    /// The named client whose own `default` manager this is; `nil` for any other manager.
    let client: String?

    init(owner: Principal, id: String, client: String?) {
      self.owner = owner.name
      self.id = id
      self.client = id == CachingManagerRegistry.defaultID ? client : nil
    }

    /// Whether it is the `default` manager that the owner has in addition to `managersPerCaller` others.
    var isStandard: Bool { id == CachingManagerRegistry.defaultID && client == nil }
  }

  package let limits: CachingLimits
  let library: any AssetSource
  let images: ImageManager
  let lookups: WorkQueue
  let fetches: WorkQueue
  let cache: FrameCache
  let upgrades: EncodingUpgrades?
  let listedFormats: ListedFormats
  let metrics: CachingMetrics
  /// Maximum number of simultaneous preparations.
  let maximumPreparations: Int
  let logger: Logger
  let now: @Sendable () -> ContinuousClock.Instant
  let schedule: Scheduler
  let queue = DispatchQueue(label: "photod.preheat", qos: .userInitiated)

  // On `queue`:
  var managers: [ManagerKey: CachingManager] = [:]
  /// The same managers in round-robin order.
  var roundRobin: [CachingManager] = []
  private var nextInstanceID: UInt64 = 0
  var activePreparations = 0
  var activeDownloads = 0
  /// The entries of all managers, by owner.
  var entryShares: CallerShares
  var isRefreshScheduled = false
  var lastGeneration: UInt64

  /// - Parameters:
  ///   - cache: has room for pinned frames.
  ///   - upgrades: makes smaller encodings of prepared frames; `nil` for none.
  ///   - listedFormats: the formats of smaller encodings for clients that list none.
  ///   - lookups: queue for lookups of assets for windows when no caller is waiting.
  ///   - fetches: queue for reading long lists.
  ///   - maximumPreparations: maximum number of simultaneous preparations; more than a few bring no more throughput.
  ///   - schedule: calls a closure after a delay; tests pass their own.
  package init(
    library: any AssetSource, images: ImageManager, cache: FrameCache,
    upgrades: EncodingUpgrades? = nil, listedFormats: ListedFormats, lookups: WorkQueue, fetches: WorkQueue,
    limits: CachingLimits, metrics: CachingMetrics, maximumPreparations: Int, logger: Logger,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, schedule: Scheduler? = nil
  ) {
    self.library = library
    self.images = images
    self.lookups = lookups
    self.fetches = fetches
    self.limits = limits
    entryShares = CallerShares(maximum: limits.totalAssets)
    self.maximumPreparations = max(1, maximumPreparations)
    self.logger = logger
    self.now = now
    self.cache = cache
    self.upgrades = upgrades
    self.listedFormats = listedFormats
    self.metrics = metrics
    lastGeneration = library.generation
    let queue = queue
    self.schedule =
      schedule ?? { delay, work in queue.asyncAfter(deadline: .now() + delay.seconds, execute: work) }
  }

  // MARK: Managers

  /// - Parameter lease: at most `limits.maximumLease`; `limits.lease` by default.
  package func make(
    for owner: Principal, allowsHighQuality: Bool = true, lease: Duration? = nil
  ) throws(CachingError) -> CachingStatus {
    let made: Result<CachingStatus, CachingError> = queue.sync {
      expire()
      let managerKey = ManagerKey(owner: owner, id: Self.randomID(), client: nil)
      if let limit = reachedLimit(for: managerKey) { return .failure(.tooManyManagers(limit: limit)) }
      return .success(status(of: add(managerKey, owner, allowsHighQuality, lease ?? limits.lease)))
    }
    return try made.get()
  }

  /// Returns `nil` if this owner has no manager with this ID. Renews the lease, as every call does. Creates no manager:
  /// a `default` one that does not exist is shown empty. Any page can send a GET, and a caller that has reached a limit
  /// must be able to find the managers to delete.
  ///
  /// - Parameters:
  ///   - client: the client whose `default` manager is meant. Without effect for other managers, here and below.
  ///   - includingOtherOwners: if the owner has no manager with this ID, return another owner's, without renewing its
  ///     lease. A `default` manager has the ID under which it is listed.
  package func status(
    _ id: String, client: String? = nil, for owner: Principal, includingOtherOwners: Bool = false
  ) throws(CachingError) -> CachingStatus? {
    if let own = try withManager(id, client, owner, createsDefault: false, { status(of: $0) }) { return own }
    if id == Self.defaultID { return emptyDefaultStatus(client: client) }
    return includingOtherOwners ? queue.sync { managerOfAnyOwner(id).map { status(of: $0, isOwn: false) } } : nil
  }

  /// The owner's managers: the `default` one first, also if it does not exist, then by age.
  ///
  /// - Parameter includingOtherOwners: append the managers of other owners. Their `default` managers have other IDs
  ///   there.
  package func all(of owner: Principal, includingOtherOwners: Bool = false) -> [CachingStatus] {
    queue.sync {
      expire()
      let own = managers.values.filter { $0.owner.name == owner.name }.sorted {
        ($0.key.isStandard ? 0 : 1, $0.instanceID) < ($1.key.isStandard ? 0 : 1, $1.instanceID)
      }
      var statuses = own.map { status(of: $0) }
      if own.first?.key.isStandard != true { statuses.insert(emptyDefaultStatus(client: nil), at: 0) }
      guard includingOtherOwners else { return statuses }
      let others = managers.values.filter { $0.owner.name != owner.name }.sorted { $0.instanceID < $1.instanceID }
      return statuses + others.map { status(of: $0, isOwn: false) }
    }
  }

  /// Changes a manager's quality, its lease, or both, and plans its window again. Returns `nil` if this owner has no
  /// such manager.
  ///
  /// - Parameter lease: at most `limits.maximumLease`.
  package func change(
    _ id: String, client: String? = nil, for owner: Principal, allowsHighQuality: Bool? = nil, lease: Duration? = nil
  ) throws(CachingError) -> CachingStatus? {
    try withManager(id, client, owner) { manager in
      if let lease {
        manager.lease = min(lease, limits.maximumLease)
        manager.end = now() + manager.lease
      }
      if let allowsHighQuality, allowsHighQuality != manager.state.allowsHighQuality {
        update(manager) { $0.setAllowsHighQuality(allowsHighQuality) }
        planAfterChange(manager)
      }
      return status(of: manager)
    }
  }

  /// Ends a manager. Returns false if this owner has no manager with this ID. The `default` manager starts again empty.
  ///
  /// - Parameter includingOtherOwners: if the owner has no manager with this ID, end another owner's.
  package func end(
    _ id: String, client: String? = nil, for owner: Principal, includingOtherOwners: Bool = false
  ) -> Bool {
    queue.sync {
      expire()
      guard
        let manager = managers[ManagerKey(owner: owner, id: id, client: client)]
          ?? (includingOtherOwners ? managerOfAnyOwner(id) : nil)
      else {
        return id == Self.defaultID
      }
      remove(manager)
      roomFreed()
      return true
    }
  }

  /// A manager's status, with the uses up to now.
  ///
  /// - Parameter isOwn: whether it is for the manager's owner.
  func status(of manager: CachingManager, isOwn: Bool = true) -> CachingStatus {
    update(manager) { $0.recordUses() }
    return CachingStatus(
      id: isOwn ? manager.id : manager.name, client: manager.key.client, lease: manager.lease, manager.state)
  }

  /// The status of a `default` manager that does not exist.
  private func emptyDefaultStatus(client: String?) -> CachingStatus {
    let state = CachingState(
      allowsHighQuality: true, maximumAssets: limits.assets, parameters: limits.windowParameters)
    return CachingStatus(
      id: Self.defaultID, client: client, lease: min(limits.lease, limits.maximumLease), state)
  }

  /// The manager with this name, of any owner. `nil` for `default`, which every principal has.
  private func managerOfAnyOwner(_ name: String) -> CachingManager? { roundRobin.first { $0.name == name } }

  // MARK: Leases

  /// Call about once a second: ends managers whose lease has expired or whose owner is no longer admitted, counts uses
  /// of frames, and retries failed lookups.
  ///
  /// - Parameter isAdmitted: whether a caller, by the name of its principal, can still send requests. Called on the
  ///   managers' queue.
  package func tick(isAdmitted: @escaping @Sendable (String) -> Bool = { _ in true }) {
    queue.async { [self] in
      expire()
      // A lease may last a day, and an owner whose token has expired can't end its managers.
      for manager in roundRobin where !isAdmitted(manager.key.owner) { remove(manager) }
      checkForChanges()
      for manager in roundRobin {
        update(manager) { $0.recordUses() }
        if manager.state.window?.source.isAvailable == false { update(manager) { $0.endWindow() } }
        if manager.needsRefresh { refresh(manager) }
      }
      roomFreed()
    }
  }

  /// Returns when all events that other threads reported before this call have been handled; for tests.
  package func sync() { queue.sync {} }

  /// Number of managers and of waiting entries; for metrics.
  package var counts: (managers: Int, pending: Int) {
    queue.sync { (managers.count, roundRobin.reduce(0) { $0 + $1.state.pendingCount }) }
  }

  func expire() {
    let now = now()
    for manager in roundRobin where manager.end <= now { remove(manager) }
  }

  /// Runs `body` with a manager and renews its lease. Returns `nil` if there is none.
  ///
  /// - Parameter createsDefault: create a `default` manager that does not exist.
  func withManager<Value>(
    _ id: String, _ client: String?, _ owner: Principal, createsDefault: Bool = true,
    _ body: (CachingManager) -> Value
  ) throws(CachingError) -> Value? {
    let result: Result<Value?, CachingError> = queue.sync {
      expire()
      let managerKey = ManagerKey(owner: owner, id: id, client: client)
      var manager = managers[managerKey]
      if manager == nil && createsDefault && id == Self.defaultID {
        if let limit = reachedLimit(for: managerKey) { return .failure(.tooManyManagers(limit: limit)) }
        manager = add(managerKey, owner, true, limits.lease)
      }
      guard let manager else { return .success(nil) }
      manager.owner = owner
      manager.end = now() + manager.lease
      return .success(body(manager))
    }
    return try result.get()
  }

  /// The limit that another manager with this key would exceed; `nil` for none.
  private func reachedLimit(for managerKey: ManagerKey) -> Int? {
    let own = managers.keys.count { $0.owner == managerKey.owner && !$0.isStandard }
    if !managerKey.isStandard && own >= limits.managersPerCaller { return limits.managersPerCaller }
    return managers.count >= limits.managers ? limits.managers : nil
  }

  /// - Parameter lease: shortened to `limits.maximumLease`.
  private func add(
    _ managerKey: ManagerKey, _ owner: Principal, _ allowsHighQuality: Bool, _ lease: Duration
  ) -> CachingManager {
    nextInstanceID += 1
    let lease = min(lease, limits.maximumLease)
    let manager = CachingManager(
      instanceID: nextInstanceID, key: managerKey,
      name: managerKey.id == Self.defaultID ? Self.randomID() : managerKey.id, owner: owner, lease: lease,
      end: now() + lease,
      state: CachingState(
        allowsHighQuality: allowsHighQuality, maximumAssets: limits.assets, parameters: limits.windowParameters))
    managers[managerKey] = manager
    roundRobin.append(manager)
    return manager
  }

  private func remove(_ manager: CachingManager) {
    update(manager) { $0.stopAll() }
    managers[manager.key] = nil
    roundRobin.removeAll { $0 === manager }
  }

  private static func randomID() -> String {
    var generator = SystemRandomNumberGenerator()
    return (generator.next() as UInt64).hexadecimal + (generator.next() as UInt64).hexadecimal
  }

  func mappingErrors<Value>(_ body: () throws(AssetSourceError) -> Value) throws(CachingError) -> Value {
    do throws(AssetSourceError) { return try body() } catch { throw .library(error) }
  }
}
