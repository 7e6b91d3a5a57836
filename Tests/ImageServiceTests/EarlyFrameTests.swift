import ImageService
import PhotoFixtures
import PhotoModel
import Testing

/// Frames that are made of an original while it is being downloaded.
@Suite("Frames from originals that arrive")
struct EarlyFrameTests {
  struct Kind: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let file: [UInt8]
    var format = OutputFormat.jpeg
    var side = 400
  }

  private static let scene = Scene(seed: 5, grain: 30).pixels(width: 1600, height: 1200)
  private static let baseline = JPEGFile { $0.quality = 95 }.encoded(scene)
  private static let progressive = JPEGFile {
    $0.quality = 95
    $0.isProgressive = true
  }.encoded(scene)

  static let kinds = [
    Kind(testDescription: "baseline, in planes", file: baseline),
    Kind(testDescription: "baseline, in rows", file: baseline, format: .png),
    Kind(testDescription: "baseline, at full size", file: baseline, side: 1600),
    Kind(
      testDescription: "turned",
      file: JPEGFile {
        $0.quality = 95
        $0.exif = EXIFBlock { $0.orientation = 6 }
      }.encoded(scene)),
    Kind(testDescription: "progressive", file: progressive),
  ]

  /// A manager whose only original is in the cloud.
  private struct Fixture {
    let cloud: CloudOriginals
    let harness: ImageManagerHarness
    let asset: Asset
    let source: ArrivingBytes
    let log = EventLog()

    init(_ file: [UInt8], _ change: (inout ImageManagerHarness.Setting) -> Void = { _ in }) throws {
      let cloud = try CloudOriginals()
      self.cloud = cloud
      harness = ImageManagerHarness {
        $0.originals = cloud.store
        $0.cacheBytes = 16 << 20
        change(&$0)
      }
      asset = harness.originals.add(file)
      source = ArrivingBytes(file)
    }

    /// Starts a request, and returns its task and its wait for the original.
    func request(
      _ name: String = "a", caller: String = "me", side: Int = 400, mode: DeliveryMode = .highQualityFormat,
      format: OutputFormat = .jpeg, waits: Int = 1
    ) async throws -> (task: ImageTask, wait: CloudOriginals.Wait) {
      var context = ImageManager.RequestContext(requestID: name, caller: caller)
      context.allowsNetwork = true
      let request = ImageRequest(
        targetSize: .size(PixelSize(width: side, height: side)), deliveryMode: mode, format: format)
      let task = harness.manager.requestImage(ResolvedRequest(request, for: asset), context) { [log] delivery in
        switch delivery {
        case .progress: break
        case .degraded(let frame): log.append("\(name) degraded \(frame.result.source) \(frame.result.isInCloud)")
        case .final(let frame): log.append("\(name) final \(frame.result.source)")
        case .failed(let error): log.append("\(name) \(error)")
        }
      }
      return (task, try #require(try await cloud.waits(waits).last))
    }

    /// Adds bytes to those that have arrived, and returns when a render has used them and waits without a worker.
    func arrive(_ count: Int, _ wait: CloudOriginals.Wait) async throws {
      source.arrive(count, wait)
      try await eventually { source.readBytes == count }
      try await harness.untilIdle()
    }
  }

  @Test(arguments: kinds)
  func `The first rows are decoded while the rest is on its way, and the frame is that of a complete file`(_ kind: Kind)
    async throws
  {
    try #require(kind.file.count > 600_000)
    let fixture = try Fixture(kind.file)
    let (_, wait) = try await fixture.request(side: kind.side, format: kind.format)
    try await fixture.arrive(kind.file.count / 2, wait)
    #expect(fixture.harness.budget.bytesInUse > 0)
    #expect(fixture.harness.manager.request("a", owner: "me")?.stage == .downloading)
    try await fixture.arrive(kind.file.count, wait)
    // Nothing is verified yet.
    #expect(fixture.harness.manager.request("a", owner: "me")?.stage == .downloading)
    wait.ended(.success(try fixture.cloud.file(kind.file)))
    #expect(await fixture.log.next() == "a final network")
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="finished"}"#) == 1)
    let request = ImageRequest(
      targetSize: .size(PixelSize(width: kind.side, height: kind.side)), format: kind.format)
    let early = try #require(
      fixture.harness.manager.cachedFrame(ResolvedRequest(request, for: fixture.asset).key))
    let local = ImageManagerHarness()
    let deliveries = await local.deliveries(local.originals.add(kind.file), request)
    guard case .final(let frame) = deliveries.last else {
      Issue.record("\(deliveries)")
      return
    }
    #expect(early.bytes == frame.bytes && early.derivation == frame.derivation)
    try await fixture.harness.untilIdle()
    #expect(fixture.harness.budget.bytesInUse == 0)
  }

  @Test func `Bytes that turn out to be wrong give no final frame, and their render leaves nothing`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (_, wait) = try await fixture.request()
    try await fixture.arrive(Self.baseline.count, wait)
    wait.ended(.failure(.changed))
    #expect(await fixture.log.next() == "a originalChanged")
    try await eventually { fixture.harness.budget.bytesInUse == 0 }
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 1)
    let request = ImageRequest(targetSize: .size(PixelSize(width: 400, height: 400)), format: .jpeg)
    #expect(fixture.harness.manager.cachedFrame(ResolvedRequest(request, for: fixture.asset).key) == nil)
  }

  @Test func `A complete file whose header can't be read leaves nothing of the render`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (_, wait) = try await fixture.request()
    try await fixture.arrive(Self.baseline.count, wait)
    wait.ended(.success(try fixture.cloud.file([UInt8](repeating: 0, count: Self.baseline.count))))
    let end = await fixture.log.next()
    #expect(end.hasPrefix("a codec("), "\(end)")
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 1)
    try await eventually { fixture.harness.budget.bytesInUse == 0 }
  }

  @Test func `A render that begins when its only job has just been cancelled leaves nothing`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (task, wait) = try await fixture.request()
    fixture.source.gate.shut()
    fixture.source.arrive(Self.baseline.count, wait)
    // The step reads the header.
    await fixture.source.gate.waitUntilBlocked()
    fixture.harness.manager.cancel(task)
    fixture.source.gate.open()
    try await eventually { fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 1 }
    try await eventually { fixture.harness.budget.bytesInUse == 0 }
  }

  @Test func `A complete file with another header than the one that arrived is rendered again`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (_, wait) = try await fixture.request()
    try await fixture.arrive(Self.baseline.count, wait)
    wait.ended(.success(try fixture.cloud.file(Self.progressive)))
    #expect(await fixture.log.next() == "a final network")
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 1)
    try await eventually { fixture.harness.budget.bytesInUse == 0 }
  }

  @Test func `A complete file with other bytes than those that arrived is rendered again`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (_, wait) = try await fixture.request()
    try await fixture.arrive(Self.baseline.count, wait)
    fixture.source.replace()
    wait.ended(.success(try fixture.cloud.file(Self.baseline)))
    #expect(await fixture.log.next() == "a final network")
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 1)
    try await eventually { fixture.harness.budget.bytesInUse == 0 }
  }

  @Test func `The render ends and frees its memory when the last task leaves`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (first, _) = try await fixture.request()
    let (second, wait) = try await fixture.request("b")
    try await fixture.arrive(Self.baseline.count / 2, wait)
    fixture.harness.manager.cancel(first)
    #expect(fixture.harness.budget.bytesInUse > 0)
    fixture.harness.manager.cancel(second)
    #expect(fixture.harness.budget.bytesInUse == 0)
    #expect(wait.isCancelled)
  }

  @Test func `A render that waits for bytes gives its memory to renders that need it`() async throws {
    let fixture = try Fixture(Self.baseline) { $0.memoryBytes = 16 << 20 }
    let (_, wait) = try await fixture.request()
    try await fixture.arrive(Self.baseline.count / 2, wait)
    fixture.harness.renderLane.submit(.normal, bytes: 16 << 20) { [log = fixture.log] _ in log.append("local") }
    #expect(await fixture.log.next() == "local")
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 1)
    wait.ended(.success(try fixture.cloud.file(Self.baseline)))
    #expect(await fixture.log.next() == "a final network")
  }

  @Test func `Sizes that wait for one download share a decode`() async throws {
    let fixture = try Fixture(Self.baseline)
    let (_, first) = try await fixture.request("a", side: 400)
    let (_, second) = try await fixture.request("b", side: 300, waits: 2)
    try await fixture.arrive(Self.baseline.count, first)
    first.ended(.success(try fixture.cloud.file(Self.baseline)))
    let ends = await fixture.log.lines(2)
    #expect(Set(ends) == ["a final network", "b final network"])
    #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="finished"}"#) == 1)
    // The end of a download whose job is over changes nothing.
    second.ended(.success(try fixture.cloud.file(Self.baseline)))
    #expect(fixture.harness.manager.activeRequests(owner: nil).isEmpty)
  }

  @Test func `A render counts once if the downloads of its jobs end at the same time`() async throws {
    for _ in 0..<10 {
      let fixture = try Fixture(Self.baseline) { $0.quickWorkers = 2 }
      let (_, first) = try await fixture.request("a", side: 400)
      let (_, second) = try await fixture.request("b", side: 300, waits: 2)
      try await fixture.arrive(Self.baseline.count, first)
      let files = [try fixture.cloud.file(Self.baseline), try fixture.cloud.file(Self.baseline)]
      first.ended(.success(files[0]))
      second.ended(.success(files[1]))
      #expect(Set(await fixture.log.lines(2)) == ["a final network", "b final network"])
      #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="finished"}"#) == 1)
      #expect(fixture.harness.metric(#"photod_image_early_renders_total{result="dropped"}"#) == 0)
      try await eventually { fixture.harness.budget.bytesInUse == 0 }
    }
  }

  @Test(arguments: [false, true])
  func `A render that another caller waits for too comes in the turn of the one with less work`(_ joinsLate: Bool)
    async throws
  {
    let fixture = try Fixture(Self.baseline)
    let harness = fixture.harness
    harness.blockRenderLane()
    for number in 0..<3 {
      harness.renderLane.submit(.normal, bytes: 1, for: "me") { [log = fixture.log, budget = harness.budget] _ in
        // The render keeps its memory after its slice.
        log.append("\(number) \(budget.bytesInUse > 1)")
      }
    }
    let (_, wait) = try await fixture.request()
    if !joinsLate { _ = try await fixture.request("b", caller: "other") }
    fixture.source.arrive(Self.baseline.count, wait)
    try await harness.untilQueued(4)
    if joinsLate {
      _ = try await fixture.request("b", caller: "other")
    } else {
      // The only quick worker has ended the step that queued the slice.
      let local = harness.originals.add(Self.baseline, named: "other")
      _ = harness.request(local, named: "c", caller: "me") { [log = fixture.log] _ in log.append("c") }
      #expect(await fixture.log.next() == "c")
    }
    harness.unblockRenderLane()
    #expect(await fixture.log.lines(3) == ["0 false", "1 true", "2 true"])
    wait.ended(.success(try fixture.cloud.file(Self.baseline)))
    #expect(Set(await fixture.log.lines(2)) == ["a final network", "b final network"])
  }

  @Test func `Without places for early renders, nothing is read before the end`() async throws {
    let fixture = try Fixture(Self.baseline) { $0.earlyRenders = 0 }
    let (_, wait) = try await fixture.request()
    fixture.source.arrive(Self.baseline.count, wait)
    wait.ended(.success(try fixture.cloud.file(Self.baseline)))
    #expect(await fixture.log.next() == "a final network")
    #expect(fixture.source.readBytes == 0)
  }

  // MARK: Degraded frames

  @Test(arguments: [false, true])
  func `The first scans of a progressive file give the degraded frame`(_ hasSeparateScans: Bool) async throws {
    let file = JPEGFile {
      $0.quality = 95
      $0.isProgressive = true
      $0.hasSeparateDCScans = hasSeparateScans
    }.encoded(Self.scene)
    let fixture = try Fixture(file)
    let (_, wait) = try await fixture.request(side: 1000, mode: .opportunistic)
    for arrived in stride(from: 50_000, through: file.count / 2, by: 50_000) { fixture.source.arrive(arrived, wait) }
    #expect(await fixture.log.next() == "a degraded network true")
    fixture.source.arrive(file.count, wait)
    wait.ended(.success(try fixture.cloud.file(file)))
    #expect(await fixture.log.next() == "a final network")
  }

  @Test func `An embedded thumbnail gives the degraded frame as soon as the head is here`() async throws {
    let file = JPEGFile {
      $0.quality = 95
      $0.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: Self.scene) }
    }.encoded(Self.scene)
    let fixture = try Fixture(file)
    let (_, wait) = try await fixture.request(mode: .opportunistic)
    fixture.source.arrive(70_000, wait)
    #expect(await fixture.log.next() == "a degraded embedded true")
    fixture.source.arrive(file.count, wait)
    wait.ended(.success(try fixture.cloud.file(file)))
    #expect(await fixture.log.next() == "a final network")
  }
}
