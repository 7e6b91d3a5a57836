import ImageService
import PhotoFixtures
import PhotoModel
import Primitives
import Synchronization
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

  @Test("a preview whose proxy is gone decodes its picture again in the memory of its turn; no other proxy is lost")
  func decodesAgainInItsMemory() async throws {
    let log = EventLog()
    let alone = Harness()
    let worker = alone.occupyWorker()
    _ = alone.start("alone", of: alone.asset, log)
    #expect(await log.next() == "alone: 200 pixels wide")
    worker.open()
    let needed = alone.budget.peakBytesInUse

    let harness = Harness()
    for client in ["one", "other"] { _ = try await harness.outcome([], client).get() }
    try await eventually { harness.lane.runningCount == 0 }
    let (first, second) = (harness.occupyWorker(), harness.occupyWorker())
    let proxyBytes = harness.budget.bytesInUse / 2
    let capacity = harness.budget.capacityBytes
    // Starts when the older proxy is released, and leaves memory for one decode and its preview beside the other.
    let held = Mutex<ByteBudget.Reservation?>(nil)
    harness.lane.submit(.high, bytes: capacity - proxyBytes, for: "me") { reservation in
      held.withLock { $0 = reservation.split(off: capacity - proxyBytes - needed) }
    }
    _ = harness.start("one", of: harness.asset, client: "one", log)
    harness.clock.advance(by: .seconds(1))
    harness.start("other", of: harness.asset, client: "other", log).cancel()
    #expect(await log.next() == "other: cancelled")
    harness.originals.blockOpening()
    first.open()
    await harness.originals.waitUntilOpeningBlocks()
    // A worker is free when the decode is queued.
    second.open()
    try await eventually { harness.lane.runningCount == 1 }
    #expect(harness.service.proxyCount == 1)
    harness.originals.resumeOpening()
    #expect(await log.next() == "one: 200 pixels wide")
    #expect(harness.service.proxyCount == 2)
    held.withLock { $0.take() }?.release()
  }

  @Test("a first preview that needs more memory than its decode takes none from another client's proxy")
  func firstPreviewInItsMemory() async throws {
    // A decode in gray takes less memory than a preview in colour that is turned.
    let pixels = Scene(seed: 5).pixels(width: 1200, height: 900)
    let file = JPEGFile { $0.color = .gray }.encoded(pixels)
    let operations: [AdjustmentOperation] = [.rotate(quarterTurns: 1), .tone(.exposure, 0.5)]
    let alone = Harness()
    let worker = alone.occupyWorker()
    _ = try await alone.outcome(operations, side: 1200, of: alone.originals.add(file, named: "gray")).get()
    worker.open()
    let needed = alone.budget.peakBytesInUse

    let harness = Harness()
    _ = try await harness.outcome([], "other").get()
    try await eventually { harness.lane.runningCount == 0 }
    let left = harness.budget.capacityBytes - harness.budget.bytesInUse
    let held = try #require(harness.budget.tryReserve(left - needed))
    harness.clock.advance(by: .seconds(1))
    let gray = harness.originals.add(file, named: "gray")
    let image = try await harness.outcome(operations, side: 1200, of: gray).get()
    #expect(image.size == PixelSize(width: 900, height: 1200))
    #expect(harness.service.proxyCount == 2)
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
