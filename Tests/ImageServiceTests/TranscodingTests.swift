import ImageCodec
import ImageRender
import ImageService
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

/// When a JPEG XL is made from a finished JPEG, with an encoder of the test's.
@Suite("JPEG XL from finished JPEGs")
struct TranscodingTests {
  /// Answers with one byte, and remembers what it was asked for.
  private final class Encoder: CodedPictureDecoder {
    static let encoded: [UInt8] = [1]
    static let transcoded: [UInt8] = [2]

    /// Passed before each transcoding.
    let gate = Gate()
    private let canTranscode: Bool
    private let found = Mutex<[[UInt8]]>([])

    init(canTranscode: Bool = true) { self.canTranscode = canTranscode }

    /// The JPEGs that were to be transcoded.
    var jpegs: [[UInt8]] { found.withLock { $0 } }

    func decode(
      _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
      rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
    ) throws(CodecError) { throw .decoderUnavailable(.jxl) }

    func encode(
      _ encoding: WorkerEncoding, profile: [UInt8], rows: UnsafeRawBufferPointer, stop: StopFlag
    ) throws(CodecError) -> [[UInt8]] { [Self.encoded] }

    func transcode(
      _ transcoding: JPEGTranscoding, from source: any ByteSource, stop: StopFlag
    ) throws(CodecError) -> [UInt8] {
      gate.pass()
      let file = transcoding.file
      guard let bytes = try? source.bytes(at: file.offset, count: file.length) else { throw .readFailed(code: 5) }
      found.withLock { $0.append(bytes) }
      if !canTranscode { throw .encodingFailed("not this one") }
      return Self.transcoded
    }
  }

  private static let photograph = JPEGFile { _ in }.encoded(Scene(seed: 8).pixels(width: 640, height: 480))

  private static func harness(_ encoder: Encoder) -> ImageManagerHarness {
    ImageManagerHarness {
      $0.decoder = encoder
      $0.cacheBytes = 4 << 20
      $0.memoryBytes = 256 << 20
    }
  }

  private static func request(
    _ format: OutputFormat, side: Int? = 300, quality: Int? = nil
  ) -> ImageRequest {
    var request = ImageRequest(format: format, quality: quality)
    if let side { request.targetSize = .size(PixelSize(width: side, height: side)) }
    return request
  }

  private func frame(
    _ harness: ImageManagerHarness, _ asset: Asset, _ request: ImageRequest, bypassesCaches: Bool = false
  ) async throws -> ImageFrame {
    guard case .final(let frame)? = await harness.deliveries(asset, request, bypassesCaches: bypassesCaches).last
    else { throw CodecError.stopped }
    return frame
  }

  @Test("a client that waits for a JPEG XL gets the cached JPEG of the same picture, without a decode")
  func cached() async throws {
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(Self.photograph)
    let jpeg = try await frame(harness, asset, Self.request(.jpeg))
    let opened = harness.originals.opened
    let wanted = ResolvedRequest(Self.request(.jxl), for: asset)
    #expect(harness.manager.expectedDerivation(of: wanted) == .transcoded(.original))
    let found = try await frame(harness, asset, Self.request(.jxl))
    #expect(found.bytes == Encoder.transcoded && found.format == .jxl && found.derivation == .transcoded(.original))
    #expect(found.result.size == jpeg.result.size && found.result.source == .memory)
    #expect(encoder.jpegs == [jpeg.bytes] && harness.originals.opened == opened)
    // The frame is cached under the key of the JPEG XL.
    #expect(harness.manager.cachedFrame(wanted.key)?.derivation == .transcoded(.original))
  }

  @Test("another size, quality or codec, a measurement, and a picture with alpha are encoded, not transcoded")
  func others() async throws {
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(Self.photograph)
    _ = try await frame(harness, asset, Self.request(.jpeg))
    for (name, request, bypasses) in [
      ("another size", Self.request(.jxl, side: 200), false),
      ("another quality", Self.request(.jxl, quality: 50), false),
      ("another codec", Self.request(.webp), false),
      ("a measurement", Self.request(.jxl), true),
    ] {
      let found = try await frame(harness, asset, request, bypassesCaches: bypasses)
      #expect(found.derivation == .original, "\(name)")
    }
    // Its JPEG is on white.
    var cutOut = Pixels(width: 40, height: 30, channels: 4)
    for i in 0..<1200 { cutOut.bytes[i * 4 + 3] = UInt8(i % 40 * 6) }
    let transparent = harness.originals.add(PNGFile(.rgba(depth: 8)).encoded(cutOut), named: "b")
    _ = try await frame(harness, transparent, Self.request(.jpeg))
    #expect(try await frame(harness, transparent, Self.request(.jxl)).derivation == .original)
    #expect(encoder.jpegs.isEmpty)
  }

  @Test("in the background, where only bytes count, pixels are encoded below the highest qualities")
  func background() async throws {
    for (quality, isTranscoded) in [(82, false), (95, false), (96, true), (100, true)] {
      let encoder = Encoder()
      let harness = Self.harness(encoder)
      let asset = harness.originals.add(Self.photograph)
      _ = try await frame(harness, asset, Self.request(.jpeg, quality: quality))
      let wanted = ResolvedRequest(Self.request(.jxl, quality: quality), for: asset)
      let outcome = await withCheckedContinuation { continuation in
        _ = harness.manager.prepare(wanted, caller: "", priority: .background, withoutOriginal: false) {
          continuation.resume(returning: $1)
        }
      }
      guard case .prepared(let found) = outcome else {
        Issue.record("\(outcome)")
        continue
      }
      #expect(found.derivation.isTranscoded == isTranscoded, "\(quality)")
    }
  }

  @Test("a JPEG that can't be transcoded is encoded from the original")
  func failure() async throws {
    let encoder = Encoder(canTranscode: false)
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(Self.photograph)
    _ = try await frame(harness, asset, Self.request(.jpeg))
    let found = try await frame(harness, asset, Self.request(.jxl))
    #expect(found.bytes == Encoder.encoded && found.derivation == .original && encoder.jpegs.count == 1)
    // The same for an original.
    let whole = try await frame(harness, asset, Self.request(.jxl, side: nil))
    #expect(whole.bytes == Encoder.encoded && whole.derivation == .original && encoder.jpegs.count == 2)
  }

  @Test("the encoding after a failed transcoding waits like any render: it can get a higher priority, or be withdrawn")
  func waitingAgain() async throws {
    let encoder = Encoder(canTranscode: false)
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(Self.photograph)
    // At this quality the background transcodes too.
    _ = try await frame(harness, asset, Self.request(.jpeg, quality: 100))
    try await harness.untilIdle()
    encoder.gate.shut()
    let wanted = ResolvedRequest(Self.request(.jxl, quality: 100), for: asset)
    let preparation = harness.manager.prepare(wanted, caller: "", priority: .background, withoutOriginal: false) {
      _, _ in
    }
    await encoder.gate.waitUntilBlocked()
    // The encoding needs more memory than the transcoding, so it waits when that has ended.
    let others = harness.budget.tryReserve(harness.budget.capacityBytes - harness.budget.bytesInUse)
    encoder.gate.open()
    try await harness.untilQueued(1)
    try await harness.untilIdle()
    let lane = harness.renderLane
    #expect(lane.waitingCounts == (interactive: 0, background: 1) && harness.manager.waitingJobCount == 1)
    let task = harness.request(asset, Self.request(.jxl, quality: 100)) { _ in }
    #expect(lane.waitingCounts == (interactive: 1, background: 0))
    harness.manager.cancel(task)
    #expect(lane.waitingCounts == (interactive: 0, background: 1))
    _ = harness.manager.cancel(preparation)
    #expect(lane.waitingCounts == (interactive: 0, background: 0) && harness.manager.waitingJobCount == 0)
    others?.release()
    #expect(harness.budget.bytesInUse == 0)
  }

  @Test("a transcoding that runs is a render that has begun")
  func rendering() async throws {
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(Self.photograph)
    _ = try await frame(harness, asset, Self.request(.jpeg, quality: 100))
    try await harness.untilIdle()
    encoder.gate.shut()
    let request = Self.request(.jxl, quality: 100)
    let wanted = ResolvedRequest(request, for: asset)
    let preparation = harness.manager.prepare(wanted, caller: "", priority: .background, withoutOriginal: false) {
      _, _ in
    }
    await encoder.gate.waitUntilBlocked()
    let task = harness.request(asset, request, named: "joins") { _ in }
    #expect(harness.manager.request("joins", owner: "me")?.stage == .rendering)
    #expect(harness.manager.waitingJobCount == 0)
    harness.manager.cancel(task)
    #expect(harness.manager.cancel(preparation))
    encoder.gate.open()
    try await harness.untilIdle()
    #expect(harness.budget.bytesInUse == 0 && harness.manager.waitingJobCount == 0)
  }

  @Test("a JPEG XL that waits for its transcoding is not encoded in the render of another frame of the original")
  func notShared() async throws {
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(Self.photograph)
    let jpeg = try await frame(harness, asset, Self.request(.jpeg))
    try await harness.untilIdle()
    harness.blockRenderLane()
    let log = EventLog()
    func ask(_ name: String, _ request: ImageRequest) {
      _ = harness.request(asset, request, named: name) { delivery in
        if case .final(let frame) = delivery { log.append("\(name) \(frame.derivation.isTranscoded)") }
      }
    }
    // Encoded like the JPEG XLs, so they could share its decode. One of them does.
    ask("WebP", Self.request(.webp))
    try await harness.untilQueued(1)
    ask("JPEG XL", Self.request(.jxl))
    ask("larger JPEG XL", Self.request(.jxl, side: 310))
    try await harness.untilQueued(3)
    harness.unblockRenderLane()
    #expect(Set(await log.lines(3)) == ["WebP false", "JPEG XL true", "larger JPEG XL false"])
    #expect(encoder.jpegs == [jpeg.bytes] && harness.metric("photod_image_shared_decodes_total") == 1)
  }

  @Test("an original that is shown whole is transcoded; one that must change is encoded")
  func whole() async throws {
    let scene = Scene(seed: 9).pixels(width: 80, height: 60)
    func file(_ change: (inout JPEGFile) -> Void) -> [UInt8] { JPEGFile(change).encoded(scene) }
    let adobeRGB = EXIFBlock {
      $0.colorSpace = 65_535
      $0.interoperabilityIndex = "R03"
    }
    let files: [(name: String, isTranscoded: Bool, bytes: [UInt8])] = [
      ("plain", true, file { _ in }), ("progressive", true, file { $0.isProgressive = true }),
      ("with a profile", true, file { $0.profile = ICCFile.displayP3 }),
      ("turned", false, file { $0.exif = EXIFBlock { $0.orientation = 6 } }),
      ("of other colours, without a profile", false, file { $0.exif = adobeRGB }),
      ("of inks", false, file { $0.color = .cmyk }), ("arithmetic", false, file { $0.isArithmetic = true }),
    ]
    for (name, isTranscoded, bytes) in files { try await expectTranscoded(isTranscoded, bytes, name) }
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(files[0].bytes)
    var changed = [Self.request(.jxl, side: 79), Self.request(.jxl, side: nil, quality: 90)]
    changed.append(Self.request(.jxl, side: nil, quality: 60))
    changed[2].colorSpace = .srgb
    for request in changed { #expect(try await frame(harness, asset, request).derivation == .original) }
    #expect(encoder.jpegs.isEmpty)
  }

  /// The JPEG with Adobe's segment for RGB instead of its JFIF segment: the same samples are red, green and blue.
  private static func inRGB(_ jpeg: [UInt8]) -> [UInt8] {
    var file = jpeg
    let start: [UInt8] = [0xFF, 0xEE, 0, 16] + Array("Adobe".utf8)
    // The version 100, two numbers of flags, the transform 0, and two bytes to fill the former segment.
    let rest: [UInt8] = [0, 100, 0, 0, 0, 0, 0, 0, 0]
    file.replaceSubrange(2..<20, with: start + rest)
    return file
  }

  private static func inParts(_ profile: [UInt8], _ order: [Int]) -> [JPEGSegment] {
    let length = (profile.count + 2) / 3
    return order.map { i in
      JPEGSegment.profilePart(profile[((i - 1) * length)..<min(profile.count, i * length)], i, of: 3)
    }
  }

  @Test("an original of which a JPEG XL with its coefficients would have other colours is encoded")
  func wholeColors() async throws {
    let scene = Scene(seed: 10).pixels(width: 80, height: 60)
    let gray = scene.channels(1)
    let (p3, ofGray) = (ICCFile.displayP3, ICCFile.gray(exponent: 2.2))
    func file(_ change: (inout JPEGFile) -> Void) -> [UInt8] { JPEGFile(change).encoded(scene) }
    func grayFile(_ profile: [UInt8]?) -> [UInt8] {
      JPEGFile {
        $0.color = .gray
        $0.profile = profile
      }.encoded(gray)
    }
    let files: [(name: String, isTranscoded: Bool, bytes: [UInt8])] = [
      ("RGB", true, file { $0.color = .rgb }),
      ("RGB at full sampling", true, Self.inRGB(file { $0.sampling = (1, 1) })),
      ("RGB at 4:2:0", false, Self.inRGB(file { $0.sampling = (2, 2) })),
      ("RGB at 4:2:2", false, Self.inRGB(file { $0.sampling = (2, 1) })),
      ("YCbCr at 4:1:1", true, file { $0.sampling = (4, 1) }),
      ("gray", true, grayFile(nil)), ("gray with a profile of gray", true, grayFile(ofGray)),
      ("gray with a profile of RGB", false, grayFile(p3)),
      ("colours with a profile of gray", false, file { $0.profile = ofGray }),
      ("colours with a profile of inks", false, file { $0.profile = ICCFile.cmyk }),
      ("a damaged profile", false, file { $0.profile = [UInt8](repeating: 7, count: 200) }),
      ("a profile in three parts", true, file { $0.segments = Self.inParts(p3, [1, 2, 3]) }),
      ("a profile in parts from the last on", false, file { $0.segments = Self.inParts(p3, [3, 2, 1]) }),
      ("a profile in mixed parts", false, file { $0.segments = Self.inParts(p3, [2, 1, 3]) }),
      ("a profile without its last part", false, file { $0.segments = Self.inParts(p3, [1, 2]) }),
    ]
    for (name, isTranscoded, bytes) in files { try await expectTranscoded(isTranscoded, bytes, name) }
  }

  /// Requests an original as a JPEG XL at full size: whether it is made of the file's coefficients.
  private func expectTranscoded(_ isTranscoded: Bool, _ bytes: [UInt8], _ name: String) async throws {
    let encoder = Encoder()
    let harness = Self.harness(encoder)
    let asset = harness.originals.add(bytes, named: name)
    let found = try await frame(harness, asset, Self.request(.jxl, side: nil))
    #expect(found.derivation == (isTranscoded ? .transcoded(.file) : .original), "\(name)")
    #expect(encoder.jpegs == (isTranscoded ? [bytes] : []), "\(name)")
  }

  @Test("a picture whose transcoding has no room in the memory of renders is encoded")
  func memory() async throws {
    let encoder = Encoder()
    let harness = ImageManagerHarness {
      $0.decoder = encoder
      $0.cacheBytes = 4 << 20
      $0.memoryBytes = 24 << 20
    }
    let asset = harness.originals.add(Self.photograph)
    _ = try await frame(harness, asset, Self.request(.jpeg))
    // Encoding costs more, so it does not fit either.
    guard case .failed(.overBudget)? = await harness.deliveries(asset, Self.request(.jxl)).last else {
      Issue.record("not refused")
      return
    }
    #expect(encoder.jpegs.isEmpty)
  }
}
