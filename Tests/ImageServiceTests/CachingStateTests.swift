import ImageService
import PhotoModel
import Telemetry
import Testing

/// The state machine of a caching manager alone: events in, effects out. No queue, no decode and no clock is involved.
@Suite("Caching state")
struct CachingStateTests {
  private static let options = CachingFixture.options

  private static func asset(_ index: Int, version: Int = 1) -> Asset { CachingFixture.asset(index, version: version) }

  private static func wanted(_ asset: Asset) -> ResolvedRequest {
    ResolvedRequest(options.request(for: asset), for: asset)
  }

  private static func frame(_ asset: Asset) throws -> CachedFrame {
    let frame = ImageFrame(
      bytes: [1, 2, 3], format: .jpeg,
      result: ImageResult(requestID: "", isDegraded: false, size: PixelSize(width: 12, height: 12), source: .original),
      timings: StageTimings(), derivation: .original)
    return try #require(FrameCache(capacityBytes: 1 << 24).store(frame, for: wanted(asset).key))
  }

  /// A state that keeps one started entry, which is being prepared.
  private static func preparing(
    _ asset: Asset
  ) throws -> (state: CachingState, id: CachingState.PreparationID) {
    var state = CachingState(maximumAssets: 10)
    let isStarted = state.start(asset, options, maximumEntries: 10)
    try #require(isStarted)
    let next = state.begin()
    let begun = try #require(next)
    return (state, begun.id)
  }

  @Test("an entry is pinned from the start of its preparation until it is stopped")
  func pins() throws {
    let asset = Self.asset(0)
    var state = CachingState(maximumAssets: 10)
    let isStarted = state.start(asset, Self.options, maximumEntries: 10)
    let hasBegun = state.startNext()
    let effects = state.takeEffects()
    #expect(isStarted && hasBegun && effects.count == 2 && effects.first == .pin(Self.wanted(asset).key))
    guard case .prepare(let id, let wanted, withoutOriginal: false)? = effects.last else {
      Issue.record("no preparation: \(effects)")
      return
    }
    #expect(wanted == Self.wanted(asset))
    state.preparationEnded(id, .prepared(try Self.frame(asset)), isPinned: true)
    #expect(state.counts.prepared == 1 && state.pendingCount == 0)
    let isStopped = state.stop(asset.localIdentifier, Self.options)
    let released = state.takeEffects()
    #expect(isStopped && released == [.unpin(wanted.key)])
    #expect(state.entryCount == 0 && state.counts.wasted == 1 && state.counts.used == 0)
  }

  @Test("a frame that was requested counts as used once, and not as wasted")
  func uses() throws {
    let asset = Self.asset(0)
    let (preparing, id) = try Self.preparing(asset)
    var state = preparing
    let frame = try Self.frame(asset)
    state.preparationEnded(id, .prepared(frame), isPinned: true)
    frame.markUsed()
    state.recordUses()
    state.recordUses()
    state.stopAll()
    #expect(state.counts.used == 1 && state.counts.wasted == 0)
  }

  @Test("stopping an entry cancels its preparation, and the preparation's end is then ignored")
  func cancelling() throws {
    let asset = Self.asset(0)
    let (preparing, id) = try Self.preparing(asset)
    var state = preparing
    state.stopAll()
    let effects = state.takeEffects()
    #expect(effects == [.unpin(Self.wanted(asset).key), .cancel(id, nil)])
    state.renderStopped(nil)
    state.preparationEnded(id, .prepared(try Self.frame(asset)), isPinned: true)
    let later = state.takeEffects()
    #expect(later.isEmpty && state.entryCount == 0 && state.counts.cancelled == 1 && state.counts.prepared == 0)
  }

  @Test("an entry without room is unpinned, and prepared again when its bytes are free")
  func room() throws {
    let (preparing, id) = try Self.preparing(Self.asset(0))
    var state = preparing
    state.preparationEnded(id, .noRoom(1000), isPinned: false)
    let effects = state.takeEffects()
    #expect(effects == [.unpin(Self.wanted(Self.asset(0)).key)])
    let left = state.retryLeftOut(999)
    #expect(left == 999 && state.pendingCount == 0)
    let leftAfterRetry = state.retryLeftOut(1500)
    #expect(leftAfterRetry == 500 && state.pendingCount == 1)
  }

  @Test("entries are limited by the manager's own limit and by the room that other managers leave")
  func limits() {
    var state = CachingState(maximumAssets: 2)
    let results = [(0, 1), (1, 1), (1, 10), (2, 10), (0, 0)].map { index, maximumEntries in
      state.start(Self.asset(index), Self.options, maximumEntries: maximumEntries)
    }
    // The last one is started already.
    #expect(results == [true, false, true, false, true])
  }

  @Test("a changed picture is released and prepared again; a deleted asset leaves")
  func changes() throws {
    let (old, new) = (Self.asset(0), Self.asset(0, version: 2))
    let (preparing, id) = try Self.preparing(old)
    var state = preparing
    state.preparationEnded(id, .prepared(try Self.frame(old)), isPinned: true)
    state.assetsChanged(to: [old.localIdentifier: new])
    let released = state.takeEffects()
    #expect(released == [.unpin(Self.wanted(old).key)])
    let next = state.begin()
    #expect(next?.key == Self.wanted(new).key)
    state.assetsChanged(to: [old.localIdentifier: nil])
    #expect(state.entryCount == 0)
  }

  @Test("a window prepares visible positions first; what leaves it is cancelled or checked for use")
  func window() throws {
    let now = ContinuousClock.now
    let list = CachingFixture.AssetList()
    var state = CachingState(maximumAssets: 100)
    func moved(to visible: Range<Int>, at now: ContinuousClock.Instant) {
      let missing = state.windowMoved(to: visible, margin: 2, Self.options, over: list, at: now)
      let isCurrent = state.assetsLookedUp(list.assets(at: missing), at: missing, of: list)
      #expect(isCurrent)
      state.plan(at: now, maximumEntries: 100)
    }
    func keys(_ positions: [Int]) -> Set<RenditionKey> { Set(positions.map { Self.wanted(Self.asset($0)).key }) }

    // A movement towards the beginning, and a rest.
    moved(to: 90..<92, at: now - .seconds(2))
    moved(to: 10..<12, at: now - .seconds(1))
    moved(to: 10..<12, at: now)
    _ = state.takeEffects()
    #expect(state.entryCount == 6)
    let begun = [state.begin(), state.begin(), state.begin()].compactMap { $0 }
    try #require(begun.count == 3)
    let (visible, margin) = (begun[..<2], begun[2])
    #expect(Set(visible.map { $0.key }) == keys([10, 11]))
    let (ahead, behind) = (keys([8, 9]), keys([12, 13]))
    #expect(ahead.contains(margin.key))

    moved(to: 50..<52, at: now + .seconds(10))
    var cancelled: [CachingState.PreparationID: PreheatWindow.Side?] = [:]
    var checked: [RenditionKey: PreheatWindow.Side] = [:]
    for effect in state.takeEffects() {
      switch effect {
      case .cancel(let id, let side): cancelled[id] = .some(side)
      case .checkMemory(let key, let side): checked[key] = side
      case .unpin: break
      case .pin, .prepare, .download, .cancelDownload, .endHold: Issue.record("unexpected: \(effect)")
      }
    }
    // Visible frames teach the window nothing about its margin.
    let expected: [CachingState.PreparationID: PreheatWindow.Side?] = [
      visible[0].id: nil, visible[1].id: nil, margin.id: .ahead,
    ]
    #expect(cancelled == expected)
    let unprepared = ahead.union(behind).subtracting([margin.key])
    #expect(Set(checked.keys) == unprepared)
    #expect(checked.allSatisfy { $0.value == (ahead.contains($0.key) ? .ahead : .behind) })
  }

  @Test("a change of the pictures' size is no movement, wherever the range begins then")
  func resized() {
    let now = ContinuousClock.now
    let list = CachingFixture.AssetList()
    var state = CachingState(maximumAssets: 100)
    func move(to visible: Range<Int>, side: Int, at now: ContinuousClock.Instant) {
      let request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)))
      let options = PreheatOptions(request, format: nil)
      let missing = state.windowMoved(to: visible, margin: 2, options, over: list, at: now)
      let isCurrent = state.assetsLookedUp(list.assets(at: missing), at: missing, of: list)
      #expect(isCurrent)
      state.plan(at: now, maximumEntries: 100)
    }
    move(to: 80..<84, side: 12, at: now)
    move(to: 40..<56, side: 6, at: now + .milliseconds(50))
    let resized = state.windowStatus
    #expect(resized?.quality == .high && resized?.pending == 20)
    move(to: 80..<96, side: 6, at: now + .milliseconds(100))
    let jumped = state.windowStatus
    #expect(jumped?.quality == .reduced)
  }
}

extension CachingState {
  fileprivate typealias Begun = (id: PreparationID, key: RenditionKey)

  /// Starts the next preparation, if an entry waits.
  fileprivate mutating func begin() -> Begun? {
    _ = startNext()
    return takeEffects().lazy.compactMap { effect -> Begun? in
      guard case .prepare(let id, let wanted, _) = effect else { return nil }
      return (id, wanted.key)
    }.first
  }
}
