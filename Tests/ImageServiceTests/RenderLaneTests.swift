import ImageService
import PhotoFixtures
import Primitives
import Testing

@Suite("Render lane")
struct RenderLaneTests {
  /// Work that waits for its gate and logs its start.
  private static func work(_ name: String, _ log: EventLog, _ gate: Gate? = nil) -> RenderLane.Work {
    { _ in
      log.append(name)
      gate?.pass()
    }
  }

  @Test(
    "nothing overtakes the first entry while that waits for the memory of running work, however small",
    arguments: ["me", "other"])
  func noOvertaking(caller: String) async {
    let budget = ByteBudget(capacityBytes: 100)
    let lane = RenderLane(label: "test", workers: 4, budget: budget)
    let log = EventLog()
    let gate = Gate()
    gate.shut()
    lane.submit(.normal, bytes: 50, for: "me", Self.work("running", log, gate))
    #expect(await log.lines(1) == ["running"])
    lane.submit(.normal, bytes: 80, for: "me", Self.work("large", log))
    lane.submit(.normal, bytes: 1, for: caller, Self.work("small", log))
    #expect(lane.waitingCounts.interactive == 2)
    gate.open()
    #expect(Set(await log.lines(2)) == ["large", "small"])
  }

  @Test("while the first entry waits for memory, more urgent work of its caller goes before it, and the turns go on")
  func urgentWork() async {
    let lane = RenderLane(label: "test", workers: 4, budget: ByteBudget(capacityBytes: 100))
    let log = EventLog()
    let gate = Gate()
    gate.shut()
    lane.submit(.normal, bytes: 50, for: "me", Self.work("running", log, gate))
    #expect(await log.lines(1) == ["running"])
    lane.submit(.normal, bytes: 80, for: "me", Self.work("large", log))
    lane.submit(.high, bytes: 1, for: "other", Self.work("other's", log))
    #expect(lane.waitingCounts.interactive == 2)
    lane.submit(.high, bytes: 1, for: "me", Self.work("urgent", log))
    #expect(Set(await log.lines(2)) == ["urgent", "other's"])
    #expect(lane.waitingCounts.interactive == 1)
    gate.open()
    #expect(await log.lines(1) == ["large"])
  }

  @Test("while nothing runs and others hold the memory, later entries that fit start, by their order")
  func overtaking() async {
    let budget = ByteBudget(capacityBytes: 100)
    let lane = RenderLane(label: "test", workers: 4, budget: budget)
    let log = EventLog()
    let gate = Gate()
    gate.shut()
    let held = budget.tryReserve(50)
    lane.submit(.normal, bytes: 80, Self.work("large", log))
    lane.submit(.normal, bytes: 90, Self.work("larger", log))
    lane.submit(.normal, bytes: 10, Self.work("small", log, gate))
    lane.submit(.normal, bytes: 5, Self.work("second", log))
    #expect(await log.lines(1) == ["small"])
    #expect(lane.waitingCounts.interactive == 3, "one at a time")
    gate.open()
    #expect(await log.lines(1) == ["second"])
    held?.release()
    #expect(await log.lines(2) == ["large", "larger"])
  }

  @Test("withdrawing the first entry lets later ones start; started work can't be withdrawn")
  func withdrawal() async {
    let budget = ByteBudget(capacityBytes: 100)
    let lane = RenderLane(label: "test", workers: 4, budget: budget)
    let log = EventLog()
    let gate = Gate()
    gate.shut()
    lane.submit(.normal, bytes: 50, Self.work("running", log, gate))
    #expect(await log.lines(1) == ["running"])
    let large = lane.submit(.normal, bytes: 80, Self.work("large", log))
    let small = lane.submit(.normal, bytes: 1, Self.work("small", log))
    #expect(lane.withdraw(large))
    #expect(await log.lines(1) == ["small"])
    #expect(!lane.withdraw(small) && !lane.withdraw(large))
    gate.open()
  }

  @Test("withdrawn work that holds memory of the budget gives it to later work")
  func withdrawnMemory() async throws {
    let budget = ByteBudget(capacityBytes: 100)
    let lane = RenderLane(label: "test", workers: 1, budget: budget)
    let log = EventLog()
    func holding(_ memory: ByteBudget.Reservation?) -> RenderLane.Work {
      { _ in log.append("held \(memory?.bytes ?? 0)") }
    }
    let others = budget.tryReserve(30)
    let holder = lane.submit(.normal, bytes: 60, holding(budget.tryReserve(50)))
    lane.submit(.normal, bytes: 60, Self.work("next", log))
    #expect(lane.withdraw(holder))
    #expect(await log.lines(1) == ["next"])
    others?.release()
    try await eventually { budget.bytesInUse == 0 }
  }

  @Test("background work leaves one worker free")
  func background() async {
    let gate = Gate()
    gate.shut()
    let lane = RenderLane(label: "test", workers: 2, budget: ByteBudget(capacityBytes: 100))
    let log = EventLog()
    for i in 0..<3 { lane.submit(.background, bytes: 1, Self.work("background \(i)", log, gate)) }
    #expect(await log.lines(1) == ["background 0"])
    lane.submit(.low, bytes: 1, Self.work("asked for", log))
    #expect(await log.lines(1) == ["asked for"])
    gate.open()
    #expect(await log.lines(2) == ["background 1", "background 2"])
  }

  @Test("the split-off part of a reservation is kept until it is released")
  func kept() async {
    let budget = ByteBudget(capacityBytes: 100)
    let lane = RenderLane(label: "test", workers: 1, budget: budget)
    let (stream, continuation) = AsyncStream.makeStream(of: ByteBudget.Reservation.self)
    lane.submit(.normal, bytes: 80) { continuation.yield($0.split(off: 30)) }
    var kept = stream.makeAsyncIterator()
    let part = await kept.next()
    let log = EventLog()
    lane.submit(.normal, bytes: 70, Self.work("next", log))
    #expect(await log.lines(1) == ["next"])
    part?.release()
    lane.submit(.normal, bytes: 100, Self.work("all", log))
    #expect(await log.lines(1) == ["all"])
  }
}
