import DiskCache
import Foundation
import ImageRender
import Logging
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageService

/// Frames and derivatives on disk.
@Suite("Stored frames and derivatives")
struct StoredFrameTests {
  /// A folder with the stored frames of several managers, one after the other.
  private final class DiskCacheFixture {
    let folder: String
    private var disk: DiskStore?

    init() {
      folder = FileManager.default.temporaryDirectory.appending(path: "photod-fixture-\(UUID().uuidString)").path
    }

    deinit {
      disk?.close()
      try? FileManager.default.removeItem(atPath: folder)
    }

    /// A newly started manager.
    func harness(epochs: DiskStore.Epochs = FrameStore.epochs) -> ImageManagerHarness {
      disk?.close()
      let disk = DiskStore(
        folder: folder, capacityBytes: 64 << 20, epochs: epochs, limits: DiskStoreLimits(minimumFreeBytes: 0),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      self.disk = disk
      return ImageManagerHarness { $0.store = FrameStore(disk) }
    }

    /// Waits until everything that a manager's renders made is written.
    func settle(_ harness: ImageManagerHarness) async throws {
      try await harness.untilIdle()
      disk?.waitUntilIdle()
    }

    /// All files that hold an entry.
    var files: [String] {
      let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
      return paths.filter { path in
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder)
        return !isFolder.boolValue && path.contains("/")
      }.map { "\(folder)/\($0)" }
    }
  }

  private static let photograph = JPEGFile { $0.quality = 95 }.encoded(Scene(seed: 7).pixels(width: 1600, height: 1200))

  private static func request(
    _ side: Int, _ delivery: DeliveryMode = .highQualityFormat, _ change: (inout ImageRequest) -> Void = { _ in }
  ) -> ImageRequest {
    var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), deliveryMode: delivery)
    change(&request)
    return request
  }

  private func frames(_ deliveries: [ImageDelivery]) -> [ImageFrame] {
    deliveries.compactMap {
      switch $0 {
      case .degraded(let frame), .final(let frame): frame
      case .progress, .failed: nil
      }
    }
  }

  @Test("after a restart a frame comes from disk with the same bytes and tag, and no original is opened")
  func restart() async throws {
    let fixture = DiskCacheFixture()
    let first = fixture.harness()
    let asset = first.originals.add(Self.photograph)
    let rendered = try #require(frames(await first.deliveries(asset, Self.request(900))).last)
    try await fixture.settle(first)
    let second = fixture.harness()
    #expect(second.originals.add(Self.photograph) == asset)
    let stored = try #require(frames(await second.deliveries(asset, Self.request(900))).last)
    #expect(stored.result.source == .disk && stored.bytes == rendered.bytes && stored.derivation == rendered.derivation)
    #expect(stored.result.size == rendered.result.size && second.originals.opened == 0)
  }

  @Test func `Each format and each way to make a frame is read as it was stored, and no other way is stored`() throws {
    for decoded in DecodeScale.all {
      // A shared decode has the scale of the member that needs the largest.
      for needed in DecodeScale.all where needed <= decoded {
        let direct = Derivation(decodedEighths: decoded, unsharedEighths: needed)
        for derivation in [direct, .derivative(side: 500, eighths: decoded), .file, .tile, .transcoded(direct)] {
          for format in OutputFormat.allCases {
            let stored = StoredFrameHeader(
              format: format, size: PixelSize(width: 4000, height: 3), derivation: derivation)
            let bytes = try #require(stored.bytes, "\(derivation)")
            let read = try #require(StoredFrameHeader(bytes))
            #expect(read.format == format && read.derivation == derivation && read.size == stored.size)
          }
        }
      }
    }
    let others: [Derivation] = [.sharedDecode(eighths: 3), .derivative(side: 500, eighths: 3), .smallPreview(.file)]
    for derivation in others {
      let header = StoredFrameHeader(format: .jpeg, size: PixelSize(width: 1, height: 1), derivation: derivation)
      #expect(header.bytes == nil, "\(derivation)")
    }
  }

  @Test("a damaged stored frame is never served: the frame is rendered again with the same bytes")
  func damaged() async throws {
    let fixture = DiskCacheFixture()
    let first = fixture.harness()
    let asset = first.originals.add(Self.photograph)
    let rendered = try #require(frames(await first.deliveries(asset, Self.request(900))).last)
    try await fixture.settle(first)
    #expect(fixture.files.count >= 3)
    for path in fixture.files where !path.contains("index") {
      var bytes = try Data(contentsOf: URL(filePath: path))
      bytes[bytes.count / 2] ^= 0x10
      try bytes.write(to: URL(filePath: path))
    }
    let second = fixture.harness()
    _ = second.originals.add(Self.photograph)
    let again = try #require(frames(await second.deliveries(asset, Self.request(900))).last)
    #expect(again.result.source == .original && again.bytes == rendered.bytes)
    let small = try #require(frames(await second.deliveries(asset, Self.request(300))).last)
    #expect(small.result.source == .original)
    // The damaged entries were removed, and the next request makes them again.
    try await fixture.settle(second)
    _ = await second.deliveries(asset, Self.request(910))
    try await fixture.settle(second)
    let other = try #require(frames(await second.deliveries(asset, Self.request(310))).last)
    #expect(other.result.source == .derivative)
  }

  @Test("the derivatives of a very narrow picture, which have another aspect ratio, are no degraded frames")
  func narrow() async throws {
    let fixture = DiskCacheFixture()
    let harness = fixture.harness()
    let asset = harness.originals.add(JPEGFile { _ in }.encoded(Pixels(width: 5000, height: 1, channels: 3)))
    _ = await harness.deliveries(asset, Self.request(4000))
    try await fixture.settle(harness)
    for (side, mode) in [(4500, DeliveryMode.opportunistic), (4600, DeliveryMode.fastFormat)] {
      let delivered = frames(await harness.deliveries(asset, Self.request(side, mode)))
      #expect(delivered.map(\.result.size) == [PixelSize(width: side, height: 1)])
      #expect(delivered.allSatisfy { !$0.result.isDegraded })
    }
  }

  @Test("frames of another epoch are not served, and derivatives have their own epoch")
  func epochs() async throws {
    let fixture = DiskCacheFixture()
    let first = fixture.harness()
    let asset = first.originals.add(Self.photograph)
    _ = await first.deliveries(asset, Self.request(900))
    try await fixture.settle(first)
    var epochs = FrameStore.epochs
    epochs.frame += 1
    let upgraded = fixture.harness(epochs: epochs)
    _ = upgraded.originals.add(Self.photograph)
    #expect(frames(await upgraded.deliveries(asset, Self.request(300))).map(\.result.source) == [.derivative])
    #expect(frames(await upgraded.deliveries(asset, Self.request(900))).map(\.result.source) == [.original])
    try await fixture.settle(upgraded)
    epochs.derivative += 1
    let again = fixture.harness(epochs: epochs)
    _ = again.originals.add(Self.photograph)
    #expect(frames(await again.deliveries(asset, Self.request(310))).map(\.result.source) == [.original])
  }

  @Test("a small frame is made from a derivative, without the original, and looks like it")
  func ladder() async throws {
    let fixture = DiskCacheFixture()
    let harness = fixture.harness()
    let asset = harness.originals.add(Self.photograph)
    let direct = try #require(frames(await harness.deliveries(asset, Self.request(300), bypassesCaches: true)).last)
    _ = await harness.deliveries(asset, Self.request(1000))
    try await fixture.settle(harness)
    let opened = harness.originals.opened
    let frame = try #require(frames(await harness.deliveries(asset, Self.request(300))).last)
    #expect(frame.result.source == .derivative && !frame.result.isDegraded && harness.originals.opened == opened)
    #expect(frame.result.size == direct.result.size && frame.derivation != direct.derivation)
    let (ours, reference) = (try #require(Pixels.decoded(frame.bytes)), try #require(Pixels.decoded(direct.bytes)))
    #expect((ours.pixels.meanDifference(from: reference.pixels) ?? 255) < 4)
  }

  @Test(
    "larger frames, crops and nearly lossless frames are not made from a derivative")
  func beyondTheLadder() async throws {
    let fixture = DiskCacheFixture()
    let harness = fixture.harness()
    let asset = harness.originals.add(Self.photograph)
    _ = await harness.deliveries(asset, Self.request(1000))
    try await fixture.settle(harness)
    let requests = [
      Self.request(600),
      Self.request(300) { $0.normalizedCropRect = UnitRect(x: 0.4, y: 0.4, width: 0.2, height: 0.2) },
      Self.request(300) { $0.quality = 95 }, Self.request(300) { $0.format = .png },
    ]
    for request in requests {
      #expect(frames(await harness.deliveries(asset, request)).map(\.result.source) == [.original])
    }
    // Likewise with bypassed caches.
    #expect(
      frames(await harness.deliveries(asset, Self.request(300), bypassesCaches: true)).map(\.result.source) == [
        .original
      ])
  }

  @Test("a derivative is sent unchanged as the degraded frame of a larger one, and is final for fastFormat")
  func degraded() async throws {
    let fixture = DiskCacheFixture()
    let harness = fixture.harness()
    let asset = harness.originals.add(Self.photograph)
    _ = await harness.deliveries(asset, Self.request(1000))
    try await fixture.settle(harness)
    let both = frames(await harness.deliveries(asset, Self.request(900, .opportunistic)))
    #expect(both.map(\.result.isDegraded) == [true, false] && both.map(\.result.source) == [.derivative, .original])
    #expect(both.map(\.result.size.width) == [667, 900])
    let fast = frames(await harness.deliveries(asset, Self.request(901, .fastFormat)))
    #expect(fast.map(\.result.isDegraded) == [true] && fast.first?.bytes == both.first?.bytes)
    // The degraded frame shows the same as the final one.
    let square = Self.request(800, .opportunistic) { $0.contentMode = .aspectFill }
    let cropped = frames(await harness.deliveries(asset, square))
    #expect(cropped.allSatisfy { $0.result.size.width == $0.result.size.height } && cropped.count == 2)
    // A final frame that is ready at once is the only frame.
    #expect(
      frames(await harness.deliveries(asset, Self.request(300, .opportunistic))).map(\.result.isDegraded) == [false])
  }

  @Test("fastFormat takes the camera's thumbnail before a derivative if it has the pixels; other requests don't")
  func thumbnailBeforeDerivative() async throws {
    let fixture = DiskCacheFixture()
    let harness = fixture.harness()
    let scene = Scene(seed: 7).pixels(width: 1600, height: 1200)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    let asset = harness.originals.add(
      JPEGFile {
        $0.exif = EXIFBlock { $0.thumbnail = thumbnail }
        $0.quality = 95
      }.encoded(scene))
    _ = await harness.deliveries(asset, Self.request(1000))
    try await fixture.settle(harness)
    let cell = frames(await harness.deliveries(asset, Self.request(160, .fastFormat)))
    #expect(cell.map(\.result.source) == [.embedded] && cell.first?.bytes == thumbnail, "as it is")
    let smaller = frames(await harness.deliveries(asset, Self.request(120, .fastFormat)))
    #expect(smaller.map(\.result.source) == [.embedded] && smaller.map(\.result.size.width) == [120])
    // More pixels than the thumbnail has.
    let larger = frames(await harness.deliveries(asset, Self.request(200, .fastFormat)))
    #expect(larger.map(\.result.source) == [.derivative] && larger.map(\.result.isDegraded) == [false])
    let final = frames(await harness.deliveries(asset, Self.request(159)))
    #expect(final.map(\.result.source) == [.derivative] && final.map(\.result.isDegraded) == [false])
  }

  @Test("jobs waiting for one original share one read and one decode, and their tags say so")
  func shared() async throws {
    let harness = ImageManagerHarness()
    let asset = harness.originals.add(Self.photograph)
    let lone = ImageManagerHarness()
    let loneAsset = lone.originals.add(Self.photograph)
    harness.blockRenderLane()
    let (stream, continuation) = AsyncStream.makeStream(of: ImageFrame.self)
    let sides = [100, 200, 400, 700]
    for side in sides {
      _ = harness.request(asset, Self.request(side), named: "\(side)") {
        if case .final(let frame) = $0 { continuation.yield(frame) }
      }
    }
    try await harness.untilQueued(sides.count)
    harness.unblockRenderLane()
    var shared: [Int: ImageFrame] = [:]
    for await frame in stream {
      shared[frame.result.size.width] = frame
      if shared.count == sides.count { break }
    }
    #expect(harness.originals.opened == 1)
    #expect(harness.originals.bytesRead < Self.photograph.count * 3 / 2)
    for side in sides {
      let frame = try #require(shared[side])
      let alone = try #require(frames(await lone.deliveries(loneAsset, Self.request(side))).last)
      // Equal tags mean equal bytes.
      #expect((frame.derivation == alone.derivation) == (frame.bytes == alone.bytes), "\(side)")
      let (ours, reference) = (try #require(Pixels.decoded(frame.bytes)), try #require(Pixels.decoded(alone.bytes)))
      #expect((ours.pixels.meanDifference(from: reference.pixels) ?? 255) < 3, "\(side)")
    }
    #expect(shared[700]?.derivation == .original && shared[100]?.derivation != .original)
  }

  @Test("derivatives are made in the background, newest assets first, and only once")
  func background() async throws {
    let fixture = DiskCacheFixture()
    let harness = fixture.harness()
    let assets = (0..<5).map { harness.originals.add(Self.photograph, named: "\($0)") }
    let library = StubLibrary(assets)
    let work = harness.derivativeWork(library)
    var made = 0
    while let step = try work.next() {
      #expect(step.bytes > 0 && step.bytes < 32 << 20)
      try step.run(StopFlag())
      made += 1
    }
    #expect(made == 5)
    try await fixture.settle(harness)
    work.restart()
    #expect(try work.next() == nil)
    let opened = harness.originals.opened
    for asset in assets {
      #expect(frames(await harness.deliveries(asset, Self.request(200))).map(\.result.source) == [.derivative])
    }
    #expect(harness.originals.opened == opened)
  }
}
