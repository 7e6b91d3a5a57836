import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// Who is let in, in which order, and who is told to come again.
@Suite("Admission")
struct AdmissionTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))

  private static func name(_ delivery: ImageDelivery) -> String {
    switch delivery {
    case .degraded(let frame): "degraded \(frame.result.requestID)"
    case .final(let frame): "final \(frame.result.requestID)"
    case .failed(let error): "\(error)"
    }
  }

  @Test("as many jobs wait as may; one more is refused at once, and those in line are answered when there is room")
  func limit() async throws {
    let studio = Studio { $0.limits.waitingJobs = 3 }
    let assets = (0..<5).map { studio.originals.add(Self.picture, named: "\($0)") }
    studio.shutRenderLane()
    let journal = Journal()
    for i in 0..<3 { _ = studio.request(assets[i], named: "\(i)") { journal.note(Self.name($0)) } }
    _ = studio.request(assets[3], named: "late") { journal.note("late " + Self.name($0)) }
    #expect(await journal.lines(1) == ["late queueFull"])
    // One who wants what others wait for is no job more.
    _ = studio.request(assets[0], named: "joins") { journal.note(Self.name($0)) }
    studio.openRenderLane()
    #expect(Set(await journal.lines(4)) == ["final 0", "final 1", "final 2", "final joins"])
    _ = studio.request(assets[4], named: "4") { journal.note(Self.name($0)) }
    #expect(await journal.lines(1) == ["final 4"])
  }

  @Test("what presses more overtakes what came before it, and the same presses as its most pressing task")
  func priorities() async throws {
    let studio = Studio()
    let assets = (0..<4).map { studio.originals.add(Self.picture, named: "\($0)") }
    studio.shutRenderLane()
    let journal = Journal()
    let wishes: [(asset: Int, priority: ImagePriority)] = [(0, .low), (1, .normal), (2, .high), (3, .preheat)]
    for wish in wishes {
      _ = studio.request(assets[wish.asset], named: "\(wish.asset)", priority: wish.priority) {
        journal.note(Self.name($0))
      }
    }
    // The one that pressed least is wanted by one who presses most, and one who pressed much leaves.
    _ = studio.request(assets[3], named: "urgent", priority: .high) { journal.note(Self.name($0)) }
    await studio.untilQueued(4)
    studio.openRenderLane()
    let order = await journal.lines(5)
    #expect(order == ["final 2", "final 3", "final urgent", "final 1", "final 0"])
  }

  @Test("a job presses less when the one who pressed leaves")
  func lowered() async throws {
    let studio = Studio()
    let assets = (0..<2).map { studio.originals.add(Self.picture, named: "\($0)") }
    studio.shutRenderLane()
    let journal = Journal()
    _ = studio.request(assets[0], named: "0", priority: .low) { journal.note(Self.name($0)) }
    let urgent = studio.request(assets[0], named: "urgent", priority: .high) { journal.note(Self.name($0)) }
    _ = studio.request(assets[1], named: "1") { journal.note(Self.name($0)) }
    await studio.untilQueued(2)
    studio.manager.cancel(urgent)
    studio.openRenderLane()
    #expect(await journal.lines(3) == ["cancelled", "final 1", "final 0"])
  }

  @Test("what could never fit is refused with what it needs and what there is")
  func neverFits() async throws {
    let studio = Studio { $0.memoryBytes = 1000 }
    let asset = studio.originals.add(Self.picture)
    guard case .failed(.overBudget(let needed, let budget))? = await studio.deliveries(asset).last else {
      Issue.record("not refused")
      return
    }
    #expect(needed > 1000 && budget == 1000)
  }

  @Test("a task that takes longer than it may is told so; the clock is the manager's")
  func deadline() async throws {
    let studio = Studio { $0.limits.deadline = .seconds(10) }
    let asset = studio.originals.add(Self.picture)
    studio.shutRenderLane()
    let journal = Journal()
    _ = studio.request(asset, named: "old") { journal.note("old " + Self.name($0)) }
    studio.clock.advance(by: .seconds(6))
    _ = studio.request(asset, named: "new") { journal.note("new " + Self.name($0)) }
    studio.clock.advance(by: .seconds(5))
    studio.manager.expire()
    #expect(await journal.lines(1) == ["old deadlineExceeded"])
    studio.openRenderLane()
    #expect(await journal.lines(1) == ["new final new"])
  }

  @Test("a name that is in use is refused, and the other request goes on; another owner's is another name")
  func names() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.picture)
    studio.shutRenderLane()
    let journal = Journal()
    _ = studio.request(asset, named: "n", owner: "a") { journal.note("a " + Self.name($0)) }
    _ = studio.request(asset, named: "n", owner: "a") { journal.note("again " + Self.name($0)) }
    _ = studio.request(asset, named: "n", owner: "b") { journal.note("b " + Self.name($0)) }
    #expect(await journal.lines(1) == ["again requestIDInUse"])
    #expect(studio.manager.activeRequests(owner: "a").map(\.requestID) == ["n"])
    #expect(!studio.manager.cancelRequest("n", owner: "c"))
    #expect(studio.manager.cancelRequest("n", owner: "b"))
    studio.openRenderLane()
    #expect(await journal.lines(2) == ["b cancelled", "a final n"])
  }

  @Test("what became of a request is known for a minute, to its owner")
  func remembered() async throws {
    let studio = Studio()
    let asset = studio.originals.add(Self.picture)
    let journal = Journal()
    _ = studio.request(asset, named: "n") { journal.note(Self.name($0)) }
    _ = await journal.lines(1)
    let state = try #require(studio.manager.request("n", owner: "me"))
    guard case .finished = state.phase else {
      Issue.record("not finished")
      return
    }
    #expect(state.frames.map(\.size) == [PixelSize(width: 64, height: 48)])
    #expect(studio.manager.request("n", owner: "other") == nil)
    #expect(studio.manager.request("n", owner: "other", orAnybodys: true) != nil)
    studio.clock.advance(by: .seconds(61))
    #expect(studio.manager.request("n", owner: "me") == nil)
  }

  @Test("no more is remembered than may be")
  func bounded() async throws {
    let studio = Studio { $0.limits.rememberedRequests = 2 }
    let asset = studio.originals.add(Self.picture)
    let journal = Journal()
    for name in ["1", "2", "3"] {
      _ = studio.request(asset, named: name) { journal.note(Self.name($0)) }
      _ = await journal.lines(1)
    }
    #expect(["1", "2", "3"].map { studio.manager.request($0, owner: "me") != nil } == [false, true, true])
  }
}
