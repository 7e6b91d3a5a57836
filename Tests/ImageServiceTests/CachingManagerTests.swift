import Dispatch
import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// What caching managers keep ready, for whom, and for how long.
@Suite("Caching managers", .serialized)
struct CachingManagerTests {
  /// Larger than what is read of a file to know what it is.
  private static let photograph = JPEGFile { $0.quality = 98 }.encoded(Scene(seed: 5).pixels(width: 1200, height: 900))
  private static let other = Principal(name: "other", scopes: [.read])

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

  // MARK: Windows

  /// Margins stay what was asked for.
  private static let steady = {
    var limits = CachingLimits()
    limits.rules.outcomes = .infinity
    return limits
  }()

  @Test("a window prepares what it covers, and lets go of what it leaves")
  func window() async throws {
    let studio = CachingStudio(100, Self.steady)
    let first = try studio.move(20..<30)
    #expect(first.range == 15..<35 && first.quality == .high && first.ready + first.pending == 20)
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(15..<35))
    studio.advance(by: .seconds(5))
    _ = try studio.move(27..<37)
    studio.advance(by: .seconds(1))
    await studio.untilQuiet()
    // What is there is kept as far again as the margin goes.
    let moved = try #require(try studio.managers.status("default", for: CachingStudio.owner)?.window)
    #expect(moved.range == 22..<42 && moved.ready == 20 && moved.leftOut == 0)
    #expect(studio.pinned() == Set(17..<42))
    let lookups = studio.library.lookups
    _ = try studio.move(27..<37)
    // What is known is not asked for again.
    #expect(studio.library.lookups == lookups)
    _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
    #expect(studio.studio.cache.pinCount == 0)
  }

  @Test("what a window and startCaching both want stays when one of them lets go")
  func both() async throws {
    let studio = CachingStudio(100, Self.steady)
    _ = try studio.start([18, 50])
    _ = try studio.move(20..<30)
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(15..<35).union([50]))
    studio.advance(by: .seconds(5))
    _ = try studio.move(80..<90)
    studio.advance(by: .seconds(1))
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(75..<95).union([18, 50]))
    #expect(try studio.stop([18, 50, 80]) == 2)
    #expect(studio.pinned() == Set(75..<95))
  }

  @Test("what is prepared first is what is visible, and what leaves the window before its turn is never made")
  func order() async throws {
    let studio = CachingStudio()
    studio.studio.originals.stop()
    let before = studio.studio.originals.opened
    studio.studio.shutRenderLane()
    _ = try studio.move(20..<30)
    studio.advance(by: .seconds(5))
    _ = try studio.move(60..<70)
    studio.advance(by: .seconds(1))
    studio.studio.originals.goOn()
    studio.studio.openRenderLane()
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(55..<75))
    // At most those few that were under way.
    #expect(studio.studio.originals.opened - before <= 24)
    #expect(studio.studio.cache.pinCount == 20)
  }

  @Test("a fling starts nothing new; when no move comes any more, what it left is made up for")
  func fling() async throws {
    let studio = CachingStudio(2000)
    _ = try studio.move(0..<10)
    await studio.untilQuiet()
    for step in 1...20 {
      studio.advance(by: .milliseconds(16))
      let status = try studio.move(step * 32..<step * 32 + 10)
      #expect(status.quality == .reduced && status.pending == 0)
    }
    await studio.untilQuiet()
    #expect(studio.pinned() == [])
    studio.advance(by: .milliseconds(60))
    await studio.untilQuiet()
    let range = Set(640..<650)
    #expect(studio.pinned().isSuperset(of: range))
    #expect(studio.managers.all(of: CachingStudio.owner)[0].window?.quality == .high)
  }

  @Test("without high quality allowed, only what is nearly free is prepared")
  func reduced() async throws {
    let studio = CachingStudio()
    let made = try studio.managers.make(for: CachingStudio.owner, allowsHighQuality: false)
    _ = try studio.start(0..<4, id: made.id)
    let status = try studio.move(20..<30, id: made.id)
    #expect(status.quality == .reduced)
    await studio.untilQuiet()
    #expect(studio.pinned() == [])
    #expect(try studio.managers.status(made.id, for: CachingStudio.owner)?.leftOut == 24)
  }

  // MARK: The library's changes

  @Test("a picture that was changed is prepared anew, one that is gone is let go of, one that came is prepared")
  func changes() async throws {
    let studio = CachingStudio()
    _ = try studio.start([50, 51])
    _ = try studio.move(20..<30)
    await studio.untilQuiet()
    let gone = try #require(studio.library[22])
    for index in [20, 50] { studio.library.edit(index) }
    for index in [22, 51] { studio.library.delete(index) }
    #expect(!studio.pinned().contains(20))
    studio.managers.libraryDidChange()
    studio.advance(by: .milliseconds(500))
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(15..<35).subtracting([22]).union([50]))
    #expect(studio.studio.cache.pinCount == 20)
    studio.library.restore(22, from: gone)
    // Nobody said so, but it is looked at now and then.
    studio.managers.tick()
    studio.advance(by: .milliseconds(500))
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(15..<35).union([50]))
  }

  @Test("a change that touches nothing that is kept asks for no asset")
  func untouched() async throws {
    let studio = CachingStudio(100, Self.steady)
    _ = try studio.start([50])
    _ = try studio.move(20..<30)
    await studio.untilQuiet()
    func after(_ change: () -> Void) async -> Int {
      let before = studio.library.lookedUp
      change()
      studio.managers.libraryDidChange()
      studio.advance(by: .milliseconds(500))
      await studio.untilQuiet()
      return studio.library.lookedUp - before
    }
    // The first time nobody knows since when.
    #expect(await after { studio.library.edit(99) } == 41)
    #expect(await after { studio.library.edit(98) } == 0)
    #expect(await after { for index in 80..<88 { studio.library.edit(index) } } == 0)
    // In the window it is its list's and the manager's; what was started is the manager's alone.
    #expect(await after { studio.library.edit(20) } == 2)
    #expect(await after { studio.library.edit(50) } == 1)
    #expect(studio.pinned() == Set(15..<35).union([50]))
    // More than the history tells.
    #expect(await after { for index in 80..<89 { studio.library.edit(index) } } == 41)
  }

  @Test("what was looked up while the library changed is looked up again, whatever was learnt meanwhile")
  func overtaken() async throws {
    let studio = CachingStudio(100, Self.steady)
    _ = try studio.start([0])
    func changed() async {
      studio.managers.libraryDidChange()
      studio.advance(by: .milliseconds(500))
      await studio.untilQuiet()
    }
    studio.library.edit(99)
    await changed()
    // Its answer is on its way when the asset becomes another, and everything is looked up anew.
    studio.library.afterLookup {
      studio.library.edit(5)
      studio.managers.libraryDidChange()
      studio.advance(by: .milliseconds(500))
      studio.untilLookedUp()
    }
    _ = try studio.start([5])
    studio.managers.tick()
    await studio.untilQuiet()
    #expect(studio.pinned() == [0, 5])
    _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
    #expect(studio.studio.cache.pinCount == 0)
  }

  @Test("so it is when that ends while everything is being looked up")
  func overtakenTwice() async throws {
    let studio = CachingStudio(100, Self.steady)
    let (isAsked, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    _ = try studio.start([0])
    studio.library.edit(99)
    studio.managers.libraryDidChange()
    studio.advance(by: .milliseconds(500))
    await studio.untilQuiet()
    studio.library.afterLookup {
      // 5 was looked up, and is another now; so is 0, which is looked up when that is known of both.
      for index in [5, 0] { studio.library.edit(index) }
      studio.library.afterLookup {
        isAsked.signal()
        goesOn.wait()
      }
      studio.managers.libraryDidChange()
      studio.advance(by: .milliseconds(500))
      isAsked.wait()
    }
    _ = try studio.start([5])
    goesOn.signal()
    studio.untilLookedUp()
    studio.managers.tick()
    await studio.untilQuiet()
    #expect(studio.pinned() == [0, 5])
  }

  // MARK: Lists that change

  @Test("a window follows its list: what is on screen stays on screen, and is not made again")
  func follows() async throws {
    let studio = CachingStudio(100, Self.steady)
    let list = LiveList(studio.library, Array(20..<80))
    func state() throws -> (window: WindowStatus?, prepared: Int) {
      let status = try #require(try studio.managers.status("default", for: CachingStudio.owner))
      return (status.window, status.prepared)
    }
    func changed(_ change: (inout [Int]) -> Void) async {
      list.change(change)
      studio.managers.libraryDidChange()
      studio.advance(by: .milliseconds(500))
      await studio.untilQuiet()
    }
    _ = try studio.move(10..<20, over: list.source)
    await studio.untilQuiet()
    #expect(studio.pinned() == Set(25..<45))
    // Before the visible ones: it moves along. 25 and 44 are where they were, and nothing is made.
    await changed { $0.insert(contentsOf: [0, 1, 2], at: 4) }
    #expect(try state().window?.range == 8..<28)
    #expect(try state().prepared == 20 && studio.pinned() == Set(25..<45))
    let lookedUp = studio.library.lookedUp
    await changed { $0.removeSubrange(0..<2) }
    #expect(try state().window?.range == 6..<26)
    #expect(studio.library.lookedUp == lookedUp, "what moved along is known")
    // Behind them it stays.
    await changed { $0.removeSubrange(40...) }
    #expect(try state().window?.range == 6..<26 && state().prepared == 20)
    // In it: the first that stays is the first visible one, and what comes in is prepared.
    await changed { $0.removeSubrange(11..<13) }
    #expect(try state().window?.range == 6..<26)
    #expect(studio.pinned() == Set(25..<47).subtracting([30, 31]))
    #expect(try state().prepared == 22)
    // Over all of them.
    await changed { $0.reverse() }
    await changed { $0 = [99, 98] + $0.suffix(3) }
    #expect(try state().window?.range == 0..<5)
    await changed { $0 = [] }
    #expect(try state().window?.range == 0..<0 && studio.studio.cache.pinCount == 0)
    await changed { $0 = Array(50..<60) }
    #expect(studio.studio.cache.pinCount == studio.pinned().count)
    // The client says where it is, by the list as it is now.
    _ = try studio.move(0..<3, margin: 1, over: list.source)
    await studio.untilQuiet()
    // 54 is kept, for it is near.
    #expect(studio.pinned() == [50, 51, 52, 53, 54])
    list.end()
    studio.managers.tick()
    await studio.untilQuiet()
    #expect(try state().window == nil && studio.studio.cache.pinCount == 0)
  }

  @Test(
    "what the client says while its list is looked up stands, and is not looked up again",
    arguments: ["the same list", "another list", "another list, which it does not know of"])
  func meanwhile(_ kind: String) async throws {
    let studio = CachingStudio(100, Self.steady)
    let list = LiveList(studio.library, Array(0..<90))
    let old = list.source
    _ = try studio.move(10..<20, over: old)
    await studio.untilQuiet()
    func changed() async {
      studio.managers.libraryDidChange()
      studio.advance(by: .seconds(1))
      await studio.untilQuiet()
    }
    studio.library.edit(99)
    await changed()
    let before = studio.library.lookedUp
    if kind != "the same list" { list.change { $0.insert(contentsOf: [90, 91, 92], at: 0) } }
    studio.library.edit(12)
    let said = kind.hasSuffix("of") ? old : list.source
    studio.library.afterLookup { _ = try? studio.move(12..<22, over: said) }
    await changed()
    studio.advance(by: .seconds(1))
    await studio.untilQuiet()
    #expect(try studio.managers.status("default", for: CachingStudio.owner)?.window?.range == 7..<27)
    #expect(studio.pinned().isSuperset(of: list.rows[7..<27]))
    // The one that changed, by its name and by its place; and what came ahead of the travel.
    if kind == "the same list" { #expect(studio.library.lookedUp - before == 2 + 7) }
  }

  @Test("a long list is read where lists are read, and nothing waits for it but its window")
  func longList() async throws {
    let studio = CachingStudio(100, Self.steady)
    let list = LiveList(studio.library, Array(0..<60), isLong: true)
    _ = try studio.move(10..<20, over: list.source)
    await studio.untilQuiet()
    list.change { $0.removeFirst() }
    studio.managers.libraryDidChange()
    studio.advance(by: .milliseconds(500))
    await studio.untilQuiet()
    #expect(try studio.managers.status("default", for: CachingStudio.owner)?.window?.range == 4..<24)
    #expect(list.readings == 1 && studio.pinned() == Set(5..<25))
  }

  @Test("another list is no travel, wherever one comes from; the same list by another name is")
  func anotherList() throws {
    let studio = CachingStudio(100)
    _ = try studio.move(80..<90)
    studio.advance(by: .milliseconds(16))
    let list = LiveList(studio.library, Array(0..<60))
    #expect(try studio.move(0..<10, over: list.source).quality == .high)
    studio.advance(by: .milliseconds(16))
    list.change { $0.removeLast() }
    #expect(try studio.move(40..<50, over: list.source).quality == .reduced)
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

  // MARK: Properties

  /// The same worked out anew for each question, by what was done: for managers whose margins never shrink.
  private struct Model {
    struct Manager {
      var started: Set<Int> = []
      var moves: [(at: ContinuousClock.Instant, visible: Range<Int>, margin: Int)] = []
      /// What the window holds.
      var held: Set<Int> = []
      /// What it was not given in a fling, and is not until it has left or the fling is over.
      var refused: Set<Int> = []
    }

    let count: Int
    var managers: [String: Manager] = [:]
    /// What was ever made of the content that there is now, and so is in memory.
    var made: Set<Int> = []
    var deleted: Set<Int> = []

    /// Positions a second, by the moves of the last 150 ms in the same direction, and how many it may have been.
    private func speed(
      _ moves: [(at: ContinuousClock.Instant, visible: Range<Int>, margin: Int)], _ now: ContinuousClock.Instant
    ) -> (likely: Double, fastest: Double) {
      guard moves.count >= 2, let last = moves.last else { return (0, 0) }
      let before = moves[moves.count - 2]
      let step = last.visible.lowerBound - before.visible.lowerBound
      if step == 0 { return (0, 0) }
      func seconds(_ from: ContinuousClock.Instant, _ to: ContinuousClock.Instant) -> Double {
        from.duration(to: to) / .seconds(1)
      }
      let pause = min(max(2 * seconds(before.at, last.at), 0.05), 0.25)
      if now >= last.at + .seconds(pause) { return (0, 0) }
      var base = moves.count - 1
      while base > 0, seconds(moves[base - 1].at, last.at) <= 0.15,
        (moves[base].visible.lowerBound - moves[base - 1].visible.lowerBound).signum() == step.signum()
      { base -= 1 }
      if base == moves.count - 1 {
        return (Double(step) / 0.1, Double(step) * 60)
      }
      let speed =
        Double(last.visible.lowerBound - moves[base].visible.lowerBound)
        / max(1.0 / 60, seconds(moves[base].at, last.at))
      return (speed, speed)
    }

    mutating func look(_ id: String, at now: ContinuousClock.Instant) {
      guard var manager = managers[id] else { return }
      defer { managers[id] = manager }
      guard let last = manager.moves.last else { return }
      let (speed, fastest) = speed(manager.moves, now)
      let visible = last.visible
      func around(_ before: Int, _ after: Int) -> Set<Int> {
        Set(max(0, visible.lowerBound - before)..<min(count, visible.upperBound + after)).subtracting(deleted)
      }
      let kept = around(2 * last.margin, 2 * last.margin)
      if abs(speed) * 0.25 > Double(visible.count) {
        let gone = min(visible.count, Int(abs(fastest) * 0.05))
        let wanted = around(0, 0).intersection(speed > 0 ? visible.dropFirst(gone) : visible.dropLast(gone))
        manager.refused.formIntersection(kept)
        manager.refused.formUnion(wanted.subtracting(made).subtracting(manager.held))
        manager.held.formIntersection(kept)
        manager.held.formUnion(wanted.intersection(made).subtracting(manager.refused))
      } else {
        let ahead = min(last.margin + Int(abs(speed) * 0.5), 2 * last.margin)
        let behind = speed == 0 ? last.margin : last.margin / 4
        let wanted = speed < 0 ? around(ahead, behind) : around(behind, ahead)
        manager.held = manager.held.intersection(kept).union(wanted)
        manager.refused = manager.refused.intersection(kept).subtracting(wanted)
      }
    }

    /// What the window was refused in a fling it has by this, too.
    mutating func start(_ chosen: [Int], _ id: String) {
      var manager = managers[id, default: .init()]
      manager.started.formUnion(Set(chosen).subtracting(deleted))
      manager.held.formUnion(manager.refused.intersection(chosen))
      manager.refused.subtract(chosen)
      managers[id] = manager
    }

    mutating func lookAtAll(_ now: ContinuousClock.Instant) {
      for id in managers.keys { look(id, at: now) }
      made.formUnion(pinned)
    }

    var pinned: Set<Int> {
      managers.values.reduce(into: []) { $0.formUnion($1.held.union($1.started)) }
    }
  }

  @Test("after any moves, changes and ends of leases, what is pinned is what working it out anew gives")
  func property() async throws {
    var random = SystemRandomNumberGenerator()
    var limits = CachingLimits()
    limits.rules.outcomes = .infinity
    for _ in 0..<60 {
      let studio = CachingStudio(60, limits) { $0.cacheBytes = 64 << 20 }
      var model = Model(count: 60)
      var ids = ["default"]
      var deletedAssets: [Int: Asset] = [:]
      var log: [String] = []
      func now() -> ContinuousClock.Instant { studio.studio.clock.now }
      for _ in 0..<16 {
        let id = ids[Int.random(in: 0..<ids.count, using: &random)]
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5:
          let first = Int.random(in: 0..<50, using: &random)
          let visible = first..<min(60, first + Int.random(in: 1...12, using: &random))
          let margin = Int.random(in: 0...8, using: &random)
          log.append("\(id.prefix(4)) sees \(visible), margin \(margin)")
          _ = try studio.move(visible, margin: margin, id: id)
          model.managers[id, default: .init()].moves.append((now(), visible, margin))
        case 5:
          let chosen = (0..<Int.random(in: 1...6, using: &random)).map { _ in Int.random(in: 0..<60, using: &random) }
          log.append("\(id.prefix(4)) starts \(chosen)")
          _ = try studio.start(chosen, id: id)
          model.start(chosen, id)
        case 6:
          let chosen = (0..<30).map { _ in Int.random(in: 0..<60, using: &random) }
          log.append("\(id.prefix(4)) stops \(chosen)")
          _ = try studio.stop(chosen, id: id)
          model.managers[id, default: .init()].started.subtract(chosen)
        case 7:
          let index = Int.random(in: 0..<60, using: &random)
          if let asset = deletedAssets.removeValue(forKey: index) {
            log.append("\(index) comes back")
            studio.library.restore(index, from: asset)
            model.deleted.remove(index)
          } else if Bool.random(using: &random) {
            log.append("\(index) goes")
            deletedAssets[index] = studio.library[index]
            studio.library.delete(index)
            model.deleted.insert(index)
            for name in model.managers.keys {
              model.managers[name]?.started.remove(index)
              model.managers[name]?.held.remove(index)
            }
          } else {
            log.append("\(index) is another")
            studio.library.edit(index)
            model.made.remove(index)
            for name in model.managers.keys { model.managers[name]?.held.remove(index) }
          }
          studio.managers.libraryDidChange()
          studio.advance(by: .milliseconds(300))
        case 8:
          if ids.count < 4 {
            log.append("one more")
            ids.append(try studio.managers.make(for: CachingStudio.owner, lease: .seconds(200)).id)
          }
        case 9:
          log.append("\(id.prefix(4)) ends")
          _ = studio.managers.end(id, for: CachingStudio.owner)
          model.managers[id] = nil
          if id != "default" { ids.removeAll { $0 == id } }
        case 10:
          log.append("the leases of all but default end")
          _ = try studio.managers.status("default", for: CachingStudio.owner)
          studio.advance(by: .seconds(200))
          studio.managers.tick()
          for id in ids.dropFirst() { model.managers[id] = nil }
          ids = ["default"]
        default:
          let milliseconds = [1, 10, 40, 100, 300, 2000].randomElement(using: &random) ?? 1
          log.append("\(milliseconds) ms")
          studio.advance(by: .milliseconds(milliseconds))
        }
        await studio.untilQuiet()
        model.lookAtAll(now())
        #expect(studio.pinned() == model.pinned, "\(log.joined(separator: "; "))")
        let all = studio.managers.all(of: CachingStudio.owner)
        #expect(studio.studio.cache.pinCount == all.reduce(0) { $0 + $1.ready }, "\(log.joined(separator: "; "))")
        // Each of them for itself, also what is nobody's asset any more.
        for status in all {
          let own = model.managers[status.id].map { $0.held.union($0.started).count } ?? 0
          #expect(status.ready == own, "\(status.id.prefix(4)): \(log.joined(separator: "; "))")
        }
        if studio.pinned() != model.pinned { return }
      }
    }
  }

  @Test("after any changes of a list, what is pinned is what is around what was on screen before")
  func listProperty() async throws {
    var random = SystemRandomNumberGenerator()
    func below(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }
    for round in 0..<60 {
      let studio = CachingStudio(60, Self.steady)
      let list = LiveList(studio.library, Array(10..<50).shuffled(using: &random), isLong: round % 3 == 0)
      let ids = ["default", try studio.managers.make(for: CachingStudio.owner).id]
      var visible: [String: Range<Int>] = [:]
      var margins: [String: Int] = [:]
      var started: Set<Int> = []
      var gone: [Int: Asset] = [:]
      var log = ["\(list.rows)"]
      func move(_ id: String) throws {
        let rows = list.rows
        let first = below(max(1, rows.count))
        let range = first..<min(rows.count, first + 1 + below(8))
        margins[id] = below(6)
        log.append("\(id.prefix(3)) sees \(range), margin \(margins[id] ?? 0)")
        try studio.move(range, margin: margins[id] ?? 0, id: id, over: list.source)
        visible[id] = range
      }
      for _ in 0..<16 {
        switch below(8) {
        case 0..<2: try move(ids[below(2)])
        case 2..<5:
          let old = list.rows
          list.change { rows in
            for _ in 0...below(3) {
              switch below(5) {
              case 0 where !rows.isEmpty:
                let first = below(rows.count)
                rows.removeSubrange(first..<min(rows.count, first + 1 + below(9)))
              case 1 where !rows.isEmpty: rows.insert(rows.remove(at: below(rows.count)), at: below(rows.count + 1))
              case 2 where below(5) == 0: rows.shuffle(using: &random)
              default:
                guard let row = (0..<60).filter({ !rows.contains($0) }).randomElement(using: &random) else { break }
                rows.insert(row, at: below(rows.count + 1))
              }
            }
          }
          let new = list.rows
          log.append("\(new)")
          for (id, range) in visible {
            let first = old[range].first(where: new.contains).flatMap(new.firstIndex(of:)) ?? range.lowerBound
            let start = max(0, min(first, new.count - range.count))
            visible[id] = start..<min(new.count, start + range.count)
          }
          studio.managers.libraryDidChange()
          // The client may say something else before it is seen.
          if below(3) == 0 { try move(ids[below(2)]) }
        case 5:
          let index = below(60)
          log.append("\(index) is started")
          if try studio.start([index])?.started == 1 { started.insert(index) }
        default:
          let index = below(60)
          if let asset = gone.removeValue(forKey: index) {
            log.append("\(index) comes back")
            studio.library.restore(index, from: asset)
          } else if below(3) == 0 {
            log.append("\(index) is another")
            studio.library.edit(index)
          } else {
            log.append("\(index) goes")
            gone[index] = studio.library[index]
            studio.library.delete(index)
            started.remove(index)
          }
          studio.managers.libraryDidChange()
        }
        // So long that nothing travels any more.
        studio.advance(by: .seconds(1))
        await studio.untilQuiet()
        let rows = list.rows
        /// What windows have within so many margins, and what was started.
        func around(_ margins: [String: Int], times: Int) -> Set<Int> {
          visible.reduce(into: started) { wanted, window in
            let margin = times * (margins[window.key] ?? 0)
            let range = window.value.lowerBound - margin..<window.value.upperBound + margin
            wanted.formUnion(rows[range.clamped(to: 0..<rows.count)])
          }.subtracting(gone.keys)
        }
        // Beyond the margin that is there may be kept what was prepared on the way, and nothing else.
        let isRight =
          studio.pinned().isSuperset(of: around(margins, times: 1))
          && studio.pinned().isSubset(of: around(margins, times: 2))
        #expect(isRight, "\(studio.pinned().sorted()): \(log.joined(separator: "; "))")
        let pins = studio.managers.all(of: CachingStudio.owner).reduce(0) { $0 + $1.ready }
        #expect(studio.studio.cache.pinCount == pins, "\(log.joined(separator: "; "))")
        if !isRight { return }
      }
      for id in ids { _ = studio.managers.end(id, for: CachingStudio.owner) }
      #expect(studio.studio.cache.pinCount == 0 && studio.studio.cache.pinnedByteCount == 0)
    }
  }

  @Test("after a thousand sequences that nobody waits for, no pin is left")
  func leaks() async throws {
    var random = SystemRandomNumberGenerator()
    let studio = CachingStudio(80, CachingLimits()) {
      $0.cacheBytes = 64 << 10
      $0.workers = 2
    }
    let originals = (0..<80).map { studio.library[$0] }
    for _ in 0..<1000 {
      for _ in 0..<8 {
        let first = Int.random(in: 0..<70, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
          _ = try studio.move(
            first..<first + 8, margin: Int.random(in: 0...6, using: &random),
            CachingStudio.options(Bool.random(using: &random) ? 12 : 9))
        case 4: _ = try studio.start(first..<first + 5)
        case 5: _ = try studio.stop(first..<first + 9)
        case 6: studio.library.edit(first)
        case 7:
          if studio.library[first] == nil, let asset = originals[first] {
            studio.library.restore(first, from: asset)
          } else {
            studio.library.delete(first)
          }
          studio.managers.libraryDidChange()
        case 8: studio.advance(by: .milliseconds(Int.random(in: 1...400, using: &random)))
        default: _ = await studio.ask(first)
        }
      }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: _ = studio.managers.end("default", for: CachingStudio.owner)
      case 1: _ = try studio.managers.stopAll(id: "default", for: CachingStudio.owner)
      default:
        studio.advance(by: .seconds(301))
        studio.managers.tick()
        studio.managers.sync()
      }
      let (pins, bytes) = (studio.studio.cache.pinCount, studio.studio.cache.pinnedByteCount)
      #expect(pins == 0 && bytes == 0)
      if pins + bytes != 0 { return }
    }
    await studio.untilQuiet()
    await studio.studio.untilIdle()
    #expect(studio.studio.cache.pinCount == 0 && studio.studio.budget.bytesInUse == 0)
  }
}
