// The counterpart of PHCachingImageManager: the frames that one client wants ready before it requests them, and their
// progress.
//
//     waiting -> preparing -> ready                    its key is pinned from `preparing` on, until the entry leaves
//        ^           +------> left out: needs the original, no room, or it can't be made
//        +--------------------------+
//
// An entry is wanted because it was started, because the window contains it, or both; it leaves when neither is true. A
// manager belongs to CachingManagerRegistry, which uses it only on the registry's queue. CachingManager+Window decides
// what the window wants, CachingManager+Preparations follows the entries over time.

import ImageCodec
import PhotoModel
import Telemetry

final class CachingManager {
  /// The values that PhotoKit matches by: the same asset, size, mode and options.
  struct EntryKey: Hashable {
    let asset: LocalIdentifier
    let options: PreheatOptions
  }

  enum EntryState {
    case waiting
    case preparing(Preparation)
    case ready(CachedFrame, wasPrepared: Bool)
    case leftOut(Reason)

    enum Reason: Equatable {
      case needsOriginal, failed
      /// Lack of room for this many bytes.
      case noRoom(Int)
    }
  }

  struct Entry {
    var asset: Asset
    var key: RenditionKey
    var state = EntryState.waiting
    var isStarted = false
    var isInWindow = false
    /// The latest plan keeps the entry while its frame is there, but would not prepare it.
    var isOnlyKept = false
    /// Position in the queue: lowest first.
    var rank = 0
    /// The side of the visible range on which the entry was first wanted.
    var side: PreheatWindow.Side?
    /// Prepare it only if that is cheap: without decoding the original.
    var isReducedQuality = false
    var isUsed = false

    mutating func leaveWindow() {
      isInWindow = false
      isOnlyKept = false
    }
  }

  struct Window {
    var source: any PreheatSource
    var options: PreheatOptions
    var tracker: PreheatWindow
    /// The assets at the positions that were looked up; `nil` for a position where nothing is to be shown.
    var assets: [Int: Asset?] = [:]
    /// The latest plan.
    var plan: PreheatWindow.Plan?
  }

  /// Ranks: visible positions, then started entries, then the margin.
  static let startedRank = 1 << 32
  static let marginRank = 1 << 48

  /// Never reused.
  let instanceID: UInt64
  let id: String
  let lease: Duration
  let allowsHighQuality: Bool
  /// The principal as of its latest call.
  var owner: Principal
  var end: ContinuousClock.Instant
  var entries: [EntryKey: Entry] = [:]
  var window: Window?
  /// When the window's next timer fires.
  var timerDeadline: ContinuousClock.Instant?
  /// The library's change token for which the manager's assets are known to be current; `nil` if they must be looked
  /// up, whatever the history contains.
  var assetsChangeToken: String?
  /// Its assets are being looked up again.
  var isRefreshing = false
  /// Its assets may have changed.
  var needsRefresh = false
  var prepared = 0
  var used = 0
  var wasted = 0
  var cancelled = 0
  /// Waiting entries in reverse order: the last element is next. Some may not be waiting any longer.
  var waitingOrder: [EntryKey] = []
  var needsSort = false
  var startedCount = 0
  /// Some entries were left out for lack of room.
  var hasEntriesWithoutRoom = false
  let dependencies: Dependencies
  private var nextStarted = 0

  /// What a manager needs to prepare entries.
  struct Dependencies {
    let images: ImageManager
    let cache: FrameCache
    let metrics: CachingMetrics
    let maximumAssets: Int
    let maximumTotalAssets: Int
    let entryCounter = EntryCounter()
  }

  /// Number of entries of all managers together.
  final class EntryCounter { var entries = 0 }

  init(
    instanceID: UInt64, id: String, owner: Principal, lease: Duration, allowsHighQuality: Bool,
    end: ContinuousClock.Instant, dependencies: Dependencies
  ) {
    self.instanceID = instanceID
    self.id = id
    self.owner = owner
    self.lease = lease
    self.allowsHighQuality = allowsHighQuality
    self.end = end
    self.dependencies = dependencies
  }

  // MARK: Wanted entries

  /// Starts keeping an asset's frame ready. Returns false if the limit of entries is reached.
  func start(_ asset: Asset, _ options: PreheatOptions) -> Bool {
    let entryKey = EntryKey(asset: asset.localIdentifier, options: options)
    guard entries[entryKey] != nil || add(entryKey, asset, nil) else { return false }
    updateEntry(entryKey) { entry in
      if !entry.isStarted { startedCount += 1 }
      entry.isStarted = true
      entry.isReducedQuality = !allowsHighQuality
      if !entry.isInWindow {
        entry.rank = Self.startedRank + nextStarted
        nextStarted += 1
      }
      if case .leftOut = entry.state { entry.state = .waiting }
    }
    needsSort = true
    return true
  }

  /// Returns false if the asset was not started with these options.
  func stop(_ identifier: LocalIdentifier, _ options: PreheatOptions) -> Bool {
    let entryKey = EntryKey(asset: identifier, options: options)
    guard entries[entryKey]?.isStarted == true else { return false }
    startedCount -= 1
    updateEntry(entryKey) { $0.isStarted = false }
    removeIfUnwanted(entryKey)
    return true
  }

  func stopAll() {
    for entryKey in entries.keys { remove(entryKey) }
    startedCount = 0
    window = nil
    waitingOrder = []
  }

  /// Marks the assets as possibly out of date in a way that the history does not show: they were looked up while the
  /// library changed.
  func invalidateAssets() {
    needsRefresh = true
    assetsChangeToken = nil
  }

  // MARK: Entries

  /// Applies changed assets. An entry whose picture changed is prepared again; an entry whose asset is gone, or is no
  /// longer a picture, leaves.
  func assetsChanged(to assets: [LocalIdentifier: Asset?]) {
    for (entryKey, entry) in entries {
      guard let asset = assets[entryKey.asset] else { continue }
      if let asset, asset.canBePrepared {
        assetUpdated(entryKey, asset)
      } else {
        if entry.isStarted { startedCount -= 1 }
        remove(entryKey)
      }
    }
    needsSort = true
  }

  /// Returns false if the limit of entries is reached.
  func add(_ entryKey: EntryKey, _ asset: Asset, _ side: PreheatWindow.Side?) -> Bool {
    guard entries.count < dependencies.maximumAssets,
      dependencies.entryCounter.entries < dependencies.maximumTotalAssets
    else { return false }
    dependencies.entryCounter.entries += 1
    entries[entryKey] = Entry(
      asset: asset, key: RenditionKey(asset, entryKey.options.request(for: asset)), side: side)
    return true
  }

  func assetUpdated(_ entryKey: EntryKey, _ asset: Asset) {
    guard let entry = entries[entryKey] else { return }
    let key = RenditionKey(asset, entryKey.options.request(for: asset))
    guard key != entry.key else { return updateEntry(entryKey) { $0.asset = asset } }
    // Requests up to now count as uses of the entry.
    recordUses(entryKey)
    release(entries[entryKey] ?? entry)
    updateEntry(entryKey) { entry in
      entry.asset = asset
      entry.key = key
      entry.state = entry.isOnlyKept && !entry.isStarted ? .leftOut(.needsOriginal) : .waiting
      entry.isUsed = false
    }
  }

  func removeIfUnwanted(_ entryKey: EntryKey) {
    guard let entry = entries[entryKey], !entry.isStarted, !entry.isInWindow else { return }
    remove(entryKey)
  }

  func remove(_ entryKey: EntryKey) {
    recordUses(entryKey)
    guard let entry = entries.removeValue(forKey: entryKey) else { return }
    dependencies.entryCounter.entries -= 1
    let wasSeen = release(entry)
    // Counts also if there was no time to prepare the frame, so that a slow machine learns as fast as a quick one.
    if let side = entry.side, let wasSeen { window?.tracker.frameLeft(side, wasSeen: wasSeen) }
  }

  /// Releases an entry's frame, or cancels its preparation.
  ///
  /// - Returns: whether the frame was requested; `nil` if that is not known.
  @discardableResult
  func release(_ entry: Entry) -> Bool? {
    switch entry.state {
    // The manager did not prepare it, so a frame in memory means that a client requested it.
    case .waiting, .leftOut(.needsOriginal): return dependencies.images.isInMemory(entry.key)
    case .leftOut: return nil
    case .preparing(let preparation):
      dependencies.cache.unpin(entry.key)
      guard dependencies.images.cancel(preparation) else { return nil }
      cancelled += 1
      dependencies.metrics.cancelled()
      return false
    case .ready(_, let wasPrepared):
      dependencies.cache.unpin(entry.key)
      guard wasPrepared else { return nil }
      if !entry.isUsed {
        wasted += 1
        dependencies.metrics.wasted()
      }
      return entry.isUsed
    }
  }

  func updateEntry(_ entryKey: EntryKey, _ body: (inout Entry) -> Void) {
    guard let place = entries.index(forKey: entryKey) else { return }
    body(&entries.values[place])
  }
}

extension Asset {
  /// Whether the asset can have frames.
  var canBePrepared: Bool { mediaType == .image && hasDecoder }
}
