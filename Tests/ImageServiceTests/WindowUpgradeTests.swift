import ImageCodec
import ImageRender
import ImageService
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

/// Smaller encodings of the frames that windows prepare, with an encoder of the test's.
@Suite("Windows and smaller encodings")
struct WindowUpgradeTests {
  /// Encodes every picture as `length` bytes, and waits at a gate before. The first ones may fail.
  private final class Encoder: CodedPictureDecoder {
    let gate = Gate()
    private let length: Int
    private let failures: Mutex<[CodecError]>

    init(length: Int = 1, failures: [CodecError] = []) {
      self.length = length
      self.failures = Mutex(failures)
    }

    func decode(
      _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
      rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
    ) throws(CodecError) { throw .decoderUnavailable(.jxl) }

    func encode(
      _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
    ) throws(CodecError) -> [[UInt8]] {
      gate.pass()
      if let failure = failures.withLock({ $0.popLast() }) { throw failure }
      return [[UInt8](repeating: 7, count: length)]
    }
  }

  private static func harness(_ encoder: Encoder, sharePercent: Int = 100) -> CachingHarness {
    var limits = EncodingUpgrades.Limits()
    limits.sharePercent = sharePercent
    return CachingHarness(20, upgrades: (formats: [.jxl, .avif], limits: limits)) {
      $0.decoder = encoder
      $0.cacheBytes = 4 << 20
      $0.memoryBytes = 256 << 20
    }
  }

  /// The positions whose smaller encoding is in memory.
  private func smaller(_ harness: CachingHarness, _ format: OutputFormat = .jxl) -> [Int] {
    harness.library.names.indices.filter { index in
      guard let asset = harness.library[index] else { return false }
      var request = CachingHarness.options().request(for: asset)
      request.format = format
      return harness.images.manager.isInMemory(ResolvedRequest(request, for: asset).key)
    }
  }

  @Test("every frame that a window has prepared gets the client's smaller encoding")
  func upgraded() async throws {
    let harness = Self.harness(Encoder())
    try harness.move(5..<8, margin: 2, upgradeFormats: UpgradeFormats(opaque: .jxl))
    try await eventually { harness.upgrades?.statistics.made == 7 }
    #expect(smaller(harness) == Array(3...9) && smaller(harness, .avif).isEmpty)
    #expect(try #require(harness.upgrades?.statistics).savedBytes > 0)
    // The window's own frames are still pinned, and nothing is made twice.
    #expect(harness.pinned() == Set(3...9))
    try harness.move(5..<8, margin: 2, upgradeFormats: UpgradeFormats(opaque: .jxl))
    try await harness.untilQuiet()
    #expect(harness.upgrades?.statistics.made == 7)
  }

  @Test("a window without Accept takes the format that its owner's requests have listed")
  func learned() async throws {
    let harness = Self.harness(Encoder())
    try harness.move(0..<2, margin: 0)
    try await harness.untilQuiet()
    #expect(smaller(harness).isEmpty)
    harness.listedFormats.clientListed(.webp, hasAlpha: true, owner: CachingHarness.owner.name)
    harness.listedFormats.clientListed(.avif, hasAlpha: false, owner: "another owner")
    harness.listedFormats.clientListed(.jxl, hasAlpha: false, owner: CachingHarness.owner.name)
    // Frames that are ready already get one too.
    try harness.move(0..<3, margin: 0)
    try await eventually { smaller(harness) == [0, 1, 2] }
    #expect(smaller(harness, .avif).isEmpty)
  }

  @Test("of too many owners, the one whose clients' formats were not used for longest is forgotten")
  func manyOwners() {
    let listed = ListedFormats(capacity: 2)
    for owner in ["a", "b", "a", "c"] { listed.clientListed(.jxl, hasAlpha: false, owner: owner) }
    let formats: [OutputFormat?] = [.jxl, nil, .jxl]
    #expect(["a", "b", "c"].map { listed.formats(of: $0).opaque } == formats)
    listed.clientListed(.webp, hasAlpha: true, owner: "a")
    #expect(listed.formats(of: "a") == UpgradeFormats(opaque: .jxl, alpha: .webp))
  }

  @Test("of too many files that were sent, the one that was not sent for longest is forgotten")
  func manyFiles() {
    let originals = InMemoryOriginals()
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 24, height: 16))
    let keys = ["a", "b", "c"].map {
      ResolvedRequest(ImageRequest(), for: originals.add(picture, named: $0)).key
    }
    let sent = SentFiles(capacity: 2)
    #expect([0, 1, 0, 2].map { sent.fileSent(keys[$0]) } == [false, false, true, false])
    #expect([0, 1].map { sent.fileSent(keys[$0]) } == [true, false])
  }

  @Test("frames of a named format, and of formats without an encoder, stay as they are")
  func named() async throws {
    let harness = Self.harness(Encoder())
    let size = TargetSize.size(PixelSize(width: 12, height: 12))
    let options = PreheatOptions(ImageRequest(targetSize: size), format: .jpeg)
    try harness.move(0..<4, options, upgradeFormats: UpgradeFormats(opaque: .jxl))
    try await harness.untilQuiet()
    try harness.move(0..<4, upgradeFormats: UpgradeFormats(opaque: .webp))
    try await harness.untilQuiet()
    let off = Self.harness(Encoder(), sharePercent: 0)
    try off.move(0..<4, upgradeFormats: UpgradeFormats(opaque: .jxl))
    try await off.untilQuiet()
    for harness in [harness, off] { #expect(smaller(harness).isEmpty && harness.upgrades?.statistics.made == 0) }
  }

  @Test("an encoding that is not smaller is made once")
  func larger() async throws {
    let harness = Self.harness(Encoder(length: 5000))
    try harness.move(0..<3, margin: 0, upgradeFormats: UpgradeFormats(opaque: .jxl))
    try await eventually { harness.upgrades?.statistics.notSmaller == 3 }
    for formats in [UpgradeFormats(), UpgradeFormats(opaque: .jxl)] {
      try harness.move(0..<3, margin: 0, upgradeFormats: formats)
      try await harness.untilQuiet()
    }
    try await harness.images.untilIdle()
    #expect(harness.upgrades?.statistics.notSmaller == 3)
  }

  @Test("a failure for a reason outside of the picture does not keep a frame from its smaller encoding later")
  func failed() async throws {
    for (failure, mayTryAgain) in [
      (CodecError.encoderInterrupted, true), (.outOfMemory, true), (.encodingFailed("not this one"), false),
    ] as [(CodecError, Bool)] {
      let harness = Self.harness(Encoder(failures: [failure]))
      let log = EventLog()
      harness.upgrades?.observe { _ in log.append("responses are stale") }
      try harness.move(0..<1, margin: 0, upgradeFormats: UpgradeFormats(opaque: .jxl))
      try await eventually { harness.upgrades?.statistics.failed == 1 }
      if mayTryAgain { #expect(await log.next() == "responses are stale") }
      for formats in [UpgradeFormats(), UpgradeFormats(opaque: .jxl)] {
        try harness.move(0..<1, margin: 0, upgradeFormats: formats)
        try await harness.untilQuiet()
      }
      if mayTryAgain { try await eventually { harness.upgrades?.statistics.made == 1 } }
      try await harness.images.untilIdle()
      #expect(smaller(harness) == (mayTryAgain ? [0] : []), "\(failure)")
    }
  }

  @Test("a frame that leaves the window before its turn is not encoded again")
  func left() async throws {
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    try harness.move(0..<6, margin: 0)
    try await harness.untilQuiet()
    encoder.gate.shut()
    try harness.move(0..<6, margin: 0, upgradeFormats: UpgradeFormats(opaque: .jxl))
    await encoder.gate.waitUntilBlocked()
    // The first encoding has begun; the others wait.
    _ = try harness.managers.stopAll(id: "default", for: CachingHarness.owner)
    encoder.gate.open()
    try await eventually { harness.upgrades?.statistics.made == 1 }
    try await harness.images.untilIdle()
    #expect(smaller(harness).count == 1 && harness.upgrades?.statistics.made == 1)
  }
}
