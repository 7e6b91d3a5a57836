import Foundation
import ImageCodec
import ImageRender
import ImageService
import LibraryFolder
import Logging
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@Suite("Placeholder producer")
struct PlaceholderWorkTests {
  private static let red: [UInt8] = [230, 20, 20]
  private static let green: [UInt8] = [20, 200, 20]
  private static let blue: [UInt8] = [20, 20, 220]

  /// A sink in memory that behaves like the catalogue.
  private final class Sink: PlaceholderStore {
    struct State {
      var assets: [Asset] = []
      /// By identifier; an entry without bytes is a recorded failure.
      var results: [LocalIdentifier: PlaceholderResult] = [:]
      var batches: [Int] = []
      var marks: [String] = []
    }

    let state = Mutex(State())

    func setPlaceholderMaker(version: String) { state.withLock { $0.marks.append(version) } }

    func assetsWithoutPlaceholder(after last: Asset?, limit: Int) -> [Asset] {
      state.withLock { state in
        let start = last.flatMap { last in state.assets.firstIndex { $0.localIdentifier == last.localIdentifier } }
        let rest = state.assets[(start.map { $0 + 1 } ?? 0)...]
        return Array(
          rest.filter { state.results[$0.localIdentifier]?.contentVersion != $0.contentVersion }.prefix(limit))
      }
    }

    func store(_ results: [PlaceholderResult]) {
      guard !results.isEmpty else { return }
      state.withLock { state in
        state.batches.append(results.count)
        for result in results { state.results[result.localIdentifier] = result }
      }
    }
  }

  /// A folder of files, and the producer for them.
  private final class PlaceholderHarness: Sendable {
    let folder: String
    let library: LibraryFolder
    let sink = Sink()
    let derivatives = Mutex<[String: [UInt8]]>([:])
    let time = Mutex(ContinuousClock.now)

    init() throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "photod-placeholders-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      library = try LibraryFolder(path: folder)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func write(_ bytes: [UInt8], _ name: String) throws {
      try Data(bytes).write(to: URL(filePath: folder + "/" + name))
    }

    /// Adds a file and its asset, as a scan would.
    func add(_ bytes: [UInt8], _ name: String) throws {
      try write(bytes, name)
      let file = try library.open(Array(name.utf8))
      let header = try? ImageHeader.read(from: file, limits: CodecLimits())
      let epoch = Timestamp(milliseconds: 0)
      let asset = Asset(
        localIdentifier: LocalIdentifier(name), contentVersion: ContentVersion("\(file.identity)"),
        revision: ChangeToken(1),
        mediaType: .image, uniformTypeIdentifier: "public.jpeg",
        pixelSize: header?.uprightSize ?? PixelSize(width: 1, height: 1), orientation: .topLeft, hasAlpha: false,
        creationDate: epoch, creationDateSource: .file, modificationDate: epoch, location: nil, cameraMake: nil,
        cameraModel: nil, isFavorite: false, isHidden: false,
        original: OriginalFile(
          path: Array(name.utf8), identity: file.identity, embeddedThumbnail: header?.embeddedThumbnail))
      sink.state.withLock { state in
        state.assets.removeAll { $0.localIdentifier == asset.localIdentifier }
        state.assets.append(asset)
      }
    }

    func work(
      maximumBytes: Int = 64 << 20, workers: (any CodedPictureDecoder)? = nil
    ) -> PlaceholderProducer {
      PlaceholderProducer(
        placeholders: sink, originals: OriginalStore(folder: library),
        renderer: PlaceholderRenderer(
          limits: CodecLimits(), workers: workers, transforms: ColorTransforms(capacityBytes: 0)),
        maximumBytes: maximumBytes,
        derivative: { [self] asset in
          derivatives.withLock { $0[asset.localIdentifier.rawValue] }.map { MemoryByteSource($0) }
        },
        now: { [self] in time.withLock { $0 } }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs until nothing is left. Returns the number of steps.
    @discardableResult
    func run(_ work: PlaceholderProducer, stop: StopFlag = StopFlag()) throws -> Int {
      var count = 0
      while let step = try work.next() {
        try step.run(stop)
        count += 1
      }
      return count
    }

    func color(_ name: String) -> [UInt8]? {
      result(name)?.placeholder.flatMap { DecodedThumbHash($0) }.map { Array($0.average.prefix(3)) }
    }

    func result(_ name: String) -> PlaceholderResult? { sink.state.withLock { $0.results[LocalIdentifier(name)] } }
  }

  private static func flat(_ color: [UInt8], _ width: Int, _ height: Int) -> Pixels {
    Pixels(width: width, height: height, channels: 3, bytes: (0..<width * height).flatMap { _ in color })
  }

  /// A blue photograph with a thumbnail of another colour, so that a placeholder shows its source.
  private static func photograph(
    thumbnail: [UInt8]? = nil, width: Int = 640, height: Int = 480, orientation: Int = 1
  ) -> [UInt8] {
    JPEGFile {
      $0.exif = EXIFBlock {
        $0.orientation = orientation
        $0.thumbnail = thumbnail
      }
    }.encoded(flat(blue, width, height))
  }

  private static func jpeg(_ color: [UInt8], _ width: Int, _ height: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(flat(color, width, height))
  }

  private func isClose(_ a: [UInt8]?, _ b: [UInt8]) -> Bool {
    a.map { zip($0, b).allSatisfy { abs(Int($0) - Int($1)) < 12 } } ?? false
  }

  @Test("the camera's thumbnail is tried first, then a derivative, then the original")
  func sources() throws {
    let harness = try PlaceholderHarness()
    let thumbnail = Self.jpeg(Self.red, 160, 120)
    try harness.add(Self.photograph(thumbnail: thumbnail), "thumbnail")
    try harness.add(Self.photograph(), "derivative")
    try harness.add(Self.photograph(), "original")
    // A thumbnail of another shape, so of another picture; and a truncated one.
    try harness.add(Self.photograph(thumbnail: Self.jpeg(Self.red, 120, 120)), "strange")
    try harness.add(Self.photograph(thumbnail: Array(thumbnail.prefix(thumbnail.count * 2 / 3))), "damaged")
    // Bars that are not dark, which is known after decoding.
    try harness.add(Self.photograph(thumbnail: Self.jpeg(Self.red, 160, 120), width: 900, height: 600), "bars")
    harness.derivatives.withLock { derivatives in
      for name in ["thumbnail", "derivative", "strange", "bars"] {
        derivatives[name] = Self.jpeg(Self.green, 512, 384)
      }
    }
    try harness.run(harness.work())
    let expected = [
      "thumbnail": Self.red, "derivative": Self.green, "original": Self.blue, "strange": Self.green,
      "damaged": Self.blue, "bars": Self.green,
    ]
    for (name, color) in expected {
      #expect(isClose(harness.color(name), color), "\(name): \(harness.color(name) ?? [])")
    }
  }

  @Test("a damaged derivative is skipped")
  func brokenDerivative() throws {
    let harness = try PlaceholderHarness()
    try harness.add(Self.photograph(), "a")
    harness.derivatives.withLock { $0["a"] = [1, 2, 3] }
    try harness.run(harness.work())
    #expect(isClose(harness.color("a"), Self.blue))
  }

  @Test("without a thumbnail, an embedded preview is used")
  func preview() throws {
    let harness = try PlaceholderHarness()
    let preview = Self.jpeg(Self.red, 320, 240)
    try harness.add(
      MultiPictureFile(previews: [(type: 0x01_0001, bytes: preview)]).encoded(Self.photograph()), "a")
    try harness.run(harness.work())
    #expect(isClose(harness.color("a"), Self.red))
  }

  @Test("a placeholder shows the upright picture", arguments: [1, 3, 6, 8])
  func upright(_ orientation: Int) throws {
    let harness = try PlaceholderHarness()
    let card = Pixels.orientationCard(width: 640, height: 480)
    let stored = card.stored(orientation: orientation)
    for (name, thumbnail) in [("with", DemoLibrary.thumbnail(of: stored)), ("without", nil)] {
      let file = JPEGFile {
        $0.exif = EXIFBlock {
          $0.orientation = orientation
          $0.thumbnail = thumbnail
        }
      }
      try harness.add(file.encoded(stored), name)
    }
    try harness.run(harness.work())
    for name in ["with", "without"] {
      let placeholder = try #require(harness.result(name)?.placeholder)
      let picture = try #require(DecodedThumbHash(placeholder)).pixels(width: 16, height: 12).channels(3)
      // Closer to the card than to the card mirrored, upside down or turned by 180 degrees.
      let differences = try (1...4).map { other in
        try #require(picture.meanDifference(from: card.stored(orientation: other).averaged(width: 16, height: 12)))
      }
      #expect(differences[1...].allSatisfy { $0 > differences[0] * 1.3 }, "\(name): \(differences)")
    }
  }

  @Test("a permanent failure is recorded and tried once for each content")
  func broken() throws {
    let harness = try PlaceholderHarness()
    let whole = Self.photograph()
    try harness.add(Array(whole.prefix(200)), "a")
    #expect(try harness.run(harness.work()) <= 1)
    #expect(harness.result("a") != nil && harness.result("a")?.placeholder == nil)
    let work = harness.work()
    #expect(try work.next() == nil)
    try harness.add(whole, "a")
    work.restart()
    try harness.run(work)
    #expect(isClose(harness.color("a"), Self.blue))
  }

  @Test("a temporary failure is not recorded: a changed file, a missing file, a raised flag")
  func forNow() throws {
    let harness = try PlaceholderHarness()
    for name in ["changed", "gone", "stopped"] { try harness.add(Self.photograph(), name) }
    try harness.write(Self.jpeg(Self.red, 64, 48), "changed")
    try FileManager.default.removeItem(atPath: harness.folder + "/gone")
    let stop = StopFlag()
    stop.raise()
    let work = harness.work()
    #expect(try harness.run(work, stop: stop) == 1, "only one can be opened")
    #expect(harness.sink.state.withLock { $0.results.isEmpty })
    work.restart()
    try harness.run(work)
    #expect(harness.sink.state.withLock { Array($0.results.keys) } == [LocalIdentifier("stopped")])
  }

  /// Fails for every picture.
  private struct FailingDecoder: CodedPictureDecoder {
    let reason: DecoderFailureReason

    func decode(
      _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
      rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
    ) throws(CodecError) {
      throw .decoderFailed(.heic, reason)
    }
  }

  @Test(
    "a decoder that made no progress is no permanent failure",
    arguments: [(DecoderFailureReason.stalled, false), (.time, true)])
  func stalled(_ reason: DecoderFailureReason, isRecorded: Bool) throws {
    let harness = try PlaceholderHarness()
    let properties = [CodedHEIFFile.hvcC(), CodedHEIFFile.ispe(1200, 900)]
    try harness.add(CodedHEIFFile([CodedHEIFFile.Item(1, "hvc1", [1], properties: properties)]).bytes, "a")
    #expect(try harness.run(harness.work(workers: FailingDecoder(reason: reason))) == 1)
    #expect((harness.result("a") != nil) == isRecorded)
  }

  @Test("a file that is overwritten while it is read gives no placeholder")
  func overwritten() throws {
    let harness = try PlaceholderHarness()
    try harness.add(Self.photograph(), "a")
    let work = harness.work()
    let step = try #require(try work.next())
    let handle = try #require(FileHandle(forWritingAtPath: harness.folder + "/a"))
    try handle.seekToEnd()
    handle.write(Data([0]))
    try handle.close()
    try step.run(StopFlag())
    #expect(try work.next() == nil)
    #expect(harness.sink.state.withLock { $0.results.isEmpty })
  }

  @Test("results go to the sink 64 at a time, after a second, or at the end")
  func batches() throws {
    let harness = try PlaceholderHarness()
    for i in 0..<70 { try harness.add(Self.photograph(width: 8, height: 8), "\(i)") }
    let work = harness.work()
    func batches() -> [Int] { harness.sink.state.withLock { $0.batches } }
    func step() throws {
      let next = try #require(try work.next())
      try next.run(StopFlag())
    }
    for _ in 0..<63 { try step() }
    #expect(batches() == [])
    try step()
    #expect(batches() == [64])
    try step()
    harness.time.withLock { $0 += .milliseconds(999) }
    try step()
    #expect(batches() == [64])
    harness.time.withLock { $0 += .milliseconds(1) }
    try step()
    #expect(batches() == [64, 3])
    try harness.run(work)
    #expect(batches() == [64, 3, 3])
  }

  @Test("more than one page is processed, and assets added meanwhile after a restart")
  func pages() throws {
    let harness = try PlaceholderHarness()
    for i in 0..<300 { try harness.add(Self.photograph(width: 8, height: 8), "\(i)") }
    let work = harness.work()
    #expect(try harness.run(work) == 300)
    #expect(try work.next() == nil)
    try harness.add(Self.photograph(width: 8, height: 8), "new")
    work.restart()
    #expect(try harness.run(work) == 1)
    #expect(harness.sink.state.withLock { $0.results.count } == 301)
  }

  @Test("a restart drops the next source of an asset and begins with the first one")
  func restart() throws {
    let harness = try PlaceholderHarness()
    // Bars that are not dark, so the thumbnail gives no placeholder.
    try harness.add(Self.photograph(thumbnail: Self.jpeg(Self.red, 160, 120), width: 900, height: 600), "a")
    let work = harness.work()
    func runStep() throws -> Int {
      let step = try #require(try work.next())
      try step.run(StopFlag())
      return step.bytes
    }
    #expect(try runStep() == 0)
    work.restart()
    #expect(try runStep() == 0, "the thumbnail")
    #expect(try runStep() > 0, "the original")
    #expect(try work.next() == nil)
  }

  @Test(
    "a thumbnail needs no reservation, an original what its plan says, and one over the limit is recorded as failed")
  func memory() throws {
    let harness = try PlaceholderHarness()
    try harness.add(Self.photograph(thumbnail: Self.jpeg(Self.red, 160, 120)), "thumbnail")
    try harness.add(Self.photograph(), "original")
    let work = harness.work()
    var prices: [Int] = []
    while let step = try work.next() {
      prices.append(step.bytes)
      try step.run(StopFlag())
    }
    let price = try #require(prices.last)
    #expect(prices.first == 0 && price > 100_000)

    let scarce = try PlaceholderHarness()
    try scarce.add(Self.photograph(), "original")
    #expect(try scarce.run(scarce.work(maximumBytes: price - 1)) == 0)
    #expect(scarce.result("original") != nil && scarce.result("original")?.placeholder == nil)
    let marks = scarce.sink.state.withLock { $0.marks } + harness.sink.state.withLock { $0.marks }
    #expect(Set(marks).count == 2, "with more memory it is tried again")
  }
}
