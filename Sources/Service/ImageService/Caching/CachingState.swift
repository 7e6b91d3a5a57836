// The frames that one client wants ready before it requests them, and their progress: a pure state machine. Events go
// in as method calls, with the time and the room that other managers leave; effects come out, which the caller
// performs. It uses no clock, cache or catalogue; of a cached frame it reads only whether the frame was requested.
//
//     waiting -> preparing -> ready                    its key is pinned from `preparing` on, until the entry leaves
//        ^           +------> left out: needs the original, no room, or it can't be made
//        |           |              |
//        |           +------> awaiting its original, which is in the cloud -> downloading it, once
//        +--------------------------+----------------------------------------------+
//
// An entry is wanted because it was started, because the window contains it, or both; it leaves when neither is true.
// CachingState+Window decides what the window wants, CachingState+Preparations follows the entries over time.
// CachingManagerRegistry sends the events and performs the effects.

import ImageCodec
import PhotoModel

package struct CachingState {
  /// The values that PhotoKit matches by: the same asset, size, mode and options.
  struct EntryKey: Hashable {
    let asset: LocalIdentifier
    let options: PreheatOptions
  }

  /// Identifies a preparation of this state. Never reused.
  package struct PreparationID: Sendable, Hashable {
    let number: UInt64
  }

  /// Identifies a download of this state. Never reused.
  package struct DownloadID: Sendable, Hashable {
    let number: UInt64
  }

  /// Something to do after an event, in order and before the next event.
  package enum Effect: Sendable, Hashable {
    case pin(RenditionKey)
    case unpin(RenditionKey)
    /// Prepare a frame, then report its outcome with ``preparationEnded(_:_:isPinned:)``.
    indirect case prepare(PreparationID, ResolvedRequest, withoutOriginal: Bool)
    /// Cancel a preparation. If that stops a render, report it with ``renderStopped(_:)``.
    case cancel(PreparationID, PreheatWindow.Side?)
    /// Download an original, then report with ``downloadEnded(_:isLocal:)``.
    indirect case download(DownloadID, OriginalFile)
    case cancelDownload(DownloadID)
    /// The original of a download that has ended is no longer needed here.
    case endHold(DownloadID)
    /// Report with ``frameLeft(_:wasSeen:)`` whether a frame is in memory. It was not prepared, so a client must have
    /// requested it.
    case checkMemory(RenditionKey, PreheatWindow.Side)
  }

  /// Numbers since the manager was made.
  package struct Counts: Sendable, Hashable {
    /// Frames that the manager brought into memory.
    package internal(set) var prepared = 0
    /// Of the prepared frames, `used` were requested while the manager kept them; `wasted` were released without a
    /// request.
    package internal(set) var used = 0
    package internal(set) var wasted = 0
    /// Renders that were stopped because the frame was no longer wanted. Not included in `prepared`.
    package internal(set) var cancelled = 0

    /// Used frames divided by used and wasted frames; `nil` if there are neither.
    package var hitRate: Double? { used + wasted == 0 ? nil : Double(used) / Double(used + wasted) }
  }

  /// Ranks: visible positions, then started entries, then the margin.
  static let startedRank = 1 << 32
  static let marginRank = 1 << 48

  /// Whether frames may be made from originals.
  package private(set) var allowsHighQuality: Bool
  /// Maximum number of entries, if other managers leave the room.
  let maximumAssets: Int
  let parameters: PreheatWindow.Parameters
  package internal(set) var counts = Counts()
  var entries: [EntryKey: Entry] = [:]
  var window: Window?
  /// The entries that are being prepared.
  var preparing: [PreparationID: EntryKey] = [:]
  /// The entries whose originals are being downloaded.
  var downloading: [DownloadID: EntryKey] = [:]
  /// All entries that await their originals; some may no longer do so.
  var awaitingOriginals: Set<EntryKey> = []
  var lastDownload: UInt64 = 0
  var lastPreparation: UInt64 = 0
  /// Waiting entries in reverse order: the last element is next. Some may no longer be waiting.
  var waitingOrder: [EntryKey] = []
  var needsSort = false
  var startedCount = 0
  /// The entries that the latest plan only keeps, the farthest last. Some may have left the window or were started
  /// since.
  var keptOrder: [EntryKey] = []
  /// Some entries were left out for lack of room.
  var hasEntriesWithoutRoom = false
  var effects: [Effect] = []
  private var nextStarted = 0

  /// - Parameter maximumAssets: maximum number of entries: an asset counts once for each size.
  package init(allowsHighQuality: Bool = true, maximumAssets: Int, parameters: PreheatWindow.Parameters = .init()) {
    self.allowsHighQuality = allowsHighQuality
    self.maximumAssets = maximumAssets
    self.parameters = parameters
  }

  package var entryCount: Int { entries.count }

  /// The effects of the events since the last call.
  package mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  // MARK: Started entries

  /// Starts keeping an asset's frame ready. Returns false if the limit of entries is reached.
  ///
  /// - Parameters:
  ///   - allowsNetwork: an original in the cloud may be downloaded for it.
  ///   - maximumEntries: how many entries other managers leave room for.
  package mutating func start(
    _ asset: Asset, _ options: PreheatOptions, allowsNetwork: Bool = false, maximumEntries: Int
  ) -> Bool {
    let entryKey = EntryKey(asset: asset.localIdentifier, options: options)
    guard entries[entryKey] != nil || add(entryKey, asset, nil, maximumEntries: maximumEntries) else { return false }
    if entries[entryKey]?.isStarted == false { startedCount += 1 }
    let rank = Self.startedRank + nextStarted
    if entries[entryKey]?.isInWindow == false { nextStarted += 1 }
    let isReducedQuality = !allowsHighQuality
    updateEntry(entryKey) { entry in
      entry.isStarted = true
      entry.isReducedQuality = isReducedQuality
      entry.allowsNetwork = entry.allowsNetwork || allowsNetwork
      if !entry.isInWindow { entry.rank = rank }
      if case .leftOut = entry.state {
        entry.state = .waiting
        entry.hasDownloaded = false
      }
    }
    needsSort = true
    return true
  }

  /// Allows or forbids frames that are made from originals. Ready frames stay, and preparations in progress continue.
  /// The window must be planned again.
  mutating func setAllowsHighQuality(_ allowsHighQuality: Bool) {
    guard allowsHighQuality != self.allowsHighQuality else { return }
    self.allowsHighQuality = allowsHighQuality
    for (entryKey, entry) in entries where entry.isStarted {
      updateEntry(entryKey) { entry in
        entry.isReducedQuality = !allowsHighQuality
        if allowsHighQuality, case .leftOut(.needsOriginal) = entry.state { entry.state = .waiting }
      }
    }
    needsSort = true
  }

  /// Returns false if the asset was not started with these options.
  package mutating func stop(_ identifier: LocalIdentifier, _ options: PreheatOptions) -> Bool {
    let entryKey = EntryKey(asset: identifier, options: options)
    guard entries[entryKey]?.isStarted == true else { return false }
    startedCount -= 1
    updateEntry(entryKey) { $0.isStarted = false }
    removeIfUnwanted(entryKey)
    return true
  }

  /// Stops all entries, and ends the window.
  package mutating func stopAll() {
    for entryKey in entries.keys { remove(entryKey) }
    startedCount = 0
    window = nil
    keptOrder = []
    waitingOrder = []
    awaitingOriginals = []
  }

  // MARK: Entries

  /// Applies changed assets. An entry whose picture changed is prepared again; an entry whose asset is gone, or is no
  /// longer a picture, leaves.
  package mutating func assetsChanged(to assets: [LocalIdentifier: Asset?]) {
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

  /// If the limit of entries is reached, the entry takes the place of one that the window only keeps. Returns false if
  /// there is none.
  mutating func add(
    _ entryKey: EntryKey, _ asset: Asset, _ side: PreheatWindow.Side?, maximumEntries: Int
  ) -> Bool {
    guard entries.count < min(maximumAssets, maximumEntries) || releaseFarthestKept() else { return false }
    entries[entryKey] = Entry(wanted: entryKey.options.resolved(for: asset), side: side)
    return true
  }

  mutating func assetUpdated(_ entryKey: EntryKey, _ asset: Asset) {
    // An unchanged asset, which is the usual case, needs no new key.
    guard let entry = entries[entryKey], entry.wanted.asset != asset.withoutDescription else {
      return
    }
    let wanted = entryKey.options.resolved(for: asset)
    guard wanted.key != entry.key else { return updateEntry(entryKey) { $0.wanted = wanted } }
    // Requests up to now count as uses of the entry.
    recordUse(entryKey)
    release(entries[entryKey] ?? entry, leavingOn: nil)
    updateEntry(entryKey) { entry in
      entry.wanted = wanted
      entry.state = entry.isOnlyKept && !entry.isStarted ? .leftOut(.needsOriginal) : .waiting
      entry.isUsed = false
      entry.hasDownloaded = false
      entry.held = nil
    }
  }

  mutating func removeIfUnwanted(_ entryKey: EntryKey) {
    guard let entry = entries[entryKey], !entry.isStarted, !entry.isInWindow else { return }
    remove(entryKey)
  }

  private mutating func remove(_ entryKey: EntryKey) {
    recordUse(entryKey)
    guard let entry = entries.removeValue(forKey: entryKey) else { return }
    // Frames that were not prepared in time count too, so that a slow machine learns as fast as a quick one.
    release(entry, leavingOn: entry.side)
  }

  /// Releases an entry's frame, or cancels its preparation.
  ///
  /// - Parameter side: where the frame leaves the window; `nil` if the window learns nothing from it.
  private mutating func release(_ entry: Entry, leavingOn side: PreheatWindow.Side?) {
    if let held = entry.held { effects.append(.endHold(held)) }
    switch entry.state {
    case .waiting, .awaitingOriginal, .leftOut(.needsOriginal):
      if let side { effects.append(.checkMemory(entry.key, side)) }
    case .leftOut: break
    case .downloading(let id):
      downloading[id] = nil
      effects.append(.cancelDownload(id))
      if let side { effects.append(.checkMemory(entry.key, side)) }
    case .preparing(let id):
      preparing[id] = nil
      effects += [.unpin(entry.key), .cancel(id, side)]
    case .ready(_, let wasPrepared):
      effects.append(.unpin(entry.key))
      guard wasPrepared else { return }
      if !entry.isUsed { counts.wasted += 1 }
      if let side { frameLeft(side, wasSeen: entry.isUsed) }
    }
  }

  mutating func updateEntry(_ entryKey: EntryKey, _ body: (inout Entry) -> Void) {
    guard let place = entries.index(forKey: entryKey) else { return }
    body(&entries.values[place])
  }
}

extension Asset {
  /// Whether the asset can have frames.
  var canBePrepared: Bool { (mediaType == .image || mediaType == .video) && hasDecoder }
}
