import Dispatch
import ImageService
import PhotoModel
import Testing

/// Windows, and how they follow the library and its lists.
extension CachingManagerTests {
  @Test("a window prepares its range and releases what leaves it")
  func window() async throws {
    let harness = CachingHarness(100, Self.steady)
    let first = try harness.move(20..<30)
    #expect(first.range == 15..<35 && first.quality == .high && first.ready + first.pending == 20)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(15..<35))
    harness.advance(by: .seconds(5))
    _ = try harness.move(27..<37)
    harness.advance(by: .seconds(1))
    try await harness.untilQuiet()
    // Existing frames are kept over twice the margin.
    let moved = try #require(try harness.managers.status("default", for: CachingHarness.owner)?.window)
    #expect(moved.range == 22..<42 && moved.ready == 20 && moved.leftOut == 0)
    #expect(harness.pinned() == Set(17..<42))
    let lookups = harness.library.lookups
    _ = try harness.move(27..<37)
    // Known positions are not looked up again.
    #expect(harness.library.lookups == lookups)
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    #expect(harness.images.cache.pinCount == 0)
  }

  @Test("a window that found no room gets what other managers release, and counts what it lacks as left out")
  func cutWindow() async throws {
    var limits = Self.steady
    limits.totalAssets = 20
    let harness = CachingHarness(100, limits)
    let second = try harness.managers.make(for: CachingHarness.owner)
    _ = try harness.start(80..<96, id: second.id)
    let moved = try harness.move(20..<30)
    #expect(moved.range == 15..<35 && moved.ready + moved.pending == 4 && moved.leftOut == 16)
    func leftOut() throws -> Int? { try harness.managers.status("default", for: CachingHarness.owner)?.leftOut }
    #expect(try leftOut() == 16)
    #expect(try harness.stop(80..<86, id: second.id) == 6)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(20..<30).union(86..<96))
    #expect(try leftOut() == 10)
    #expect(harness.managers.end(second.id, for: CachingHarness.owner))
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(15..<35))
    #expect(try leftOut() == 0)
  }

  @Test("an entry that the window and startCaching want stays when one of them releases it")
  func both() async throws {
    let harness = CachingHarness(100, Self.steady)
    _ = try harness.start([18, 50])
    _ = try harness.move(20..<30)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(15..<35).union([50]))
    harness.advance(by: .seconds(5))
    _ = try harness.move(80..<90)
    harness.advance(by: .seconds(1))
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(75..<95).union([18, 50]))
    #expect(try harness.stop([18, 50, 80]) == 2)
    #expect(harness.pinned() == Set(75..<95))
  }

  @Test("visible positions are prepared first; an entry that leaves before its turn is never prepared")
  func order() async throws {
    let harness = CachingHarness(100, Self.steady)
    harness.images.originals.blockReaders()
    let before = harness.images.originals.opened
    harness.images.blockRenderLane()
    _ = try harness.move(20..<30)
    harness.advance(by: .seconds(5))
    _ = try harness.move(60..<70)
    harness.advance(by: .seconds(1))
    harness.images.originals.resumeReaders()
    harness.images.unblockRenderLane()
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(55..<75))
    // At most the few preparations that were running.
    #expect(harness.images.originals.opened - before <= 24)
    #expect(harness.images.cache.pinCount == 20)
  }

  @Test("an unseen margin shrinks, whether there was time to prepare it or not")
  func unpreparedMargin() async throws {
    let harness = CachingHarness()
    harness.images.originals.blockReaders()
    harness.images.blockRenderLane()
    // Nothing is ahead or behind before the first movement, which is towards the beginning here.
    _ = try harness.move(80..<90)
    harness.advance(by: .seconds(1))
    // The second report ends the movement, and plans the margin before it returns.
    for _ in 0..<2 { _ = try harness.move(20..<30) }
    harness.advance(by: .seconds(1))
    _ = try harness.move(60..<70)
    harness.advance(by: .seconds(1))
    harness.images.originals.resumeReaders()
    harness.images.unblockRenderLane()
    try await harness.untilQuiet()
    // Five unseen frames on each side, of which each removes one sixteenth: four of five remain ahead. The share behind
    // starts with the share ahead at the first frame, and these leave in no particular order.
    #expect(harness.pinned() == Set(56..<74) || harness.pinned() == Set(57..<74))
  }

  @Test("a fling starts nothing new; when it ends, the missing frames are prepared")
  func fling() async throws {
    let harness = CachingHarness(2000)
    _ = try harness.move(0..<10)
    try await harness.untilQuiet()
    for step in 1...20 {
      harness.advance(by: .milliseconds(16))
      let status = try harness.move(step * 32..<step * 32 + 10)
      #expect(status.quality == .reduced && status.pending == 0)
    }
    try await harness.untilQuiet()
    #expect(harness.pinned() == [])
    harness.advance(by: .milliseconds(250))
    try await harness.untilQuiet()
    let range = Set(640..<650)
    #expect(harness.pinned().isSuperset(of: range))
    #expect(harness.managers.all(of: CachingHarness.owner)[0].window?.quality == .high)
  }

  @Test("a window whose assets could not be looked up when it came to rest is prepared a second later")
  func failedLookup() async throws {
    let harness = CachingHarness(100, Self.steady)
    _ = try harness.move(0..<10)
    try await harness.untilQuiet()
    harness.advance(by: .seconds(5))
    // The jump is taken for a fling, so positions are looked up when the window has come to rest.
    _ = try harness.move(60..<70)
    harness.library.failNextLookups(1)
    harness.advance(by: .seconds(1))
    try await harness.untilQuiet()
    #expect(harness.library.failures == 0 && harness.pinned().isDisjoint(with: 60..<70))
    harness.managers.tick()
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(55..<75))
  }

  @Test("without high quality, only cheap frames are prepared")
  func reduced() async throws {
    let harness = CachingHarness()
    let made = try harness.managers.make(for: CachingHarness.owner, allowsHighQuality: false)
    _ = try harness.start(0..<4, id: made.id)
    let status = try harness.move(20..<30, id: made.id)
    #expect(status.quality == .reduced)
    try await harness.untilQuiet()
    #expect(harness.pinned() == [])
    #expect(try harness.managers.status(made.id, for: CachingHarness.owner)?.leftOut == 24)
  }

  // MARK: Changes of the library

  @Test("a changed picture is prepared again, a deleted one released, a new one prepared")
  func changes() async throws {
    let harness = CachingHarness()
    _ = try harness.start([50, 51])
    _ = try harness.move(20..<30)
    try await harness.untilQuiet()
    let gone = try #require(harness.library[22])
    for index in [20, 50] { harness.library.edit(index) }
    for index in [22, 51] { harness.library.delete(index) }
    #expect(!harness.pinned().contains(20))
    harness.managers.libraryDidChange()
    harness.advance(by: .milliseconds(500))
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(15..<35).subtracting([22]).union([50]))
    #expect(harness.images.cache.pinCount == 20)
    harness.library.restore(22, from: gone)
    // No change was announced, but the regular check finds it.
    harness.managers.tick()
    harness.advance(by: .milliseconds(500))
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(15..<35).union([50]))
  }

  @Test("a change of other assets looks up no asset")
  func untouched() async throws {
    let harness = CachingHarness(100, Self.steady)
    _ = try harness.start([50])
    _ = try harness.move(20..<30)
    try await harness.untilQuiet()
    func after(_ change: () -> Void) async throws -> Int {
      let before = harness.library.lookedUp
      change()
      harness.managers.libraryDidChange()
      harness.advance(by: .milliseconds(500))
      try await harness.untilQuiet()
      return harness.library.lookedUp - before
    }
    // The first lookup has no change token.
    #expect(try await after { harness.library.edit(99) } == 41)
    #expect(try await after { harness.library.edit(98) } == 0)
    #expect(try await after { for index in 80..<88 { harness.library.edit(index) } } == 0)
    // Assets in the window are looked up by list and by name; started entries only by name.
    #expect(try await after { harness.library.edit(20) } == 2)
    #expect(try await after { harness.library.edit(50) } == 1)
    #expect(harness.pinned() == Set(15..<35).union([50]))
    // More changes than the history holds.
    #expect(try await after { for index in 80..<89 { harness.library.edit(index) } } == 41)
  }

  @Test("assets that were looked up during a change are looked up again")
  func overtaken() async throws {
    let harness = CachingHarness(100, Self.steady)
    _ = try harness.start([0])
    func changed() async throws {
      harness.managers.libraryDidChange()
      harness.advance(by: .milliseconds(500))
      try await harness.untilQuiet()
    }
    harness.library.edit(99)
    try await changed()
    // The asset changes while a lookup of it is running, so all assets are looked up again.
    harness.library.afterLookup {
      harness.library.edit(5)
      harness.managers.libraryDidChange()
      harness.advance(by: .milliseconds(500))
      harness.untilLookedUp()
    }
    _ = try harness.start([5])
    harness.managers.tick()
    try await harness.untilQuiet()
    #expect(harness.pinned() == [0, 5])
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    #expect(harness.images.cache.pinCount == 0)
  }

  @Test("assets are looked up again if the library changed during a refresh")
  func overtakenTwice() async throws {
    let harness = CachingHarness(100, Self.steady)
    let (isAsked, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    _ = try harness.start([0])
    harness.library.edit(99)
    harness.managers.libraryDidChange()
    harness.advance(by: .milliseconds(500))
    try await harness.untilQuiet()
    harness.library.afterLookup {
      // 5 was looked up and has changed since; so has 0, which is looked up once both changes are known.
      for index in [5, 0] { harness.library.edit(index) }
      harness.library.afterLookup {
        isAsked.signal()
        goesOn.wait()
      }
      harness.managers.libraryDidChange()
      harness.advance(by: .milliseconds(500))
      isAsked.wait()
    }
    _ = try harness.start([5])
    goesOn.signal()
    harness.untilLookedUp()
    harness.managers.tick()
    try await harness.untilQuiet()
    #expect(harness.pinned() == [0, 5])
  }

  // MARK: Changes of lists

  @Test("a window follows its list: visible assets stay visible and are not prepared again")
  func follows() async throws {
    let harness = CachingHarness(100, Self.steady)
    let list = ChangingList(harness.library, Array(20..<80))
    func state() throws -> (window: WindowStatus?, prepared: Int) {
      let status = try #require(try harness.managers.status("default", for: CachingHarness.owner))
      return (status.window, status.counts.prepared)
    }
    func changed(_ change: (inout [Int]) -> Void) async throws {
      list.change(change)
      harness.managers.libraryDidChange()
      harness.advance(by: .milliseconds(500))
      try await harness.untilQuiet()
    }
    _ = try harness.move(10..<20, over: list.source)
    try await harness.untilQuiet()
    #expect(harness.pinned() == Set(25..<45))
    // Inserted before the visible positions: the window moves along. 25 and 44 keep their assets, and nothing is
    // prepared.
    try await changed { $0.insert(contentsOf: [0, 1, 2], at: 4) }
    #expect(try state().window?.range == 8..<28)
    #expect(try state().prepared == 20 && harness.pinned() == Set(25..<45))
    let lookedUp = harness.library.lookedUp
    try await changed { $0.removeSubrange(0..<2) }
    #expect(try state().window?.range == 6..<26)
    #expect(harness.library.lookedUp == lookedUp, "what moved along is known")
    // Inserted after the visible positions: the window stays.
    try await changed { $0.removeSubrange(40...) }
    #expect(try state().window?.range == 6..<26 && state().prepared == 20)
    // Inserted within: the first remaining asset is the first visible one, and new assets are prepared.
    try await changed { $0.removeSubrange(11..<13) }
    #expect(try state().window?.range == 6..<26)
    #expect(harness.pinned() == Set(25..<47).subtracting([30, 31]))
    #expect(try state().prepared == 22)
    // All visible assets are replaced.
    try await changed { $0.reverse() }
    try await changed { $0 = [99, 98] + $0.suffix(3) }
    #expect(try state().window?.range == 0..<5)
    try await changed { $0 = [] }
    #expect(try state().window?.range == 0..<0 && harness.images.cache.pinCount == 0)
    try await changed { $0 = Array(50..<60) }
    #expect(harness.images.cache.pinCount == harness.pinned().count)
    // The client reports its position in the current list.
    _ = try harness.move(0..<3, margin: 1, over: list.source)
    try await harness.untilQuiet()
    // 54 is kept because it is near.
    #expect(harness.pinned() == [50, 51, 52, 53, 54])
    list.end()
    harness.managers.tick()
    try await harness.untilQuiet()
    #expect(try state().window == nil && harness.images.cache.pinCount == 0)
  }

  @Test(
    "a move during a lookup wins over the lookup's result",
    arguments: ["the same list", "another list", "another list, which it does not know of"])
  func meanwhile(_ kind: String) async throws {
    let harness = CachingHarness(100, Self.steady)
    let list = ChangingList(harness.library, Array(0..<90))
    let old = list.source
    _ = try harness.move(10..<20, over: old)
    try await harness.untilQuiet()
    func changed() async throws {
      harness.managers.libraryDidChange()
      harness.advance(by: .seconds(1))
      try await harness.untilQuiet()
    }
    harness.library.edit(99)
    try await changed()
    let before = harness.library.lookedUp
    if kind != "the same list" { list.change { $0.insert(contentsOf: [90, 91, 92], at: 0) } }
    harness.library.edit(12)
    let said = kind.hasSuffix("of") ? old : list.source
    harness.library.afterLookup { _ = try? harness.move(12..<22, over: said) }
    try await changed()
    harness.advance(by: .seconds(1))
    try await harness.untilQuiet()
    #expect(try harness.managers.status("default", for: CachingHarness.owner)?.window?.range == 7..<27)
    #expect(harness.pinned().isSuperset(of: list.rows[7..<27]))
    // The changed asset, by name and by position, and the new positions ahead.
    if kind == "the same list" { #expect(harness.library.lookedUp - before == 2 + 7) }
  }

  @Test("a long list is read on the fetch queue, and only its window waits")
  func longList() async throws {
    let harness = CachingHarness(100, Self.steady)
    let list = ChangingList(harness.library, Array(0..<60), isLong: true)
    _ = try harness.move(10..<20, over: list.source)
    try await harness.untilQuiet()
    list.change { $0.removeFirst() }
    harness.managers.libraryDidChange()
    harness.advance(by: .milliseconds(500))
    try await harness.untilQuiet()
    #expect(try harness.managers.status("default", for: CachingHarness.owner)?.window?.range == 4..<24)
    #expect(list.readings == 1 && harness.pinned() == Set(5..<25))
  }

  @Test("a change to another list is not a movement; a move over a newer version of the same list is")
  func anotherList() throws {
    let harness = CachingHarness(100)
    _ = try harness.move(80..<90)
    harness.advance(by: .milliseconds(16))
    let list = ChangingList(harness.library, Array(0..<60))
    #expect(try harness.move(0..<10, over: list.source).quality == .high)
    harness.advance(by: .milliseconds(16))
    list.change { $0.removeLast() }
    #expect(try harness.move(40..<50, over: list.source).quality == .reduced)
  }
}
