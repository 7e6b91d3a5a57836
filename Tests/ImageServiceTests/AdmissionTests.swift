import Dispatch
import ImageService
import PhotoFixtures
import PhotoModel
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Which jobs are admitted, in which order, and which are refused.
@Suite("Admission")
struct AdmissionTests {
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))

  private static func name(_ delivery: ImageDelivery) -> String {
    switch delivery {
    case .progress(let share): "progress \(share)"
    case .degraded(let frame): "degraded \(frame.result.requestID)"
    case .final(let frame): "final \(frame.result.requestID)"
    case .failed(let error): "\(error)"
    }
  }

  @Test("an original that is not opened for want of a descriptor is asked for again, and not reported as unreadable")
  func outOfDescriptors() {
    for code in [EMFILE, ENFILE] {
      #expect(ImageServiceError(OriginalStoreError.failed(SystemError(code: code))) == .outOfDescriptors)
    }
    guard case .failed = ImageServiceError(OriginalStoreError.failed(SystemError(code: EIO))) else {
      Issue.record("a failed disk is no want of descriptors")
      return
    }
  }

  @Test("jobs over the limit are refused at once; waiting jobs are answered when there is room")
  func limit() async throws {
    let harness = ImageManagerHarness { $0.waitingJobs = 3 }
    let assets = (0..<5).map { harness.originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    for i in 0..<3 { _ = harness.request(assets[i], named: "\(i)") { log.append(Self.name($0)) } }
    _ = harness.request(assets[3], named: "late") { log.append("late " + Self.name($0)) }
    #expect(await log.lines(1) == ["late queueFull"])
    // A task that joins a waiting job adds no job.
    _ = harness.request(assets[0], named: "joins") { log.append(Self.name($0)) }
    harness.unblockRenderLane()
    #expect(Set(await log.lines(4)) == ["final 0", "final 1", "final 2", "final joins"])
    _ = harness.request(assets[4], named: "4") { log.append(Self.name($0)) }
    #expect(await log.lines(1) == ["final 4"])
  }

  /// Requests one of the assets and logs its deliveries.
  private static func request(
    _ assets: [Asset], _ number: Int, by caller: String, _ harness: ImageManagerHarness, _ log: EventLog
  ) {
    _ = harness.request(assets[number], named: "\(number)", caller: caller) { log.append(name($0)) }
  }

  @Test("a caller may fill the queue, but what it has beyond half of it takes no place from others")
  func shares() async throws {
    let harness = ImageManagerHarness { $0.waitingJobs = 4 }
    let assets = (0..<10).map { harness.originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    func request(_ number: Int, by caller: String) { Self.request(assets, number, by: caller, harness, log) }
    for number in 0..<4 { request(number, by: "greedy") }
    request(4, by: "greedy")
    #expect(await log.lines(1) == ["queueFull"])
    request(4, by: "other")
    request(5, by: "other")
    // It has its half, and is not alone.
    request(6, by: "other")
    request(7, by: "greedy")
    request(8, by: "third")
    #expect(await log.lines(3) == ["queueFull", "queueFull", "queueFull"])
    harness.unblockRenderLane()
    #expect(Set(await log.lines(6)) == Set((0..<6).map { "final \($0)" }))
    request(9, by: "third")
    #expect(await log.lines(1) == ["final 9"])
  }

  @Test("a caller with many waiting requests delays another one by a single render, also if both wait for the same")
  func turns() async throws {
    let harness = ImageManagerHarness()
    let assets = (0..<6).map { harness.originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    func request(_ number: Int, by caller: String) { Self.request(assets, number, by: caller, harness, log) }
    for number in 0..<5 { request(number, by: "greedy") }
    try await harness.untilQueued(5)
    request(5, by: "other")
    try await harness.untilQueued(6)
    request(3, by: "third")
    harness.unblockRenderLane()
    let order = await log.lines(7)
    #expect(Array(order.prefix(4)) == ["final 0", "final 5", "final 3", "final 3"], "\(order)")
  }

  @Test("a job that another caller joins before it is in the queue comes in the turn of the one with less work")
  func joinedEarly() async throws {
    let (originals, gate) = (InMemoryOriginals(), Gate())
    let harness = ImageManagerHarness {
      $0.originals = OriginalStore { original throws(OriginalStoreError) in
        if original.path == Array("5".utf8) { gate.pass() }
        return try originals.store.open(original)
      }
    }
    let assets = (0..<7).map { originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    func request(_ number: Int, by caller: String) { Self.request(assets, number, by: caller, harness, log) }
    for number in 0..<5 { request(number, by: "greedy") }
    try await harness.untilQueued(5)
    gate.shut()
    request(5, by: "greedy")
    await gate.waitUntilBlocked()
    request(5, by: "other")
    gate.open()
    // The only quick worker has ended its step for the job before.
    request(6, by: "greedy")
    try await harness.untilQueued(7)
    harness.unblockRenderLane()
    let order = await log.lines(8)
    #expect(Array(order.prefix(4)) == ["final 0", "final 5", "final 5", "final 1"], "\(order)")
  }

  @Test("higher priority goes first, and a job has the priority of its most urgent task")
  func priorities() async throws {
    let harness = ImageManagerHarness()
    let assets = (0..<4).map { harness.originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    let wishes: [(asset: Int, priority: ImagePriority)] = [(0, .low), (1, .normal), (2, .high), (3, .preheat)]
    for wish in wishes {
      _ = harness.request(assets[wish.asset], named: "\(wish.asset)", priority: wish.priority) {
        log.append(Self.name($0))
      }
    }
    // An urgent task joins the job with the lowest priority, and a task with high priority leaves its job.
    _ = harness.request(assets[3], named: "urgent", priority: .high) { log.append(Self.name($0)) }
    try await harness.untilQueued(4)
    harness.unblockRenderLane()
    let order = await log.lines(5)
    #expect(order == ["final 2", "final 3", "final urgent", "final 1", "final 0"])
  }

  @Test("a job's priority falls when its most urgent task leaves")
  func lowered() async throws {
    let harness = ImageManagerHarness()
    let assets = (0..<2).map { harness.originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    _ = harness.request(assets[0], named: "0", priority: .low) { log.append(Self.name($0)) }
    let urgent = harness.request(assets[0], named: "urgent", priority: .high) { log.append(Self.name($0)) }
    _ = harness.request(assets[1], named: "1") { log.append(Self.name($0)) }
    try await harness.untilQueued(2)
    harness.manager.cancel(urgent)
    harness.unblockRenderLane()
    #expect(await log.lines(3) == ["cancelled", "final 1", "final 0"])
  }

  @Test("when a task joins a job while another one leaves, the job has the priority of the remaining tasks")
  func priorityOfRemainingTasks() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.picture)
    harness.blockRenderLane()
    _ = harness.request(asset, named: "window", priority: .preheat) { _ in }
    try await harness.untilQueued(1)
    // Chance decides how the threads overlap, so there are many rounds.
    for _ in 0..<2000 {
      let leaving = harness.request(asset, named: "leaving") { _ in }
      DispatchQueue.concurrentPerform(iterations: 2) { thread in
        if thread == 0 {
          harness.manager.cancel(leaving)
        } else {
          _ = harness.request(asset, named: "joining") { _ in }
        }
      }
      try #require(harness.renderLane.waitingCounts == (interactive: 1, background: 0))
      #expect(harness.manager.cancelRequest("joining", owner: "me"))
      try #require(harness.renderLane.waitingCounts == (interactive: 0, background: 1))
    }
    harness.unblockRenderLane()
    try await harness.untilIdle()
  }

  @Test("batches wait in turn for requests of their caller, and not for those of others")
  func waitingBatches() async throws {
    let harness = ImageManagerHarness { $0.waitingJobs = 3 }
    let manager = harness.manager
    let assets = (0..<2).map { harness.originals.add(Self.picture, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    let tasks = (0..<2).map { number in harness.request(assets[number], named: "\(number)", caller: "a") { _ in } }
    func waits(_ name: String, _ caller: String) -> Bool {
      let context = ImageManager.RequestContext(requestID: name, caller: caller)
      return manager.awaitRequestEnd(context) { log.append(name) }
    }
    #expect(!waits("other", "b"))
    #expect(waits("first", "a") && waits("first", "a") && waits("second", "a") && waits("third", "a"))
    manager.batchEnded(ImageManager.RequestContext(requestID: "second", caller: "a"))
    manager.cancel(tasks[0])
    #expect(await log.lines(1) == ["first"])
    #expect(waits("fourth", "a"))
    // The last request wakes all, because no other one would.
    manager.cancel(tasks[1])
    #expect(await log.lines(2) == ["third", "fourth"])
    #expect(!waits("fifth", "a"))
    // A batch may request a refused frame again, so only the end of its attempts is a failure.
    func failures() -> Double { harness.metric(#"photod_image_failures_total{reason="overloaded"}"#) ?? 0 }
    #expect(failures() == 0)
    manager.refusalWasFinal()
    #expect(failures() == 1)
  }

  @Test("a render that can never fit is refused with its size and the budget")
  func neverFits() async throws {
    let harness = ImageManagerHarness { $0.memoryBytes = 1000 }
    let asset = harness.originals.add(Self.picture)
    guard case .failed(.overBudget(let needed, let budget))? = await harness.deliveries(asset).last else {
      Issue.record("not refused")
      return
    }
    #expect(needed > 1000 && budget == 1000)
  }

  @Test("a task over its deadline fails, by the manager's clock")
  func deadline() async throws {
    let harness = ImageManagerHarness { $0.limits.deadline = .seconds(10) }
    let asset = harness.originals.add(Self.picture)
    harness.blockRenderLane()
    let log = EventLog()
    _ = harness.request(asset, named: "old") { log.append("old " + Self.name($0)) }
    harness.clock.advance(by: .seconds(6))
    _ = harness.request(asset, named: "new") { log.append("new " + Self.name($0)) }
    harness.clock.advance(by: .seconds(5))
    harness.manager.expire()
    #expect(await log.lines(1) == ["old deadlineExceeded"])
    harness.unblockRenderLane()
    #expect(await log.lines(1) == ["new final new"])
  }

  @Test("a request ID in use is refused for its owner and allowed for another owner")
  func names() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.picture)
    harness.blockRenderLane()
    let log = EventLog()
    _ = harness.request(asset, named: "n", caller: "a") { log.append("a " + Self.name($0)) }
    _ = harness.request(asset, named: "n", caller: "a") { log.append("again " + Self.name($0)) }
    _ = harness.request(asset, named: "n", caller: "b") { log.append("b " + Self.name($0)) }
    #expect(await log.lines(1) == ["again requestIDInUse"])
    let wanted = ResolvedRequest(ImageRequest(), for: asset)
    #expect(!harness.manager.recordFile(wanted, ImageManager.RequestContext(requestID: "n", caller: "a")))
    #expect(harness.manager.recordFile(wanted, ImageManager.RequestContext(requestID: "m", caller: "a")))
    #expect(harness.manager.activeRequests(owner: "a").map(\.requestID) == ["n"])
    #expect(!harness.manager.cancelRequest("n", owner: "c"))
    #expect(harness.manager.cancelRequest("n", owner: "b"))
    harness.unblockRenderLane()
    #expect(await log.lines(2) == ["b cancelled", "a final n"])
  }

  @Test("the outcome of a request is known to its owner for one minute")
  func remembered() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.picture)
    let log = EventLog()
    _ = harness.request(asset, named: "n") { log.append(Self.name($0)) }
    _ = await log.lines(1)
    let state = try #require(harness.manager.request("n", owner: "me"))
    guard case .finished = state.phase else {
      Issue.record("not finished")
      return
    }
    #expect(state.frames.map(\.size) == [PixelSize(width: 64, height: 48)])
    #expect(harness.manager.request("n", owner: "other") == nil)
    #expect(harness.manager.request("n", owner: "other", includingOtherOwners: true) != nil)
    harness.clock.advance(by: .seconds(61))
    #expect(harness.manager.request("n", owner: "me") == nil)
  }

  @Test("the number of remembered requests is limited")
  func bounded() async throws {
    let harness = ImageManagerHarness { $0.limits.retainedRequests = 2 }
    let asset = harness.originals.add(Self.picture)
    let log = EventLog()
    for name in ["1", "2", "3"] {
      _ = harness.request(asset, named: name) { log.append(Self.name($0)) }
      _ = await log.lines(1)
    }
    #expect(["1", "2", "3"].map { harness.manager.request($0, owner: "me") != nil } == [false, true, true])
  }
}
