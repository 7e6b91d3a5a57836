import Dispatch
import ImageService
import PhotoModel
import Testing

/// Windows, and how they follow the library and its lists.
extension CachingManagerTests {
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
    let studio = CachingStudio(100, Self.steady)
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

  @Test("a margin that there was no time for was as little wanted as one that was prepared")
  func unpreparedMargin() async throws {
    let studio = CachingStudio()
    studio.studio.originals.stop()
    studio.studio.shutRenderLane()
    _ = try studio.move(20..<30)
    _ = try studio.move(60..<70)
    studio.advance(by: .seconds(1))
    studio.studio.originals.goOn()
    studio.studio.openRenderLane()
    await studio.untilQuiet()
    // Of ten one in sixteen less each time: three of five are left.
    #expect(studio.pinned() == Set(57..<73))
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
}
