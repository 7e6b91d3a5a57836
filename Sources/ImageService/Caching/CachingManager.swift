// PHCachingImageManager: what one client wants to have ready before it asks, and how far that is.
//
//     waiting -> preparing -> ready                    its key is pinned from `preparing` on, and until it leaves
//        ^           +------> left out: not nearly free, no room, or it can't be made
//        +--------------------------+
//
// An entry is wanted because it was started, because the window holds it, or both; it leaves when neither is so any
// more. It belongs to CachingManagers, which touches it on its own queue alone.

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
  private static let startedRank = 1 << 32
  private static let marginRank = 1 << 48

  /// Never given out twice.
  let number: UInt64
  let id: String
  let lease: Duration
  let allowsHighQuality: Bool
  /// As it was when it asked last.
  var owner: Principal
  var end: ContinuousClock.Instant
  private(set) var entries: [Name: Entry] = [:]
  var window: Window?
  /// When the next timer of the window falls due.
  var timedFor: ContinuousClock.Instant?
  /// Its assets are being looked up anew.
  var isRefreshing = false
  /// Its assets may be others by now.
  var isStale = false
  private(set) var prepared = 0
  private(set) var used = 0
  private(set) var wasted = 0
  private(set) var givenUp = 0
  /// Those that wait, the first of them last; some may wait no more.
  private var line: [Name] = []
  private var isLineOld = false
  private var nextStarted = 0
  private var startedCount = 0
  /// Some were left out for want of room.
  private var hasLeftOut = false
  private let tools: Tools

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
    window?.source.end()
    window = nil
    line = []
  }

  func endWindow() {
    window?.source.end()
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

  /// The positions of the window's list that are looked up, as far as they matter still, and those that are to be.
  func positionsInSight(at now: ContinuousClock.Instant) -> [Int] {
    guard let window else { return [] }
    let plan = window.arithmetic.plan(at: now)
    return plan.kept.filter { window.assets[$0] != nil || plan.range.contains($0) }
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

  /// False: there are as many as there may be.
  private func add(_ name: Name, _ asset: Asset, _ side: PreheatWindow.Side?) -> Bool {
    guard entries.count < tools.mostAssets, tools.tally.entries < tools.mostInAll else { return false }
    tools.tally.entries += 1
    entries[name] = Entry(
      asset: asset, key: RenditionKey(asset, name.options.request(for: asset)), side: side)
    return true
  }

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

  private func update(_ name: Name, _ asset: Asset) {
    guard let entry = entries[name] else { return }
    let key = RenditionKey(asset, name.options.request(for: asset))
    guard key != entry.key else { return change(name) { $0.asset = asset } }
    release(entry)
    change(name) { entry in
      entry.asset = asset
      entry.key = key
      entry.stage = .waiting
      entry.isUsed = false
    }
  }

  // MARK: What becomes of it

  /// What was left out for want of room is tried again, as far as there is some: how much of it is then left.
  func tryAgain(_ room: Int) -> Int {
    guard hasLeftOut else { return room }
    hasLeftOut = false
    var room = room
    let leftOut = entries.compactMap { name, entry -> (name: Name, rank: Int, bytes: Int)? in
      if case .leftOut(.noRoom(let bytes)) = entry.stage { (name, entry.rank, bytes) } else { nil }
    }
    for (name, _, bytes) in leftOut.sorted(by: { $0.rank < $1.rank }) {
      guard bytes <= room else {
        hasLeftOut = true
        continue
      }
      room -= bytes
      change(name) { $0.stage = .waiting }
      isLineOld = true
    }
    return room
  }

  /// The next one in line, which is then being prepared and pinned.
  func beginNext(
    _ begin: (Asset, ImageRequest, _ onlyIfNearlyFree: Bool, Name) -> Preparation
  ) -> Bool {
    if isLineOld { sortLine() }
    while let name = line.popLast() {
      guard let entry = entries[name], case .waiting = entry.stage else { continue }
      tools.cache.pin(entry.key)
      let preparation = begin(entry.asset, name.options.request(for: entry.asset), entry.isReduced, name)
      change(name) { $0.stage = .preparing(preparation) }
      return true
    }
    return false
  }

  private func sortLine() {
    isLineOld = false
    let waiting = entries.compactMap { name, entry -> (Name, Int)? in
      if case .waiting = entry.stage { (name, entry.rank) } else { nil }
    }
    line = waiting.sorted { $0.1 > $1.1 }.map(\.0)
  }

  /// A preparation is over.
  func ended(_ name: Name, _ preparation: Preparation, _ outcome: Preparation.Outcome) {
    guard let entry = entries[name], case .preparing(let current) = entry.stage, current === preparation else { return }
    func leftOut(_ reason: Stage.Reason) {
      tools.cache.unpin(entry.key)
      change(name) { $0.stage = .leftOut(reason) }
      if case .noRoom = reason { hasLeftOut = true }
    }
    switch outcome {
    case .found(let frame), .made(let frame):
      guard tools.cache.pinnedBytes(entry.key) != nil else { return leftOut(.noRoom(frame.cost)) }
      var wasMade = false
      if case .made = outcome { wasMade = true }
      if wasMade {
        prepared += 1
        tools.metrics.prepared()
      }
      change(name) { $0.stage = .ready(frame, wasMade: wasMade) }
    case .notFree:
      leftOut(.notFree)
      // It may be wanted in full by now.
      if let entry = entries[name], !entry.isReduced {
        change(name) { $0.stage = .waiting }
        isLineOld = true
      }
    case .noRoom(let bytes): leftOut(.noRoom(bytes))
    // Tried again at the next occasion.
    case .failed(.queueFull): leftOut(.noRoom(0))
    case .failed, .notKept: leftOut(.failed)
    }
  }

  /// Notes which frames were asked for.
  func sweep() { for name in entries.keys { sweep(name) } }

  private func sweep(_ name: Name) {
    guard let entry = entries[name], !entry.isUsed, case .ready(let frame, true) = entry.stage, frame.isUsed else {
      return
    }
    change(name) { $0.isUsed = true }
    used += 1
    tools.metrics.used()
  }

  private func leaveIfUnwanted(_ name: Name) {
    guard let entry = entries[name], !entry.isStarted, !entry.isInWindow else { return }
    leave(name)
  }

  private func leave(_ name: Name) {
    sweep(name)
    guard let entry = entries.removeValue(forKey: name) else { return }
    tools.tally.entries -= 1
    release(entry)
  }

  /// Lets go of an entry's frame, or of the work on it.
  private func release(_ entry: Entry) {
    switch entry.stage {
    case .waiting, .leftOut: return
    case .preparing(let preparation):
      if tools.images.giveUp(preparation) {
        givenUp += 1
        tools.metrics.gaveUp()
      }
    case .ready(_, let wasMade):
      guard wasMade else { break }
      if !entry.isUsed {
        wasted += 1
        tools.metrics.wasted()
      }
      if let side = entry.side { window?.arithmetic.left(side, wasSeen: entry.isUsed) }
    }
    tools.cache.unpin(entry.key)
  }

  private func change(_ name: Name, _ body: (inout Entry) -> Void) {
    guard let place = entries.index(forKey: name) else { return }
    body(&entries.values[place])
  }
}

extension Asset {
  /// Whether there can be frames of it.
  fileprivate var hasPreparedPictures: Bool { mediaType == .image && hasDecoder }
}
