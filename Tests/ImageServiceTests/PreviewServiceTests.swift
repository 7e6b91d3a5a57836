import ImageCodec
import ImageRender
import ImageService
import PhotoFixtures
import PhotoModel
import Primitives
import Synchronization
import Testing

@Suite("Live previews")
struct PreviewServiceTests {
  typealias Outcome = Result<RenderedImage, ImageServiceError>

  /// A service over originals in memory, with a clock of its own.
  final class Harness: Sendable {
    private static let workers = 2

    let originals = InMemoryOriginals()
    let clock = ImageManagerHarness.Clock()
    let budget = ByteBudget(capacityBytes: 64 << 20)
    let lane: RenderLane
    let service: PreviewService
    let file = JPEGFile { $0.quality = 95 }.encoded(Scene(seed: 3).pixels(width: 400, height: 300))
    let asset: Asset

    init(_ change: (inout PreviewService.Limits) -> Void = { _ in }) {
      var limits = PreviewService.Limits()
      change(&limits)
      let clock = clock
      lane = RenderLane(label: "test.render", workers: Self.workers, budget: budget)
      service = PreviewService(
        originals: originals.store, lane: lane, codecLimits: CodecLimits(), limits: limits, now: { clock.now })
      asset = originals.add(file)
    }

    func request(
      _ operations: [AdjustmentOperation], _ client: String = "tab", side: Int = 200, of other: Asset? = nil
    ) -> PreviewRequest {
      PreviewRequest(
        owner: "me", client: client, asset: other ?? asset, adjustments: Adjustments(operations),
        targetSize: .size(PixelSize(width: side, height: side)))
    }

    /// An original whose decode `originals` can block.
    func addLarge() -> Asset {
      let pixels = Scene(seed: 5).pixels(width: 1200, height: 900)
      return originals.add(JPEGFile { $0.quality = 98 }.encoded(pixels), named: "large")
    }

    /// Starts a preview and logs its end under a name.
    func start(_ name: String, of asset: Asset, client: String = "tab", _ log: EventLog) -> PreviewTask {
      service.render(request([.tone(.tint, 0.5)], client, of: asset)) { outcome in
        switch outcome {
        case .success(let image): log.append("\(name): \(image.size.width) pixels wide")
        case .failure(let error): log.append("\(name): \(error)")
        }
      }
    }

    func outcome(
      _ operations: [AdjustmentOperation], _ client: String = "tab", side: Int = 200, of other: Asset? = nil
    ) async -> Outcome {
      await withCheckedContinuation { continuation in
        _ = service.render(request(operations, client, side: side, of: other)) { continuation.resume(returning: $0) }
      }
    }

    /// Takes all workers, so that no render begins before the gate is opened.
    func occupyWorkers() async throws -> Gate {
      try await eventually { lane.runningCount == 0 }
      let gate = Gate()
      gate.shut()
      for _ in 0..<Self.workers { lane.submit(.high, bytes: 0) { _ in gate.pass() } }
      return gate
    }

    /// Takes one worker until the gate is opened.
    func occupyWorker() -> Gate {
      let gate = Gate()
      gate.shut()
      lane.submit(.high, bytes: 0) { _ in gate.pass() }
      return gate
    }
  }

  @Test("a preview shows what the saved edit shows, and the original is opened once for many")
  func sameAsSaved() async throws {
    let harness = Harness()
    let operations: [AdjustmentOperation] = [
      .crop(UnitRect(x: 0, y: 0.25, width: 0.5, height: 0.5)), .rotate(quarterTurns: 1), .tone(.exposure, 0.5),
    ]
    let image = try await harness.outcome(operations).get()
    #expect(image.size == PixelSize(width: 150, height: 200) && image.format == .jpeg)
    let file = harness.file
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let request = ImageRequest(targetSize: .size(PixelSize(width: 200, height: 200)), format: .jpeg)
    let plan = RenderPlanner().plan(header, header.sized(request, Adjustments(operations)))
    let renderer = try Renderer(plan, source: MemoryByteSource(file), limits: CodecLimits(), stop: StopFlag())
    let saved = try renderer.render()
    let (one, other) = (try #require(Pixels.decoded(image.bytes)), try #require(Pixels.decoded(saved.bytes)))
    #expect(try #require(one.pixels.psnr(against: other.pixels)) > 36)
    for step in 1...5 { _ = try await harness.outcome([.tone(.exposure, Double(step) / 10)]).get() }
    #expect(harness.originals.opened == 1)
  }

  static let sizes: [([AdjustmentOperation], Int, PixelSize)] = [
    ([.crop(UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.5))], 80, PixelSize(width: 80, height: 53)),
    ([.crop(UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.5))], 100, PixelSize(width: 100, height: 66)),
    ([.crop(UnitRect(x: 0.1, y: 0.2, width: 0.7, height: 0.3))], 100, PixelSize(width: 100, height: 28)),
    (
      [.crop(UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.5)), .rotate(quarterTurns: 1), .tone(.tint, 0.5)], 80,
      PixelSize(width: 53, height: 80)
    ),
    ([], 100, PixelSize(width: 100, height: 66)),
    // More pixels than the proxy has: its own.
    ([.crop(UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.5))], 120, PixelSize(width: 102, height: 67)),
  ]

  @Test("a preview from a smaller proxy has the size of the edited picture", arguments: sizes.indices)
  func sizeOfSaved(_ index: Int) async throws {
    let (operations, side, size) = Self.sizes[index]
    // The proxy has 205 x 135 pixels, with another aspect ratio.
    let harness = Harness { $0.proxySide = 205 }
    let file = JPEGFile { $0.quality = 95 }.encoded(Scene(seed: 3).pixels(width: 503, height: 331))
    let asset = harness.originals.add(file, named: "odd")
    let preview = harness.request(operations, side: side, of: asset)
    let outcome: Outcome = await withCheckedContinuation { continuation in
      _ = harness.service.render(preview) { continuation.resume(returning: $0) }
    }
    let image = try outcome.get()
    #expect(image.size == size)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let longer = max(size.width, size.height)
    let request = ImageRequest(targetSize: .size(PixelSize(width: longer, height: longer)), format: .jpeg)
    let plan = RenderPlanner().plan(header, header.sized(request, Adjustments(operations)))
    let renderer = try Renderer(plan, source: MemoryByteSource(file), limits: CodecLimits(), stop: StopFlag())
    let saved = try renderer.render()
    #expect(saved.size == size)
    let (one, other) = (try #require(Pixels.decoded(image.bytes)), try #require(Pixels.decoded(saved.bytes)))
    #expect(try #require(one.pixels.psnr(against: other.pixels)) > 25)
  }

  @Test("a gray picture stays gray, also in a smaller proxy", arguments: [2048, 205])
  func gray(_ proxySide: Int) async throws {
    let harness = Harness { $0.proxySide = proxySide }
    let file = JPEGFile { $0.color = .gray }.encoded(Scene(seed: 3).pixels(width: 400, height: 300))
    let curve = try #require(ToneCurve([.init(0, 0.2), .init(1, 0.7)]))
    let operations: [AdjustmentOperation] = [.tone(.warmth, 1), .tone(.tint, -1), .toneCurve(.blue, curve)]
    let image = try await harness.outcome(operations, of: harness.originals.add(file, named: "gray")).get()
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    for at in stride(from: 0, to: pixels.bytes.count, by: 3 * 97) {
      let values = pixels.bytes[at..<at + 3]
      #expect(Set(values).count == 1, "\(Array(values)) at \(at)")
    }
  }

  @Test("the white behind a picture with alpha is not adjusted, also in a smaller proxy", arguments: [2048, 205])
  func alpha(_ proxySide: Int) async throws {
    let harness = Harness { $0.proxySide = proxySide }
    var pixels = Pixels(width: 400, height: 300, channels: 4)
    for at in stride(from: 0, to: pixels.bytes.count, by: 4) {
      let isOpaque = at / 4 % 400 >= 200
      for c in 0..<4 { pixels.bytes[at + c] = isOpaque ? (c == 3 ? 255 : 100) : 0 }
    }
    let asset = harness.originals.add(PNGFile(.rgba(depth: 8)).encoded(pixels), named: "alpha")
    for tone in [AdjustmentOperation.tone(.exposure, -2), .tone(.warmth, 1), .vignette(amount: 1, radius: 0)] {
      let image = try await harness.outcome([tone], of: asset).get()
      let shown = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
      for (x, isWhite) in [(40, true), (150, false)] {
        let at = (20 * shown.width + x) * 3
        let values = shown.bytes[at..<at + 3].map { Int($0) }
        #expect(values.allSatisfy { ($0 > 252) == isWhite }, "\(values)")
      }
    }
  }

  @Test("a preview of a file that ends early says so")
  func incomplete() async throws {
    let harness = Harness()
    for (share, isIncomplete) in [(1, false), (2, true)] {
      let file = Array(harness.file.prefix(harness.file.count / share))
      let asset = harness.originals.add(file, named: "part \(share)")
      let image = try await harness.outcome([.tone(.exposure, 0.5)], of: asset).get()
      #expect(image.isIncomplete == isIncomplete)
    }
  }

  @Test("perspectives with huge numbers are shown like any others")
  func hugePerspectives() async throws {
    let huge = AdjustmentOperation.perspective(Homography([1e200, 0, 0, 0, 1e200, 0, 0, 0, 1e200]))
    let image = try await Harness().outcome([huge, huge]).get()
    #expect(image.size == PixelSize(width: 200, height: 150))
  }

  @Test("a preview is coded in the quickest way, unlike a final frame of its size")
  func quickestCoding() async throws {
    let image = try await Harness().outcome([.tone(.exposure, 0.5)], side: 400).get()
    #expect(image.size == PixelSize(width: 400, height: 300))
    #expect(try #require(JPEGFacts(image.bytes)).isProgressive == false)
  }

  @Test("a request cancels its client's earlier one, and no other client's")
  func cancelsEarlier() async throws {
    let harness = Harness()
    _ = try await harness.outcome([]).get()
    _ = try await harness.outcome([], "other").get()
    let gate = try await harness.occupyWorkers()
    let log = EventLog()
    func start(_ name: String, _ client: String) {
      _ = harness.service.render(harness.request([.tone(.tint, 0.5)], client)) { outcome in
        switch outcome {
        case .success: log.append("\(name) shown")
        case .failure(let error): log.append("\(name) \(error)")
        }
      }
    }
    start("first", "tab")
    start("other", "other")
    start("second", "tab")
    #expect(await log.lines(1) == ["first cancelled"])
    gate.open()
    #expect(await Set(log.lines(2)) == ["second shown", "other shown"])
  }

  @Test("the picture is decoded once, whatever requests come meanwhile, and the latest is shown")
  func decodedOnce() async {
    let harness = Harness { $0.deadline = .seconds(120) }
    let large = harness.addLarge()
    let log = EventLog()
    harness.originals.blockReaders()
    _ = harness.start("first", of: large, log)
    await harness.originals.waitUntilReaderBlocks()
    let second = harness.start("second", of: large, log)
    second.cancel()
    _ = harness.start("third", of: large, log)
    _ = harness.start("fourth", of: large, log)
    #expect(await log.lines(3) == ["first: cancelled", "second: cancelled", "third: cancelled"])
    // The lease of a session does not end before it has its proxy.
    harness.clock.advance(by: .seconds(61))
    harness.service.expire()
    harness.originals.resumeReaders()
    #expect(await log.next() == "fourth: 200 pixels wide")
    #expect(harness.originals.opened == 1 && harness.service.proxyCount == 1)
    harness.service.expire()
    #expect(harness.service.proxyCount == 1)
  }

  @Test("a request for another picture stops the decode of the earlier one, and so does the end of the session")
  func stoppedDecode() async throws {
    let harness = Harness { $0.sessions = 1 }
    let large = harness.addLarge()
    let log = EventLog()
    for client in ["tab", "another"] {
      harness.originals.blockReaders()
      _ = harness.start("large", of: large, log)
      await harness.originals.waitUntilReaderBlocks()
      _ = harness.start("small", of: harness.asset, client: client, log)
      #expect(await log.lines(2) == ["large: cancelled", "small: 200 pixels wide"], "\(client)")
      harness.originals.resumeReaders()
      // Less than the proxy of the large picture.
      try await eventually { harness.budget.bytesInUse < 1200 * 900 * 3 }
      #expect(harness.service.proxyCount == 1, "\(client)")
    }
  }

  @Test("a session that is not used gives its memory back, and one too many ends the oldest")
  func leases() async throws {
    let harness = Harness { $0.sessions = 2 }
    _ = try await harness.outcome([]).get()
    try await eventually { harness.lane.runningCount == 0 }
    let proxyBytes = harness.budget.bytesInUse
    #expect(proxyBytes >= 400 * 300 * 3)
    harness.clock.advance(by: .seconds(1))
    _ = try await harness.outcome([], "second").get()
    harness.clock.advance(by: .seconds(1))
    _ = try await harness.outcome([], "third").get()
    try await eventually { harness.budget.bytesInUse == 2 * proxyBytes }
    #expect(harness.service.proxyCount == 2)
    harness.clock.advance(by: .seconds(59.5))
    harness.service.expire()
    #expect(harness.service.proxyCount == 1)
    harness.clock.advance(by: .seconds(2))
    harness.service.expire()
    try await eventually { harness.budget.bytesInUse == 0 }
  }

  @Test("a render that waits for memory gets that of sessions, of the one that was unused for longest first")
  func memoryShortage() async throws {
    let harness = Harness()
    _ = try await harness.outcome([]).get()
    try await eventually { harness.lane.runningCount == 0 }
    let proxyBytes = harness.budget.bytesInUse
    harness.clock.advance(by: .seconds(1))
    _ = try await harness.outcome([], "second").get()
    try await eventually { harness.lane.runningCount == 0 }
    #expect(proxyBytes > 0 && harness.budget.bytesInUse == 2 * proxyBytes)
    let log = EventLog()
    let capacity = harness.budget.capacityBytes
    harness.lane.submit(.normal, bytes: capacity - proxyBytes) { [service = harness.service] _ in
      log.append("large, beside \(service.proxyCount)")
    }
    #expect(await log.next() == "large, beside 1")
    try await eventually { harness.lane.runningCount == 0 }
    // The one that is left needs no new decode.
    _ = try await harness.outcome([.tone(.tint, 0.5)], "second").get()
    #expect(harness.originals.opened == 2)
    harness.lane.submit(.normal, bytes: capacity) { _ in log.append("all") }
    #expect(await log.next() == "all")
    try await eventually { harness.budget.bytesInUse == 0 }
    // A session whose proxy is gone decodes its picture again.
    _ = try await harness.outcome([.tone(.tint, 0.25)], "second").get()
    #expect(harness.originals.opened == 3 && harness.service.proxyCount == 1)
  }

  @Test("another picture or another content needs a new proxy; its size is limited")
  func proxies() async throws {
    let harness = Harness { $0.proxySide = 100 }
    let image = try await harness.outcome([]).get()
    #expect(image.size == PixelSize(width: 100, height: 75))
    var changed = harness.request([])
    changed.asset.contentVersion = ContentVersion("changed")
    let request = changed
    let outcome: Outcome = await withCheckedContinuation { continuation in
      _ = harness.service.render(request) { continuation.resume(returning: $0) }
    }
    _ = try outcome.get()
    #expect(harness.originals.opened == 2 && harness.service.proxyCount == 1)
  }

  @Test("a picture that can't be read is an error")
  func unreadable() async {
    let harness = Harness()
    var request = harness.request([])
    request.asset.original.path = Array("missing".utf8)
    let missing = request
    let outcome: Outcome = await withCheckedContinuation { continuation in
      _ = harness.service.render(missing) { continuation.resume(returning: $0) }
    }
    #expect(throws: ImageServiceError.originalMissing) { try outcome.get() }
  }
}
