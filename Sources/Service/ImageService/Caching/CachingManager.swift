import PhotoModel

/// The counterpart of PHCachingImageManager: one client's ``CachingState``, and the facts about it that no event
/// changes or that concern its lookups. Used only on the queue of ``CachingManagerRegistry``.
final class CachingManager {
  /// Never reused.
  let instanceID: UInt64
  let key: CachingManagerRegistry.ManagerKey
  /// A random name that no other manager has: how administrators name a `default` manager of another owner. The
  /// identifier of any other manager.
  let name: String
  /// How long it is kept after a call.
  var lease: Duration
  /// The principal as of its latest call.
  var owner: Principal
  var end: ContinuousClock.Instant
  /// Changed only by ``CachingManagerRegistry/update(_:_:)``, which performs the effects.
  var state: CachingState
  /// The preparations that have not ended and were not cancelled.
  var preparations: [CachingState.PreparationID: PreheatTask] = [:]
  /// The downloads that have not ended and were not cancelled.
  var downloads: [CachingState.DownloadID: RemoteWait] = [:]
  /// The downloads that have ended and whose originals are held.
  var holds: [CachingState.DownloadID: RemoteWait] = [:]
  /// The smaller formats in which ready frames of the window are encoded in addition.
  var upgradeFormats = UpgradeFormats()
  /// When the window's next timer fires.
  var timerDeadline: ContinuousClock.Instant?
  /// The library's change token at which the manager's assets are known to be current; `nil` if they must be looked up
  /// again, even without a change in the history.
  var assetsChangeToken: ChangeToken?
  /// Its assets are being looked up again.
  var isRefreshing = false
  /// Its assets may have changed.
  var needsRefresh = false

  init(
    instanceID: UInt64, key: CachingManagerRegistry.ManagerKey, name: String, owner: Principal, lease: Duration,
    end: ContinuousClock.Instant, state: CachingState
  ) {
    self.instanceID = instanceID
    self.key = key
    self.name = name
    self.owner = owner
    self.lease = lease
    self.end = end
    self.state = state
  }

  var id: String { key.id }

  /// Marks the assets as possibly out of date in a way that the history does not show: they were looked up while the
  /// library changed.
  func invalidateAssets() {
    needsRefresh = true
    assetsChangeToken = nil
  }
}
