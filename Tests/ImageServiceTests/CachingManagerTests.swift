import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// What caching managers keep ready, for whom, and how long.
@Suite("Caching managers", .serialized)
struct CachingManagerTests {
  /// Larger than the part that is read for the header.
  static let photograph = JPEGFile { $0.quality = 98 }.encoded(Scene(seed: 5).pixels(width: 1200, height: 900))
  static let other = Principal(name: "other", scopes: [.read])

  /// Margins are never reduced.
  static let steady = {
    var limits = CachingLimits()
    limits.windowParameters.rememberedOutcomes = .infinity
    return limits
  }()

  // MARK: startCaching, stopCaching

  @Test("a started frame is a memory hit until it is stopped with the same size, mode and options")
  func started() async throws {
    let harness = CachingHarness()
    let started = try #require(try harness.start(0..<10))
    #expect(started.started == 10 && started.leftOut.isEmpty && started.missing.isEmpty)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(0..<10))
    #expect(await harness.ask(3) == .memory)
    #expect(await harness.ask(10) == .original)
    let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
    #expect(status.ready == 10 && status.pending == 0 && status.pinned == 10 && status.counts.prepared == 10)
    #expect(status.bytes == harness.images.cache.pinnedByteCount && status.bytes > 0)
    // Another size, another mode and other options are other entries.
    #expect(try harness.stop(0..<10, CachingHarness.options(13)) == 0)
    var cropped = ImageRequest(targetSize: .size(PixelSize(width: 12, height: 12)))
    cropped.contentMode = .aspectFill
    #expect(try harness.stop(0..<10, PreheatOptions(cropped, format: nil)) == 0)
    #expect(harness.pinned() == Set(0..<10))
    #expect(try harness.stop(0..<5) == 5)
    #expect(try harness.stop(0..<5) == 0)
    #expect(harness.pinned() == Set(5..<10))
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    #expect(harness.images.cache.pinCount == 0 && harness.images.cache.pinnedByteCount == 0)
  }

  @Test("several sizes of one asset are kept, each until it is stopped")
  func sizes() async throws {
    let harness = CachingHarness()
    for side in [8, 10, 12] { _ = try harness.start(0..<3, CachingHarness.options(side)) }
    try await harness.untilQuiet()
    for side in [8, 10, 12] { #expect(harness.pinned(CachingHarness.options(side)) == [0, 1, 2]) }
    #expect(try harness.stop([1], CachingHarness.options(10)) == 1)
    #expect(harness.pinned(CachingHarness.options(10)) == [0, 2])
    #expect(harness.pinned(CachingHarness.options(12)) == [0, 1, 2])
  }

  @Test("starting an entry twice counts once")
  func twice() async throws {
    let harness = CachingHarness()
    for _ in 0..<2 { _ = try harness.start(0..<3) }
    try await harness.untilQuiet()
    #expect(harness.images.cache.pinCount == 3)
    #expect(try harness.stop(0..<3) == 3)
    #expect(harness.images.cache.pinCount == 0)
  }

  @Test("a frame that two managers want stays until both release it")
  func shared() async throws {
    let harness = CachingHarness()
    let second = try harness.managers.make(for: CachingHarness.owner)
    _ = try harness.start(0..<4)
    _ = try harness.start(2..<6, id: second.id)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(0..<6))
    #expect(harness.managers.end(second.id, for: CachingHarness.owner))
    #expect(harness.pinned() == Set(0..<4))
  }

  // MARK: Room

  @Test("assets over the limit are left out and reported")
  func assetLimit() async throws {
    var limits = CachingLimits()
    limits.assets = 6
    let harness = CachingHarness(20, limits)
    let started = try #require(try harness.start(0..<10))
    #expect(started.started == 6 && started.leftOut == Array(harness.library.names[6..<10]))
    #expect(try harness.stop([0]) == 1)
    #expect(try harness.start([9])?.started == 1)
    try await harness.untilQuiet()
    #expect(harness.pinned() == [1, 2, 3, 4, 5, 9])
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    // A window gets the remaining room, nearest positions first.
    _ = try harness.start([0])
    let status = try harness.move(10..<12, margin: 4)
    try await harness.untilQuiet()
    #expect(status.range == 6..<16)
    #expect(harness.pinned() == [0, 10, 11, 12, 9, 13])
    #expect(harness.managers.all(of: CachingHarness.owner)[0].window?.leftOut == 5)
  }

  @Test("a window gets the room that started entries leave, visible positions first")
  func roomOfAWindow() async throws {
    var limits = Self.steady
    limits.assets = 6
    let harness = CachingHarness(60, limits)
    func move(_ visible: Range<Int>) async throws {
      try harness.move(visible, margin: 4)
      harness.advance(by: .seconds(5))
      try await harness.untilQuiet()
    }
    _ = try harness.start(0..<3)
    try await move(10..<12)
    #expect(harness.pinned().isSuperset(of: [0, 1, 2, 10, 11]) && harness.pinned().count == 6)
    try await move(13..<15)
    #expect(harness.pinned().isSuperset(of: [0, 1, 2, 13, 14]) && harness.pinned().count == 6)
    // A started entry whose asset was deleted takes no room.
    for index in 0..<3 { harness.library.delete(index) }
    harness.managers.libraryDidChange()
    harness.advance(by: .seconds(1))
    try await move(20..<22)
    #expect(harness.pinned().isSuperset(of: 19..<23) && harness.pinned().count == 6)
    // A stopped entry takes no room.
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    _ = try harness.start(30..<33)
    #expect(try harness.stop(30..<33) == 3)
    try await move(40..<42)
    #expect(harness.pinned().isSuperset(of: 39..<43) && harness.pinned().count == 6)
  }

  @Test(
    "frames that a window only keeps give their places to its range and to started ones, the farthest first",
    arguments: ["the limit of a manager", "the limit of all managers"])
  func keptFrames(_ limit: String) async throws {
    var limits = Self.steady
    if limit == "the limit of a manager" { limits.assets = 20 } else { limits.totalAssets = 20 }
    let harness = CachingHarness(100, limits)
    for first in [10, 18] {
      try harness.move(first..<first + 6, margin: 6)
      harness.advance(by: .seconds(5))
      try await harness.untilQuiet()
    }
    let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
    #expect(status.window?.range == 12..<30 && status.window?.ready == 18 && status.leftOut == 0)
    #expect(harness.pinned() == Set(10..<30))
    let started = try #require(try harness.start(60..<63))
    #expect(started.started == 2 && started.leftOut == [harness.library.names[62]])
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(12..<30).union([60, 61]))
  }

  @Test("the entries of all managers are limited; released room is available to other managers")
  func limitInAll() async throws {
    var limits = Self.steady
    limits.totalAssets = 6
    let harness = CachingHarness(60, limits)
    let second = try harness.managers.make(for: CachingHarness.owner)
    for round in 0..<3 {
      let first = round * 10
      #expect(try harness.start(first..<first + 4)?.started == 4)
      #expect(try harness.start(first..<first + 4, id: second.id)?.leftOut.count == 2)
      try await harness.untilQuiet()
      #expect(try harness.stop(first..<first + 2) == 2)
      #expect(try harness.start(first + 2..<first + 4, id: second.id)?.started == 2)
      try await harness.untilQuiet()
      #expect(harness.images.cache.pinCount == 6)
      for id in ["default", second.id] { _ = try harness.managers.stopAll(id: id, for: CachingHarness.owner) }
    }
  }

  @Test("frames over the pinned bytes are left out, and prepared when room is released")
  func bytes() async throws {
    let probe = CachingHarness(3)
    _ = try probe.start([0])
    try await probe.untilQuiet()
    let one = probe.images.cache.pinnedByteCount
    let harness = CachingHarness(30, pinnedBytes: 4 * one + one / 2)
    _ = try harness.start(0..<10)
    try await harness.untilQuiet()
    func counts() throws -> [Int] {
      let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
      return [status.ready, status.pending, status.leftOut]
    }
    #expect(harness.images.cache.pinnedByteCount <= harness.images.cache.pinnedCapacityBytes)
    let first = try counts()
    #expect(first[0] == 4 && first[0] + first[1] + first[2] == 10)
    _ = try harness.stop(0..<4)
    try await harness.untilQuiet()
    #expect(try counts()[0] == 4)
    #expect(harness.pinned().isSubset(of: Set(4..<10)) && harness.pinned().count == 4)
  }

  @Test("unknown and deleted assets are reported, and the others are started")
  func missing() async throws {
    let harness = CachingHarness(4)
    harness.library.delete(1)
    let started = try #require(
      try harness.managers.start(
        [harness.library.names[0], harness.library.names[1], LocalIdentifier("nobody")], CachingHarness.options(),
        id: "default", for: CachingHarness.owner))
    #expect(started.started == 1 && started.missing == [harness.library.names[1], LocalIdentifier("nobody")])
  }

  // MARK: Counts

  @Test("a requested frame counts as used, also from a prepared response; an unseen one as wasted")
  func outcomes() async throws {
    let harness = CachingHarness()
    _ = try harness.move(20..<30)
    try await harness.untilQuiet()
    for index in [20, 21, 22, 16] { #expect(await harness.ask(index) == .memory) }
    // As a prepared response does.
    let asset = try #require(harness.library[23])
    let key = ResolvedRequest(CachingHarness.options().request(for: asset), for: asset).key
    harness.images.cache.frame(for: key)?.markUsed()
    let during = try #require(try harness.managers.status("default", for: CachingHarness.owner)).counts
    #expect([during.prepared, during.used, during.wasted] == [20, 5, 0] && during.hitRate == 1)
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    let after = try #require(try harness.managers.status("default", for: CachingHarness.owner)).counts
    #expect([after.prepared, after.used, after.wasted] == [20, 5, 15] && after.hitRate == 0.25)
    let exposition = String(decoding: harness.images.metrics.exposition(), as: UTF8.self)
    for line in [
      "photod_preheat_prepared_total 20", "photod_preheat_used_total 5", "photod_preheat_wasted_total 15",
    ] { #expect(exposition.contains(line), "\(line)") }
  }

  @Test("a changed picture is prepared and counted again")
  func usedTwice() async throws {
    let harness = CachingHarness()
    _ = try harness.start([0, 1])
    try await harness.untilQuiet()
    #expect(await harness.ask(0) == .memory)
    for index in [0, 1] { harness.library.edit(index) }
    harness.managers.libraryDidChange()
    harness.advance(by: .milliseconds(500))
    try await harness.untilQuiet()
    #expect(await harness.ask(0) == .memory)
    let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
    #expect([status.counts.prepared, status.counts.used, status.counts.wasted] == [4, 2, 1])
  }

  @Test("a frame that was already in memory is pinned but not counted as prepared")
  func found() async throws {
    let harness = CachingHarness(10, CachingLimits()) { $0.cacheBytes = 8 << 20 }
    #expect(await harness.ask(0) == .original)
    _ = try harness.start(0..<2)
    try await harness.untilQuiet()
    let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
    #expect(status.ready == 2 && status.counts.prepared == 1)
  }

  @Test("a request joins the running preparation of its frame and counts as a use")
  func joined() async throws {
    let harness = CachingHarness()
    harness.images.blockRenderLane()
    _ = try harness.start([0])
    try await harness.images.untilQueued(1)
    #expect(harness.images.renderLane.waitingCounts == (0, 1))
    let asset = try #require(harness.library[0])
    let log = EventLog()
    _ = harness.images.request(asset, CachingHarness.options().request(for: asset)) { delivery in
      if case .final(let frame) = delivery { log.append(frame.result.source.rawValue) }
    }
    // The job now has the request's priority.
    #expect(harness.images.renderLane.waitingCounts == (1, 0))
    harness.images.unblockRenderLane()
    #expect(await log.lines(1) == ["original"])
    try await harness.untilQuiet()
    #expect(harness.images.originals.opened == 1)
    let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
    #expect([status.counts.prepared, status.counts.used] == [1, 1])
  }

  @Test("stopping an entry cancels its preparation unless a request waits for it")
  func givenUp() async throws {
    let harness = CachingHarness()
    harness.images.blockRenderLane()
    _ = try harness.start([0, 1])
    try await harness.images.untilQueued(2)
    let asset = try #require(harness.library[1])
    let log = EventLog()
    _ = harness.images.request(asset, CachingHarness.options().request(for: asset)) { delivery in
      if case .final = delivery { log.append("final") }
    }
    #expect(try harness.stop([0, 1]) == 2)
    #expect(harness.images.cache.pinCount == 0)
    // Neither render had begun.
    #expect(try harness.managers.status("default", for: CachingHarness.owner)?.counts.cancelled == 0)
    harness.images.unblockRenderLane()
    #expect(await log.lines(1) == ["final"])
    try await harness.images.untilIdle()
    #expect(harness.images.cache.pinCount == 0 && harness.images.cache.pinnedByteCount == 0)
    #expect(harness.images.budget.bytesInUse == 0)
  }

  @Test("only a render that was stopped midway counts as cancelled")
  func stoppedHalfway() async throws {
    let harness = CachingHarness()
    func counts() throws -> [Int] {
      let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
      return [status.counts.prepared, status.counts.wasted, status.counts.cancelled]
    }
    /// Waits until a render reads its original.
    func begin(_ index: Int) async throws {
      harness.library.restore(index, from: harness.images.originals.add(Self.photograph, named: "p\(index)"))
      harness.images.blockRenderLane()
      _ = try harness.start([index])
      try await harness.images.untilQueued(1)
      harness.images.originals.blockReaders()
      harness.images.unblockRenderLane()
      await harness.images.originals.waitUntilReaderBlocks()
    }
    try await begin(0)
    #expect(try harness.stop([0]) == 1)
    #expect(try counts() == [0, 0, 1])
    harness.images.originals.resumeReaders()
    try await harness.images.untilIdle()
    try await begin(1)
    let asset = try #require(harness.library[1])
    let log = EventLog()
    _ = harness.images.request(asset, CachingHarness.options().request(for: asset)) { delivery in
      if case .final = delivery { log.append("final") }
    }
    #expect(try harness.stop([1]) == 1)
    harness.images.originals.resumeReaders()
    #expect(await log.lines(1) == ["final"])
    #expect(try counts() == [0, 0, 1])
    let exposition = String(decoding: harness.images.metrics.exposition(), as: UTF8.self)
    #expect(exposition.contains("photod_preheat_cancelled_total 1"))
  }

  @Test("preparations are not listed as requests and have no deadline")
  func unlisted() async throws {
    let harness = CachingHarness()
    harness.images.blockRenderLane()
    _ = try harness.start([0])
    try await harness.images.untilQueued(1)
    #expect(harness.images.manager.activeRequests(owner: nil).isEmpty)
    harness.advance(by: .seconds(200))
    harness.images.manager.expire()
    harness.images.unblockRenderLane()
    try await harness.untilQuiet()
    #expect(harness.pinned() == [0])
  }
}
