import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// What caching managers keep ready, for whom, and for how long.
@Suite("Caching managers", .serialized)
struct CachingManagerTests {
  /// Larger than what is read of a file to know what it is.
  static let photograph = JPEGFile { $0.quality = 98 }.encoded(Scene(seed: 5).pixels(width: 1200, height: 900))
  static let other = Principal(name: "other", scopes: [.read])

  /// Margins stay what was asked for.
  static let steady = {
    var limits = CachingLimits()
    limits.rules.outcomes = .infinity
    return limits
  }()

  // MARK: startCaching, stopCaching

  @Test("what was started is a memory hit, until it is stopped with the same size, mode and options")
  func started() async throws {
    let studio = CachingStudio()
    let started = try #require(try studio.start(0..<10))
    #expect(started.started == 10 && started.leftOut.isEmpty && started.missing.isEmpty)
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(0..<10))
    #expect(await studio.ask(3) == .memory)
    #expect(await studio.ask(10) == .original)
    let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
    #expect(status.ready == 10 && status.pending == 0 && status.pinned == 10 && status.prepared == 10)
    #expect(status.bytes == studio.studio.cache.pinnedByteCount && status.bytes > 0)
    // Another size, another mode and other options are something else.
    #expect(try studio.stop(0..<10, CachingStudio.options(13)) == 0)
    var cropped = ImageRequest(targetSize: .size(PixelSize(width: 12, height: 12)))
    cropped.contentMode = .aspectFill
    #expect(try studio.stop(0..<10, PreheatOptions(cropped, format: nil)) == 0)
    #expect(studio.pinned() == Set(0..<10))
    #expect(try studio.stop(0..<5) == 5)
    #expect(try studio.stop(0..<5) == 0)
    #expect(studio.pinned() == Set(5..<10))
    _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
    #expect(studio.studio.cache.pinCount == 0 && studio.studio.cache.pinnedByteCount == 0)
  }

  @Test("several sizes of one asset are kept at once, each until it is stopped itself")
  func sizes() async throws {
    let studio = CachingStudio()
    for side in [8, 10, 12] { _ = try studio.start(0..<3, CachingStudio.options(side)) }
    await studio.untilQuiet()
    for side in [8, 10, 12] { #expect(studio.pinned(CachingStudio.options(side)) == [0, 1, 2]) }
    #expect(try studio.stop([1], CachingStudio.options(10)) == 1)
    #expect(studio.pinned(CachingStudio.options(10)) == [0, 2])
    #expect(studio.pinned(CachingStudio.options(12)) == [0, 1, 2])
  }

  @Test("started twice is started once")
  func twice() async throws {
    let studio = CachingStudio()
    for _ in 0..<2 { _ = try studio.start(0..<3) }
    await studio.untilQuiet()
    #expect(studio.studio.cache.pinCount == 3)
    #expect(try studio.stop(0..<3) == 3)
    #expect(studio.studio.cache.pinCount == 0)
  }

  @Test("what two managers want stays until neither does")
  func shared() async throws {
    let studio = CachingStudio()
    let second = try studio.managers.make(for: CachingStudio.owner)
    _ = try studio.start(0..<4)
    _ = try studio.start(2..<6, id: second.id)
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(0..<6))
    #expect(studio.managers.end(second.id, for: CachingStudio.owner))
    #expect(studio.pinned() == Set(0..<4))
  }

  // MARK: Whose, how many, how long

  @Test("a manager is its owner's alone, and everyone has one of the name default")
  func owners() async throws {
    let studio = CachingStudio()
    let made = try studio.managers.make(for: CachingStudio.owner)
    #expect(made.id.count == 32)
    #expect(try studio.managers.status(made.id, for: Self.other) == nil)
    #expect(!studio.managers.end(made.id, for: Self.other))
    #expect(
      try studio.managers.start([studio.library.names[0]], CachingStudio.options(), id: made.id, for: Self.other) == nil
    )
    _ = try studio.start(0..<3)
    #expect(try studio.managers.status("default", for: Self.other)?.pinned == 0)
    #expect(studio.managers.all(of: CachingStudio.owner).map(\.id) == ["default", made.id])
    // One who may sees it and ends it; another's default one has no name of its own.
    #expect(studio.managers.all(of: Self.other).map(\.id) == ["default"])
    #expect(studio.managers.all(of: Self.other, andAnybodys: true).map(\.id) == ["default", made.id])
    let brief = try studio.managers.make(for: CachingStudio.owner, lease: .seconds(10))
    for _ in 0..<2 {
      studio.advance(by: .seconds(4))
      #expect(try studio.managers.status(brief.id, for: Self.other, orAnybodys: true)?.id == brief.id)
    }
    studio.advance(by: .seconds(4))
    #expect(try studio.managers.status(brief.id, for: Self.other, orAnybodys: true) == nil, "that renews no lease")
    #expect(studio.managers.end(made.id, for: Self.other, orAnybodys: true))
    #expect(try studio.managers.status(made.id, for: CachingStudio.owner) == nil)
    #expect(studio.managers.end("default", for: Self.other) && studio.managers.end("default", for: Self.other))
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(0..<3))
  }

  @Test("there are so many managers, of each and in all, and no more")
  func limits() throws {
    var limits = CachingLimits()
    limits.managers = 4
    limits.managersPerPrincipal = 3
    let studio = CachingStudio(1, limits)
    for _ in 0..<3 { _ = try studio.managers.make(for: CachingStudio.owner) }
    #expect(throws: CachingManagers.Failure.tooManyManagers(limit: 3)) {
      try studio.managers.make(for: CachingStudio.owner)
    }
    #expect(try studio.managers.status("default", for: CachingStudio.owner) != nil)
    for attempt in [
      { _ = try studio.managers.make(for: Self.other) },
      { _ = try studio.managers.status("default", for: Self.other) },
    ] { #expect(throws: CachingManagers.Failure.tooManyManagers(limit: 4)) { try attempt() } }
    // Those that are left to themselves make room.
    studio.advance(by: .seconds(300))
    #expect(throws: Never.self) { try studio.managers.make(for: Self.other) }
  }

  @Test("a lease that is not renewed ends, and its pins with it; every call renews it")
  func leases() async throws {
    let studio = CachingStudio()
    let brief = try studio.managers.make(for: CachingStudio.owner, lease: .seconds(10))
    _ = try studio.start(0..<3)
    _ = try studio.start(3..<6, id: brief.id)
    await studio.untilQuiet()
    for _ in 0..<3 {
      studio.advance(by: .seconds(9))
      #expect(try studio.managers.status(brief.id, for: CachingStudio.owner)?.ready == 3)
    }
    studio.advance(by: .seconds(10))
    studio.managers.tick()
    studio.managers.sync()
    #expect(studio.pinned() == Set(0..<3))
    #expect(try studio.managers.status(brief.id, for: CachingStudio.owner) == nil)
    studio.advance(by: .seconds(300))
    studio.managers.tick()
    studio.managers.sync()
    #expect(studio.studio.cache.pinCount == 0 && studio.managers.depths.managers == 0)
    #expect(try studio.managers.status("default", for: CachingStudio.owner)?.pinned == 0)
  }

  @Test("what is beyond the limit of assets is left out, and named")
  func assetLimit() async throws {
    var limits = CachingLimits()
    limits.assets = 6
    let studio = CachingStudio(20, limits)
    let started = try #require(try studio.start(0..<10))
    #expect(started.started == 6 && started.leftOut == Array(studio.library.names[6..<10]))
    #expect(try studio.stop([0]) == 1)
    #expect(try studio.start([9])?.started == 1)
    await studio.untilQuiet()
    #expect(studio.pinned() == [1, 2, 3, 4, 5, 9])
    _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
    // A window has what is left, the nearest first.
    _ = try studio.start([0])
    let status = try studio.move(10..<12, margin: 4)
    await studio.untilQuiet()
    #expect(status.range == 6..<16)
    #expect(studio.pinned() == [0, 10, 11, 12, 9, 13])
    #expect(studio.managers.all(of: CachingStudio.owner)[0].window?.leftOut == 5)
  }

  @Test("a window has the room that what was started leaves, and what is visible has it before what is only near")
  func roomOfAWindow() async throws {
    var limits = Self.steady
    limits.assets = 6
    let studio = CachingStudio(60, limits)
    func move(_ visible: Range<Int>) async throws {
      try studio.move(visible, margin: 4)
      studio.advance(by: .seconds(5))
      await studio.untilQuiet()
    }
    _ = try studio.start(0..<3)
    try await move(10..<12)
    #expect(studio.pinned().isSuperset(of: [0, 1, 2, 10, 11]) && studio.pinned().count == 6)
    try await move(13..<15)
    #expect(studio.pinned().isSuperset(of: [0, 1, 2, 13, 14]) && studio.pinned().count == 6)
    // What was started and is deleted takes none.
    for index in 0..<3 { studio.library.delete(index) }
    studio.managers.libraryDidChange()
    studio.advance(by: .seconds(1))
    try await move(20..<22)
    #expect(studio.pinned().isSuperset(of: 19..<23) && studio.pinned().count == 6)
    // Nor does what was started and is stopped.
    _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
    _ = try studio.start(30..<33)
    #expect(try studio.stop(30..<33) == 3)
    try await move(40..<42)
    #expect(studio.pinned().isSuperset(of: 39..<43) && studio.pinned().count == 6)
  }

  @Test("all managers together keep so many, and what one lets go of another may have")
  func limitInAll() async throws {
    var limits = Self.steady
    limits.assetsInAll = 6
    let studio = CachingStudio(60, limits)
    let second = try studio.managers.make(for: CachingStudio.owner)
    for round in 0..<3 {
      let first = round * 10
      #expect(try studio.start(first..<first + 4)?.started == 4)
      #expect(try studio.start(first..<first + 4, id: second.id)?.leftOut.count == 2)
      await studio.untilQuiet()
      #expect(try studio.stop(first..<first + 2) == 2)
      #expect(try studio.start(first + 2..<first + 4, id: second.id)?.started == 2)
      await studio.untilQuiet()
      #expect(studio.studio.cache.pinCount == 6)
      for id in ["default", second.id] { _ = try studio.managers.stopAll(id: id, for: CachingStudio.owner) }
    }
  }

  @Test("beyond the pinned bytes nothing is kept, and what goes makes room for it")
  func bytes() async throws {
    let probe = CachingStudio(3)
    _ = try probe.start([0])
    await probe.untilQuiet()
    let one = probe.studio.cache.pinnedByteCount
    let studio = CachingStudio(30, pinnedBytes: 4 * one + one / 2)
    _ = try studio.start(0..<10)
    await studio.untilQuiet()
    func counts() throws -> [Int] {
      let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
      return [status.ready, status.pending, status.leftOut]
    }
    #expect(studio.studio.cache.pinnedByteCount <= studio.studio.cache.pinnedCapacityBytes)
    let first = try counts()
    #expect(first[0] == 4 && first[0] + first[1] + first[2] == 10)
    _ = try studio.stop(0..<4)
    await studio.untilQuiet()
    #expect(try counts()[0] == 4)
    #expect(studio.pinned().isSubset(of: Set(4..<10)) && studio.pinned().count == 4)
  }

  @Test("an asset that there is not, or that has no picture, is told apart and harms nothing")
  func missing() async throws {
    let studio = CachingStudio(4)
    studio.library.delete(1)
    let started = try #require(
      try studio.managers.start(
        [studio.library.names[0], studio.library.names[1], LocalIdentifier("nobody")], CachingStudio.options(),
        id: "default", for: CachingStudio.owner))
    #expect(started.started == 1 && started.missing == [studio.library.names[1], LocalIdentifier("nobody")])
  }

  // MARK: What became of it

  @Test("what was asked for was used, also from a prepared answer; what left unseen was wasted")
  func outcomes() async throws {
    let studio = CachingStudio()
    _ = try studio.move(20..<30)
    await studio.untilQuiet()
    for index in [20, 21, 22, 16] { #expect(await studio.ask(index) == .memory) }
    // As a prepared answer notes it.
    let asset = try #require(studio.library[23])
    let key = RenditionKey(asset, CachingStudio.options().request(for: asset))
    studio.studio.cache.frame(for: key)?.use()
    let during = try #require(try studio.managers.status("default", for: CachingStudio.owner))
    #expect([during.prepared, during.used, during.wasted] == [20, 5, 0] && during.hitRate == 1)
    _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
    let after = try #require(try studio.managers.status("default", for: CachingStudio.owner))
    #expect([after.prepared, after.used, after.wasted] == [20, 5, 15] && after.hitRate == 0.25)
    let exposition = String(decoding: studio.studio.metrics.exposition(), as: UTF8.self)
    for line in [
      "photod_preheat_prepared_total 20", "photod_preheat_used_total 5", "photod_preheat_wasted_total 15",
    ] { #expect(exposition.contains(line), "\(line)") }
  }

  @Test("a picture that is another is prepared and used once more")
  func usedTwice() async throws {
    let studio = CachingStudio()
    _ = try studio.start([0, 1])
    await studio.untilQuiet()
    #expect(await studio.ask(0) == .memory)
    for index in [0, 1] { studio.library.edit(index) }
    studio.managers.libraryDidChange()
    studio.advance(by: .milliseconds(500))
    await studio.untilQuiet()
    #expect(await studio.ask(0) == .memory)
    let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
    #expect([status.prepared, status.used, status.wasted] == [4, 2, 1])
  }

  @Test("what was in memory already is kept, and is nobody's work")
  func found() async throws {
    let studio = CachingStudio(10, CachingLimits()) { $0.cacheBytes = 8 << 20 }
    #expect(await studio.ask(0) == .original)
    _ = try studio.start(0..<2)
    await studio.untilQuiet()
    let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
    #expect(status.ready == 2 && status.prepared == 1)
  }

  @Test("a request that comes while its frame is being prepared waits for the same work, and has used it")
  func joined() async throws {
    let studio = CachingStudio()
    studio.studio.shutRenderLane()
    _ = try studio.start([0])
    await studio.studio.untilQueued(1)
    #expect(studio.studio.lane.depths == (0, 1))
    let asset = try #require(studio.library[0])
    let journal = Journal()
    _ = studio.studio.request(asset, CachingStudio.options().request(for: asset)) { delivery in
      if case .final(let frame) = delivery { journal.note(frame.result.source.rawValue) }
    }
    // It presses now as much as the request does.
    #expect(studio.studio.lane.depths == (1, 0))
    studio.studio.openRenderLane()
    #expect(await journal.lines(1) == ["original"])
    await studio.untilQuiet()
    #expect(studio.studio.originals.opened == 1)
    let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
    #expect([status.prepared, status.used] == [1, 1])
  }

  @Test("stopping what is being made gives it up, unless somebody waits for it")
  func givenUp() async throws {
    let studio = CachingStudio()
    studio.studio.shutRenderLane()
    _ = try studio.start([0, 1])
    await studio.studio.untilQueued(2)
    let asset = try #require(studio.library[1])
    let journal = Journal()
    _ = studio.studio.request(asset, CachingStudio.options().request(for: asset)) { delivery in
      if case .final = delivery { journal.note("final") }
    }
    #expect(try studio.stop([0, 1]) == 2)
    #expect(studio.studio.cache.pinCount == 0)
    // Neither had begun.
    #expect(try studio.managers.status("default", for: CachingStudio.owner)?.givenUp == 0)
    studio.studio.openRenderLane()
    #expect(await journal.lines(1) == ["final"])
    await studio.studio.untilIdle()
    #expect(studio.studio.cache.pinCount == 0 && studio.studio.cache.pinnedByteCount == 0)
    #expect(studio.studio.budget.bytesInUse == 0)
  }

  @Test("a render that is stopped half-way is counted as given up; one that somebody waits for is not")
  func stoppedHalfway() async throws {
    let studio = CachingStudio()
    func counts() throws -> [Int] {
      let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
      return [status.prepared, status.wasted, status.givenUp]
    }
    /// Until a render reads its original.
    func begin(_ index: Int) async throws {
      studio.library.restore(index, from: studio.studio.originals.add(Self.photograph, named: "p\(index)"))
      studio.studio.shutRenderLane()
      _ = try studio.start([index])
      await studio.studio.untilQueued(1)
      studio.studio.originals.stop()
      studio.studio.openRenderLane()
      await studio.studio.originals.readerStopped()
    }
    try await begin(0)
    #expect(try studio.stop([0]) == 1)
    #expect(try counts() == [0, 0, 1])
    studio.studio.originals.goOn()
    await studio.studio.untilIdle()
    try await begin(1)
    let asset = try #require(studio.library[1])
    let journal = Journal()
    _ = studio.studio.request(asset, CachingStudio.options().request(for: asset)) { delivery in
      if case .final = delivery { journal.note("final") }
    }
    #expect(try studio.stop([1]) == 1)
    studio.studio.originals.goOn()
    #expect(await journal.lines(1) == ["final"])
    #expect(try counts() == [0, 0, 1])
    let exposition = String(decoding: studio.studio.metrics.exposition(), as: UTF8.self)
    #expect(exposition.contains("photod_preheat_given_up_total 1"))
  }

  @Test("preparations are in no list of requests, and have no deadline")
  func unlisted() async throws {
    let studio = CachingStudio()
    studio.studio.shutRenderLane()
    _ = try studio.start([0])
    await studio.studio.untilQueued(1)
    #expect(studio.studio.manager.activeRequests(owner: nil).isEmpty)
    studio.advance(by: .seconds(200))
    studio.studio.manager.expire()
    studio.studio.openRenderLane()
    await studio.untilQuiet()
    #expect(studio.pinned() == [0])
  }
}
