import DiskCache
import Foundation
import ImageService
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@Suite("Tiles of large pictures")
struct TileTests {
  private static let scene = Scene(seed: 8, grain: 4).pixels(width: 1301, height: 1075)
  private static let photograph = JPEGFile { ($0.quality, $0.isProgressive) = (95, true) }.encoded(scene)

  /// A manager with a disk cache, which ends with the fixture.
  private final class Fixture: Sendable {
    let disk: DiskStore
    let harness: ImageManagerHarness
    private let folder: String

    init(pixels: Int = 1_000_000, workers: Int = 2) {
      folder = FileManager.default.temporaryDirectory.appending(path: "photod-fixture-\(UUID().uuidString)").path
      let disk = DiskStore(
        folder: folder, capacityBytes: 64 << 20, epochs: FrameStore.epochs,
        limits: DiskStoreLimits(minimumFreeBytes: 0),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      self.disk = disk
      harness = ImageManagerHarness {
        $0.store = FrameStore(disk)
        $0.minimumTiledPixels = pixels
        $0.workers = workers
      }
    }

    deinit {
      disk.close()
      try? FileManager.default.removeItem(atPath: folder)
    }

    func frame(_ asset: Asset, _ request: ImageRequest) async throws -> ImageFrame {
      let (stream, continuation) = AsyncStream.makeStream(of: ImageDelivery.self)
      _ = harness.request(asset, request, named: UUID().uuidString) { delivery in
        continuation.yield(delivery)
        continuation.finish()
      }
      for await delivery in stream { if case .final(let frame) = delivery { return frame } }
      throw Failure()
    }
  }

  private struct Failure: Error {}

  private static let grid = TileGrid(PixelSize(width: 1301, height: 1075))

  private static func tile(_ factor: Int, _ column: Int, _ row: Int) -> ImageRequest {
    grid.request(for: TileGrid.Tile(factor: factor, column: column, row: row))
  }

  @Test("the first tile starts one decode, which makes all others: they are read from the disk")
  func onePass() async throws {
    let fixture = Fixture()
    let asset = fixture.harness.originals.add(Self.photograph)
    let first = try await fixture.frame(asset, Self.tile(1, 1, 1))
    #expect(first.derivation == .tile)
    try await fixture.harness.untilIdle()
    fixture.disk.waitUntilIdle()
    let read = fixture.harness.originals.bytesRead
    for (factor, column, row) in [(1, 2, 2), (1, 0, 0), (2, 1, 0), (2, 0, 1)] {
      let frame = try await fixture.frame(asset, Self.tile(factor, column, row))
      #expect(frame.derivation == .tile && frame.result.source == .disk, "\(factor) \(column) \(row)")
    }
    #expect(fixture.harness.originals.bytesRead == read, "nothing else is read from the original")
    // Anything else is rendered, also the whole picture at a scale of the tiles.
    let whole = try await fixture.frame(asset, Self.tile(4, 0, 0))
    #expect(whole.derivation != .tile && whole.result.source != .disk)
    let other = try await fixture.frame(asset, ImageRequest(targetSize: .size(PixelSize(width: 900, height: 900))))
    #expect(other.derivation == .original)
  }

  @Test("tiles that are requested together wait for the same pass, also if the first request is cancelled")
  func together() async throws {
    let fixture = Fixture()
    let asset = fixture.harness.originals.add(Self.photograph)
    fixture.harness.blockRenderLane()
    let cancelled = fixture.harness.request(asset, Self.tile(1, 0, 0), named: "first") { _ in }
    async let second = fixture.frame(asset, Self.tile(1, 2, 1))
    async let third = fixture.frame(asset, Self.tile(2, 1, 1))
    try await eventually { fixture.harness.manager.waitingJobCount == 3 }
    fixture.harness.manager.cancel(cancelled)
    fixture.harness.unblockRenderLane()
    let (one, other) = (try await second, try await third)
    #expect(one.derivation == .tile && other.derivation == .tile)
  }

  @Test("tiles wait until their pass begins, then they are rendered; later ones join it and open no file")
  func stages() async throws {
    let fixture = Fixture()
    let harness = fixture.harness
    let asset = harness.originals.add(Self.photograph)
    let log = EventLog()
    @discardableResult
    func ask(_ column: Int) -> ImageTask {
      harness.request(asset, Self.tile(1, column, 0), named: "\(column)") { _ in log.append("end") }
    }
    func untilAll(_ columns: ClosedRange<Int>, are stage: JobStage) async throws {
      try await eventually {
        columns.allSatisfy { harness.manager.request("\($0)", owner: "me")?.stage == stage }
      }
    }
    harness.blockRenderLane()
    for column in 0...1 { ask(column) }
    try await untilAll(0...1, are: .queued)
    #expect(harness.manager.waitingJobCount == 2)
    harness.originals.blockReaders()
    harness.unblockRenderLane()
    await harness.originals.waitUntilReaderBlocks()
    try await untilAll(0...1, are: .rendering)
    let last = ask(2)
    try await untilAll(0...2, are: .rendering)
    #expect(harness.manager.waitingJobCount == 0)
    #expect(harness.originals.opened == 1)
    #expect(!harness.manager.cancel(last), "the pass goes on")
    harness.originals.resumeReaders()
    #expect(await log.lines(3).count == 3)
    try await harness.untilIdle()
  }

  @Test(
    "a pass that another caller waits for too comes in the turn of the one with less work",
    arguments: [(2, 1), (0, 0)])
  func turns(_ column: Int, _ row: Int) async throws {
    let fixture = Fixture(workers: 1)
    let harness = fixture.harness
    let asset = harness.originals.add(Self.photograph)
    let small = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))
    let pictures = (0..<6).map { harness.originals.add(small, named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    func ask(_ asset: Asset, _ request: ImageRequest, _ name: String, by caller: String) {
      _ = harness.request(asset, request, named: name, caller: caller) { _ in log.append(name) }
    }
    for number in 0..<5 { ask(pictures[number], ImageRequest(), "\(number)", by: "greedy") }
    try await harness.untilQueued(5)
    ask(asset, Self.tile(1, 0, 0), "tile", by: "greedy")
    try await harness.untilQueued(6)
    ask(asset, Self.tile(1, column, row), "tile", by: "other")
    // The only quick worker has ended its steps for the tiles before.
    ask(pictures[5], ImageRequest(), "5", by: "greedy")
    try await harness.untilQueued(7)
    harness.unblockRenderLane()
    let order = await log.lines(8)
    #expect(Array(order.prefix(4)) == ["0", "tile", "tile", "1"], "\(order)")
    try await harness.untilIdle()
  }

  @Test("a pass whose viewers have left stops; one that has served a tile makes the others")
  func abandoned() async throws {
    let fixture = Fixture()
    let asset = fixture.harness.originals.add(Self.photograph)
    fixture.harness.blockRenderLane()
    let tasks = [(0, 0), (1, 2)].map { column, row in
      fixture.harness.request(asset, Self.tile(1, column, row), named: "\(column)") { _ in }
    }
    try await eventually { fixture.harness.renderLane.waitingCounts.interactive == 1 }
    for task in tasks { fixture.harness.manager.cancel(task) }
    fixture.harness.unblockRenderLane()
    try await fixture.harness.untilIdle()
    fixture.disk.waitUntilIdle()
    #expect(fixture.disk.statistics.frames.entries == 0)
    _ = try await fixture.frame(asset, Self.tile(1, 0, 0))
    try await fixture.harness.untilIdle()
    fixture.disk.waitUntilIdle()
    #expect(fixture.disk.statistics.frames.entries > 10)
  }

  @Test("a pass whose only viewer leaves before its turn gives up its place; the next viewer starts another")
  func leftBeforeItsTurn() async throws {
    let fixture = Fixture()
    let harness = fixture.harness
    let asset = harness.originals.add(Self.photograph)
    harness.blockRenderLane()
    for _ in 0..<2 {
      let task = harness.request(asset, Self.tile(1, 0, 0)) { _ in }
      try await eventually { harness.renderLane.waitingCounts.interactive == 1 }
      harness.manager.cancel(task)
      #expect(harness.renderLane.waitingCounts.interactive == 0)
    }
    let made = Mutex<Derivation?>(nil)
    _ = harness.request(asset, Self.tile(1, 1, 0)) { delivery in
      if case .final(let frame) = delivery { made.withLock { $0 = frame.derivation } }
    }
    try await harness.untilQueued(1)
    harness.unblockRenderLane()
    try await eventually("the tile") { made.withLock { $0 } == .tile }
  }

  @Test("a viewer that leaves while its pass is being prepared leaves nothing in the render lane")
  func leftBeforeThePass() async throws {
    let fixture = Fixture()
    let harness = fixture.harness
    let (originals, manager) = (harness.originals, harness.manager)
    let asset = originals.add(Self.photograph)
    let small = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48))
    let other = originals.add(small, named: "other")
    harness.blockRenderLane()
    // The first step reads the time after it has checked whether the viewer is still there.
    harness.clock.atFirstRead(when: { originals.opened == 1 }) { _ = manager.cancelRequest("tile", owner: "me") }
    let log = EventLog()
    _ = harness.request(asset, Self.tile(1, 0, 0), named: "tile") { _ in log.append("cancelled") }
    #expect(await log.next() == "cancelled")
    let last = harness.request(other, named: "other") { _ in }
    // The only quick worker has ended the step of the tile before.
    try await eventually {
      manager.request("other", owner: "me")?.stage == .queued && harness.renderLane.waitingCounts.interactive > 0
    }
    manager.cancel(last)
    #expect(harness.renderLane.waitingCounts.interactive == 0)
    harness.unblockRenderLane()
    try await harness.untilIdle()
  }

  @Test("a damaged file gets a render for each tile, with its error or its complete part")
  func damaged() async throws {
    let fixture = Fixture()
    let baseline = JPEGFile { $0.quality = 95 }.encoded(Self.scene)
    let asset = fixture.harness.originals.add(Array(baseline.prefix(baseline.count / 2)))
    let lower = try await fixture.frame(asset, Self.tile(1, 0, 2))
    #expect(lower.derivation == .original && lower.result.isIncomplete)
  }

  @Test("without a disk cache, of small pictures and of other renditions, tiles are rendered one by one")
  func renders() async throws {
    let small = Fixture(pixels: 100_000_000)
    let asset = small.harness.originals.add(Self.photograph)
    #expect(try await small.frame(asset, Self.tile(1, 1, 1)).derivation == .original)
    let large = Fixture()
    let other = large.harness.originals.add(Self.photograph)
    var fine = Self.tile(1, 1, 1)
    fine.quality = 90
    #expect(try await large.frame(other, fine).derivation == .original)
    let harness = ImageManagerHarness { $0.minimumTiledPixels = 1 }
    let third = harness.originals.add(Self.photograph)
    guard case .final(let frame)? = await harness.deliveries(third, Self.tile(1, 1, 1)).last else { throw Failure() }
    #expect(frame.derivation == .original)
  }
}
