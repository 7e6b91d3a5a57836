import ImageService
import PhotoFixtures
import Primitives
import Testing

// What previews leave in the render lane: entries and memory.

extension PreviewServiceTests {
  @Test("a preview that is cancelled before its turn leaves the render lane, and so does a decode")
  func cancelledLeaveTheLane() async throws {
    let harness = Harness()
    _ = try await harness.outcome([]).get()
    let gate = try await harness.occupyWorkers()
    let log = EventLog()
    for number in 0..<100 { _ = harness.start("\(number)", of: harness.asset, log) }
    #expect(harness.lane.waitingCounts.interactive == 1)
    #expect(await log.lines(99) == (0..<99).map { "\($0): cancelled" })
    for name in ["first", "second", "third"] {
      _ = harness.start(name, of: harness.originals.add(harness.file, named: name), log)
    }
    #expect(harness.lane.waitingCounts.interactive == 1)
    #expect(await log.lines(3) == ["99: cancelled", "first: cancelled", "second: cancelled"])
    gate.open()
    #expect(await log.next() == "third: 200 pixels wide")
  }

  @Test("a client that leaves takes its preview out of the render lane")
  func clientLeaves() async throws {
    let harness = Harness()
    _ = try await harness.outcome([]).get()
    let gate = try await harness.occupyWorkers()
    let log = EventLog()
    let task = harness.start("preview", of: harness.asset, log)
    #expect(harness.lane.waitingCounts.interactive == 1)
    task.cancel()
    #expect(harness.lane.waitingCounts.interactive == 0)
    #expect(await log.next() == "preview: cancelled")
    gate.open()
  }

  @Test("two clients get their previews in memory that is enough for one of them")
  func scarceMemory() async throws {
    let alone = Harness()
    let log = EventLog()
    _ = alone.start("alone", of: alone.asset, log)
    #expect(await log.next() == "alone: 200 pixels wide")
    let harness = Harness()
    for client in ["one", "other"] { _ = try await harness.outcome([], client).get() }
    let gate = try await harness.occupyWorkers()
    // Both wait, each with its proxy in memory.
    for client in ["one", "other"] { _ = harness.start(client, of: harness.asset, client: client, log) }
    let proxyBytes = harness.budget.bytesInUse
    let left = max(alone.budget.peakBytesInUse, proxyBytes)
    let held = try #require(harness.budget.tryReserve(harness.budget.capacityBytes - left))
    gate.open()
    try await eventually { harness.lane.waitingCounts.interactive == 0 && harness.lane.runningCount == 0 }
    #expect(await Set(log.lines(2)) == ["one: 200 pixels wide", "other: 200 pixels wide"])
    held.release()
  }

  @Test("a preview that is not ready in time ends and leaves the render lane; a decode does so with its session")
  func deadline() async throws {
    let harness = Harness { $0.deadline = .seconds(10) }
    _ = try await harness.outcome([]).get()
    let gate = try await harness.occupyWorkers()
    let log = EventLog()
    _ = harness.start("preview", of: harness.asset, log)
    let other = harness.originals.add(harness.file, named: "other")
    _ = harness.start("decode", of: other, client: "other", log)
    harness.clock.advance(by: .seconds(10))
    harness.service.expire()
    #expect(harness.lane.waitingCounts.interactive == 2)
    harness.clock.advance(by: .seconds(1))
    harness.service.expire()
    #expect(await Set(log.lines(2)) == ["preview: deadlineExceeded", "decode: deadlineExceeded"])
    // The client may ask again.
    #expect(harness.lane.waitingCounts.interactive == 1)
    harness.clock.advance(by: .seconds(60))
    harness.service.expire()
    #expect(harness.lane.waitingCounts.interactive == 0 && harness.service.proxyCount == 0)
    gate.open()
  }
}
