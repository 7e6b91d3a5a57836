import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// Tasks for the same picture share one job.
@Suite("Shared jobs")
struct JobTests {
  /// Larger than the part that is read for the header.
  private static let photograph = JPEGFile { $0.quality = 98 }.encoded(Scene(seed: 5).pixels(width: 1200, height: 900))
  private static let small = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))

  private static func request(_ side: Int, _ delivery: DeliveryMode = .highQualityFormat) -> ImageRequest {
    ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), deliveryMode: delivery)
  }

  private static func name(_ delivery: ImageDelivery) -> String {
    switch delivery {
    case .progress(let share): "progress \(share)"
    case .degraded: "degraded"
    case .final(let frame): "final \(frame.result.size.width) for \(frame.result.requestID)"
    case .failed(let error): "\(error)"
    }
  }

  @Test("a hundred equal requests open and read the original once, and each is answered under its own ID")
  func coalesced() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    harness.blockRenderLane()
    let log = EventLog()
    for i in 0..<100 {
      // Written differently, but the same picture.
      let mode = i % 2 == 0 ? ContentMode.aspectFit : .aspectFill
      var request = Self.request(300)
      request.contentMode = mode
      request.targetSize = .size(PixelSize(width: 400, height: 300))
      _ = harness.request(asset, request, named: "\(i)") { log.append(Self.name($0)) }
    }
    harness.unblockRenderLane()
    let lines = await log.lines(100)
    #expect(Set(lines) == Set((0..<100).map { "final 400 for \($0)" }))
    #expect(harness.originals.opened == 1)
    #expect(harness.originals.bytesRead < Self.photograph.count * 3 / 2)
    try await harness.untilIdle()
    #expect(harness.budget.bytesInUse == 0)
  }

  /// The callers that wait for the first size, and the frames that share a decode with an earlier one, of that size and
  /// of five more that `greedy` waits for.
  static let sharedDecodes: [(callers: [String], shared: Double)] = [
    (["greedy"], 5),
    // Two of the five; then the other three share a decode.
    (["other"], 2 + 2),
    (["greedy", "other"], 2 + 2),
  ]

  @Test("a render takes along sizes that its callers wait for, and two of others", arguments: sharedDecodes.indices)
  func siblings(_ i: Int) async throws {
    let (callers, shared) = Self.sharedDecodes[i]
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    harness.blockRenderLane()
    let log = EventLog()
    // All are decoded at the same scale.
    func ask(_ side: Int, by caller: String) {
      _ = harness.request(asset, Self.request(side), named: "\(side)", caller: caller) { _ in log.append("end") }
    }
    for caller in callers { ask(500, by: caller) }
    try await harness.untilQueued(1)
    for side in 460..<465 { ask(side, by: "greedy") }
    try await harness.untilQueued(6)
    harness.unblockRenderLane()
    _ = await log.lines(5 + callers.count)
    #expect(harness.metric("photod_image_shared_decodes_total") == shared)
  }

  @Test("while another caller waits for its turn, a render takes along two sizes of its own caller")
  func siblingsOfOthers() async throws {
    let harness = ImageManagerHarness()
    let (asset, another) = (harness.originals.add(Self.photograph), harness.originals.add(Self.small, named: "b"))
    harness.blockRenderLane()
    let log = EventLog()
    func ask(_ asset: Asset, _ side: Int, by caller: String) {
      _ = harness.request(asset, Self.request(side), named: "\(side)", caller: caller) { _ in log.append(caller) }
    }
    ask(asset, 500, by: "greedy")
    try await harness.untilQueued(1)
    ask(another, 20, by: "other")
    for side in 460..<465 { ask(asset, side, by: "greedy") }
    try await harness.untilQueued(7)
    harness.unblockRenderLane()
    let order = await log.lines(7)
    // Its turn is the second one.
    #expect(order.prefix(4).contains("other"), "\(order)")
    // Two of the five; then the other three share a decode.
    #expect(harness.metric("photod_image_shared_decodes_total") == 4)
  }

  @Test("a picture has one frame for its own size and all larger ones, which are not enlarged")
  func beyondTheOriginal() async {
    let harness = ImageManagerHarness { $0.cacheBytes = 8 << 20 }
    let asset = harness.originals.add(Self.small)
    var requests = [64, 65, 1000, 16_384].map { Self.request($0) }
    requests.append(ImageRequest(targetSize: .maximum))
    for (i, request) in requests.enumerated() {
      #expect(ResolvedRequest(request, for: asset).key == ResolvedRequest(requests[0], for: asset).key)
      guard case .final(let frame)? = await harness.deliveries(asset, request).last else {
        Issue.record("no frame")
        return
      }
      #expect(frame.result.size == PixelSize(width: 64, height: 48))
      #expect(frame.result.source == (i == 0 ? .original : .memory))
    }
    #expect(harness.originals.opened == 1)
  }

  @Test("queue time is the wait for a worker and for memory, without render time")
  func queueTime() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    let (stream, continuation) = AsyncStream.makeStream(of: ImageDelivery.self)
    harness.blockRenderLane()
    harness.originals.blockReaders()
    _ = harness.request(asset, Self.request(300)) { continuation.yield($0) }
    try await harness.untilQueued(1)
    harness.clock.advance(by: .seconds(3))
    harness.unblockRenderLane()
    await harness.originals.waitUntilReaderBlocks()
    harness.clock.advance(by: .seconds(5))
    harness.originals.resumeReaders()
    for await delivery in stream {
      guard case .final(let frame) = delivery else { continue }
      #expect(frame.timings[.queue] == .seconds(3))
      break
    }
  }

  @Test("when ninety-nine of a hundred tasks leave, the job continues")
  func oneStays() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    harness.originals.blockReaders()
    let log = EventLog()
    let tasks = (0..<100).map { i in harness.request(asset, named: "\(i)") { log.append(Self.name($0)) } }
    await harness.originals.waitUntilReaderBlocks()
    for task in tasks where task.requestID != "42" { harness.manager.cancel(task) }
    #expect(await log.lines(99) == Array(repeating: "cancelled", count: 99))
    harness.originals.resumeReaders()
    #expect(await log.lines(1) == ["final 1200 for 42"])
  }

  @Test("when the last task leaves, the render stops and its memory is released")
  func lastLeaves() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    harness.originals.blockReaders()
    let log = EventLog()
    let tasks = (0..<3).map { i in harness.request(asset, named: "\(i)") { log.append(Self.name($0)) } }
    await harness.originals.waitUntilReaderBlocks()
    for task in tasks { harness.manager.cancel(task) }
    _ = await log.lines(3)
    #expect(harness.manager.activeRequests(owner: nil).isEmpty)
    let before = harness.originals.bytesRead
    harness.originals.resumeReaders()
    // The lane's only worker is free again when the render has ended.
    let other = harness.originals.add(Self.small, named: "b")
    _ = await harness.deliveries(other)
    #expect(harness.originals.bytesRead - before < Self.photograph.count / 2)
    try await harness.untilIdle()
    #expect(harness.budget.bytesInUse == 0)
  }

  @Test("a cancelled job is not joined: the next request starts a new one")
  func afterwards() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    harness.blockRenderLane()
    let log = EventLog()
    let task = harness.request(asset) { log.append(Self.name($0)) }
    harness.manager.cancel(task)
    #expect(await log.lines(1) == ["cancelled"])
    #expect(harness.manager.waitingJobCount == 0)
    _ = harness.request(asset, named: "again") { log.append(Self.name($0)) }
    harness.unblockRenderLane()
    #expect(await log.lines(1) == ["final 1200 for again"])
  }

  @Test("a cancelled task ends once; a second end is ignored")
  func cancelledTwice() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.small)
    harness.blockRenderLane()
    let log = EventLog()
    let task = harness.request(asset) { log.append(Self.name($0)) }
    harness.manager.cancel(task)
    harness.manager.cancel(task)
    harness.unblockRenderLane()
    _ = harness.request(asset, named: "end") { log.append(Self.name($0)) }
    #expect(await log.lines(2) == ["cancelled", "final 64 for end"])
  }

  @Test("a request that bypasses the caches has its own render and stores nothing")
  func fresh() async throws {
    let harness = ImageManagerHarness { $0.cacheBytes = 1 << 20 }
    let asset = harness.originals.add(Self.small)
    for _ in 0..<3 {
      guard case .final(let frame)? = await harness.deliveries(asset, bypassesCaches: true).last else {
        Issue.record("no frame")
        return
      }
      #expect(frame.result.source == .original && frame.cached == nil)
    }
    #expect(harness.originals.opened == 3 && harness.cache.byteCount == 0)
  }

  @Test("a cached frame is delivered before the call returns")
  func kept() async throws {
    let harness = ImageManagerHarness { $0.cacheBytes = 1 << 20 }
    let asset = harness.originals.add(Self.small)
    _ = await harness.deliveries(asset)
    let log = EventLog()
    _ = harness.request(asset, named: "2") { delivery in
      if case .final(let frame) = delivery { log.append("\(frame.result.source)") }
      log.append(Self.name(delivery))
    }
    log.append("returned")
    #expect(await log.lines(3) == ["memory", "final 64 for 2", "returned"])
    #expect(harness.originals.opened == 1)
  }

  @Test("a job whose frame was cached before its first step does not make it again")
  func keptMeanwhile() async throws {
    let (gate, originals) = (Gate(), InMemoryOriginals())
    let first = originals.add(Self.small, named: "first")
    let asset = originals.add(Self.small, named: "second")
    let opening = OriginalStore { original throws(OriginalStoreError) in
      if original.path == first.original.path { gate.pass() }
      return try originals.store.open(original)
    }
    guard case .final(let frame)? = await ImageManagerHarness({ $0.originals = originals.store }).deliveries(asset).last
    else {
      Issue.record("no frame")
      return
    }
    let harness = ImageManagerHarness {
      $0.originals = opening
      $0.cacheBytes = 1 << 20
    }
    let log = EventLog()
    gate.shut()
    _ = harness.request(first, named: "1") { log.append(Self.name($0)) }
    // The only quick worker is blocked, so the first step of the next job waits.
    await gate.waitUntilBlocked()
    _ = harness.request(asset, named: "2") { log.append(Self.name($0)) }
    #expect(harness.cache.store(frame, for: ResolvedRequest(ImageRequest(), for: asset).key) != nil)
    gate.open()
    #expect(await Set(log.lines(2)) == ["final 64 for 1", "final 64 for 2"])
    // Once for each harness.
    #expect(originals.opened == 2)
  }

  @Test("an error reaches every waiting task and is not cached")
  func failure() async throws {
    let harness = ImageManagerHarness { $0.cacheBytes = 1 << 20 }
    var asset = harness.originals.add(Self.small)
    asset.original.path = Array("gone".utf8)
    for _ in 0..<2 {
      guard case .failed(.originalMissing)? = await harness.deliveries(asset).last else {
        Issue.record("no error")
        return
      }
    }
    #expect(harness.originals.opened == 2 && harness.manager.waitingJobCount == 0)
  }
}
