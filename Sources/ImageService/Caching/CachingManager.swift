// PHCachingImageManager: what one client wants to have ready before it asks, and how far that is.
//
//     waiting -> preparing -> ready                    its key is pinned from `preparing` on, and until it leaves
//        ^           +------> left out: not nearly free, no room, or it can't be made
//        +--------------------------+
//
// An entry is wanted because it was started, because the window holds it, or both; it leaves when neither is so any
// more. It belongs to CachingManagers, which touches it on its own queue alone. What a window wants is in +Window, what
// becomes of entries in +Work.

import ImageCodec
import PhotoModel
import Telemetry

final class CachingManager {
  /// What PhotoKit matches by: the same asset, size, mode and options.
  struct Name: Hashable {
    let asset: LocalIdentifier
    let options: PreheatOptions
  }

  enum Stage {
    case waiting
    case preparing(Preparation)
    case ready(CachedFrame, wasMade: Bool)
    case leftOut(Reason)

    enum Reason: Equatable {
      case notFree, failed
      /// For so many bytes.
      case noRoom(Int)
    }
  }

  struct Entry {
    var asset: Asset
    var key: RenditionKey
    var stage = Stage.waiting
    var isStarted = false
    var isInWindow = false
    /// Its place in line: the lowest first.
    var rank = 0
    /// Where beyond what was visible it was first wanted.
    var side: PreheatWindow.Side?
    /// Only what is nearly free is done for it.
    var isReduced = false
    var isUsed = false
  }

  struct Window {
    var source: any PreheatSource
    var options: PreheatOptions
    var arithmetic: PreheatWindow
    /// What is at the positions that were looked up, `nil` where nothing is to be shown.
    var assets: [Int: Asset?] = [:]
    /// As it was planned last.
    var plan: PreheatWindow.Plan?
  }

  /// Ranks: what is visible, then what was started, then the margin.
  static let startedRank = 1 << 32
  static let marginRank = 1 << 48

  /// Never given out twice.
  let number: UInt64
  let id: String
  let lease: Duration
  let allowsHighQuality: Bool
  /// As it was when it asked last.
  var owner: Principal
  var end: ContinuousClock.Instant
  var entries: [Name: Entry] = [:]
  var window: Window?
  /// When the next timer of the window falls due.
  var timedFor: ContinuousClock.Instant?
  /// The state of the library that its assets were known to be of; `nil`: they are to be looked up, whatever the history
  /// says.
  var knownAt: String?
  /// Its assets are being looked up anew.
  var isRefreshing = false
  /// Its assets may be others by now.
  var isStale = false
  var prepared = 0
  var used = 0
  var wasted = 0
  var givenUp = 0
  /// Those that wait, the first of them last; some may wait no more.
  var line: [Name] = []
  var isLineOld = false
  var startedCount = 0
  /// Some were left out for want of room.
  var hasLeftOut = false
  let tools: Tools
  private var nextStarted = 0

  /// What entries are made ready with.
  struct Tools {
    let images: ImageManager
    let cache: FrameCache
    let metrics: CachingMetrics
    let mostAssets: Int
    let mostInAll: Int
    let tally = Tally()
  }

  /// How many entries all managers have together.
  final class Tally { var entries = 0 }

  init(
    number: UInt64, id: String, owner: Principal, lease: Duration, allowsHighQuality: Bool,
    end: ContinuousClock.Instant, tools: Tools
  ) {
    self.number = number
    self.id = id
    self.owner = owner
    self.lease = lease
    self.allowsHighQuality = allowsHighQuality
    self.end = end
    self.tools = tools
  }

  // MARK: What is wanted

  /// Begins to keep an asset's frame ready. False: it has as many as it may.
  func start(_ asset: Asset, _ options: PreheatOptions) -> Bool {
    let name = Name(asset: asset.localIdentifier, options: options)
    guard entries[name] != nil || add(name, asset, nil) else { return false }
    change(name) { entry in
      if !entry.isStarted { startedCount += 1 }
      entry.isStarted = true
      entry.isReduced = !allowsHighQuality
      if !entry.isInWindow {
        entry.rank = Self.startedRank + nextStarted
        nextStarted += 1
      }
      if case .leftOut = entry.stage { entry.stage = .waiting }
    }
    isLineOld = true
    return true
  }

  /// False: it was not started so.
  func stop(_ identifier: LocalIdentifier, _ options: PreheatOptions) -> Bool {
    let name = Name(asset: identifier, options: options)
    guard entries[name]?.isStarted == true else { return false }
    startedCount -= 1
    change(name) { $0.isStarted = false }
    leaveIfUnwanted(name)
    return true
  }

  func stopAll() {
    for name in entries.keys { leave(name) }
    startedCount = 0
    window = nil
    line = []
  }

  /// Its assets may be others than the library's by now, and the history does not say which: they were looked up while it
  /// changed.
  func mayBeBehind() {
    isStale = true
    knownAt = nil
  }

  // MARK: Entries

  /// The assets are these now; what is another picture is prepared anew, and what is none any more leaves.
  func assetsAre(_ assets: [LocalIdentifier: Asset?]) {
    for (name, entry) in entries {
      guard let asset = assets[name.asset] else { continue }
      if let asset, asset.hasPreparedPictures {
        update(name, asset)
      } else {
        if entry.isStarted { startedCount -= 1 }
        leave(name)
      }
    }
    isLineOld = true
  }

  /// False: there are as many as there may be.
  func add(_ name: Name, _ asset: Asset, _ side: PreheatWindow.Side?) -> Bool {
    guard entries.count < tools.mostAssets, tools.tally.entries < tools.mostInAll else { return false }
    tools.tally.entries += 1
    entries[name] = Entry(
      asset: asset, key: RenditionKey(asset, name.options.request(for: asset)), side: side)
    return true
  }

  func update(_ name: Name, _ asset: Asset) {
    guard let entry = entries[name] else { return }
    let key = RenditionKey(asset, name.options.request(for: asset))
    guard key != entry.key else { return change(name) { $0.asset = asset } }
    // What was asked for till now was used.
    sweep(name)
    release(entries[name] ?? entry)
    change(name) { entry in
      entry.asset = asset
      entry.key = key
      entry.stage = .waiting
      entry.isUsed = false
    }
  }

  func leaveIfUnwanted(_ name: Name) {
    guard let entry = entries[name], !entry.isStarted, !entry.isInWindow else { return }
    leave(name)
  }

  func leave(_ name: Name) {
    sweep(name)
    guard let entry = entries.removeValue(forKey: name) else { return }
    tools.tally.entries -= 1
    let wasSeen = release(entry)
    // Whether it was wanted is known also where there was no time for it, so that a slow machine learns as soon as a quick one.
    if let side = entry.side, let wasSeen { window?.arithmetic.left(side, wasSeen: wasSeen) }
  }

  /// Lets go of an entry's frame, or of the work on it.
  ///
  /// - Returns: whether anybody has asked for the frame; `nil` where that is not known.
  @discardableResult
  func release(_ entry: Entry) -> Bool? {
    switch entry.stage {
    // It was not prepared: if it is there, somebody asked for it.
    case .waiting, .leftOut(.notFree): return tools.images.isInMemory(entry.key)
    case .leftOut: return nil
    case .preparing(let preparation):
      tools.cache.unpin(entry.key)
      guard tools.images.giveUp(preparation) else { return nil }
      givenUp += 1
      tools.metrics.gaveUp()
      return false
    case .ready(_, let wasMade):
      tools.cache.unpin(entry.key)
      guard wasMade else { return nil }
      if !entry.isUsed {
        wasted += 1
        tools.metrics.wasted()
      }
      return entry.isUsed
    }
  }

  func change(_ name: Name, _ body: (inout Entry) -> Void) {
    guard let place = entries.index(forKey: name) else { return }
    body(&entries.values[place])
  }
}

extension Asset {
  /// Whether there can be frames of it.
  var hasPreparedPictures: Bool { mediaType == .image && hasDecoder }
}
