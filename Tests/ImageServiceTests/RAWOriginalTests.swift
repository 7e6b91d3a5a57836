import ImageCodec
import ImageRender
import ImageService
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@Suite("RAW originals")
struct RAWOriginalTests {
  private static func jpeg(_ width: Int, _ height: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Scene(seed: 2).pixels(width: width, height: height))
  }

  private static let file = CR3File {
    ($0.width, $0.height, $0.details.orientation) = (1200, 800, 1)
    ($0.thumbnail, $0.preview, $0.sample) = (jpeg(150, 100), jpeg(600, 400), jpeg(1200, 800))
  }.bytes

  private func frames(_ side: Int, _ mode: DeliveryMode) async -> [(
    size: PixelSize, source: ImageResult.Source, isFinal: Bool
  )] {
    await frames(side, mode) { _ in }
  }

  private func frames(
    _ side: Int, _ mode: DeliveryMode, _ change: (inout ImageManagerHarness.Setting) -> Void
  ) async -> [(size: PixelSize, source: ImageResult.Source, isFinal: Bool)] {
    let harness = ImageManagerHarness(change)
    var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
    request.deliveryMode = mode
    return await harness.deliveries(harness.originals.add(Self.file), request).compactMap { delivery in
      switch delivery {
      case .degraded(let frame): (frame.result.size, frame.result.source, false)
      case .final(let frame): (frame.result.size, frame.result.source, true)
      default: nil
      }
    }
  }

  @Test("a smaller preview is the degraded frame, then a larger one is the final frame")
  func opportunistic() async {
    let frames = await frames(500, .opportunistic)
    #expect(frames.map(\.isFinal) == [false, true] && frames.map(\.source) == [.embedded, .preview])
    #expect(frames.map(\.size.width) == [150, 500])
  }

  @Test("a frame for which the smallest preview serves has no degraded frame before it")
  func small() async {
    let frames = await frames(120, .opportunistic)
    #expect(frames.map(\.isFinal) == [true] && frames.map(\.source) == [.preview])
  }

  @Test("the largest preview serves the largest size")
  func largest() async {
    let frames = await frames(5000, .highQualityFormat)
    #expect(frames.map(\.size) == [PixelSize(width: 1200, height: 800)] && frames.map(\.source) == [.preview])
  }

  // MARK: Development

  /// Develops everything gray, or fails.
  private final class Developer: CodedPictureDecoder {
    let failure: CodecError?
    let developsRAW: Bool
    private let log = Mutex<[CodedPictureRequest]>([])

    init(failure: CodecError? = nil, developsRAW: Bool = true) {
      (self.failure, self.developsRAW) = (failure, developsRAW)
    }

    var requests: [CodedPictureRequest] { log.withLock { $0 } }
    /// The pixels that are averaged to one, for each decode.
    var steps: [Int] {
      requests.map { request in
        if case .raw(_, let step, _) = request { step } else { 0 }
      }
    }

    func decode(
      _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
      rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
    ) throws(CodecError) {
      log.withLock { $0.append(request) }
      if let failure { throw failure }
      let size = request.size
      let bytes = [UInt8](repeating: 128, count: size.pixelCount * 3)
      let band = DecodedBand(
        tile: 0, firstRow: 0, rowCount: size.height, planes: [.init(offset: 0, strideBytes: size.width * 3)])
      _ = bytes.withUnsafeBytes { rows(band, $0) }
    }
  }

  /// Previews of 150 and 600 pixels of a picture of 1200.
  private static let smallPreviews = CR3File {
    ($0.width, $0.height, $0.details.orientation) = (1200, 800, 1)
    ($0.thumbnail, $0.preview) = (jpeg(150, 100), jpeg(600, 400))
  }.bytes

  private func developed(
    _ file: [UInt8] = smallPreviews, by decoder: Developer, side: Int, budget: Int? = nil
  ) async -> [ImageDelivery] {
    let harness = ImageManagerHarness {
      $0.decoder = decoder
      if let budget { $0.memoryBytes = budget }
    }
    var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
    request.deliveryMode = .opportunistic
    return await harness.deliveries(harness.originals.add(file), request)
  }

  private func summary(_ deliveries: [ImageDelivery]) -> [String] {
    deliveries.map { delivery in
      switch delivery {
      case .progress(let share): "progress \(share)"
      case .degraded(let frame): "degraded \(frame.result.source.rawValue) \(frame.result.size.width)"
      case .final(let frame): "final \(frame.result.source.rawValue) \(frame.result.size.width)"
      case .failed(let error): "\(error)"
      }
    }
  }

  @Test("a size that no preview has is developed, at half the size if that suffices")
  func development() async {
    let decoder = Developer()
    let large = await developed(by: decoder, side: 1000)
    #expect(summary(large).last == "final original 1000" && summary(large).count >= 2)
    #expect(summary(large).dropLast().allSatisfy { $0.hasPrefix("degraded") })
    #expect(summary(large).contains("degraded embedded 600"))
    #expect(decoder.steps == [1])
    // A bar is left of the whole picture: other aspect.
    let other = CR3File {
      ($0.width, $0.height, $0.details.orientation, $0.thumbnail) = (1200, 800, 1, Self.jpeg(160, 120))
    }.bytes
    let half = Developer()
    #expect(summary(await developed(other, by: half, side: 150)).last == "final original 150")
    #expect(half.steps == [4])
  }

  @Test("what a preview serves, or all but a fiftieth of it, is not developed", arguments: [120, 600, 606])
  func served(_ side: Int) async {
    let decoder = Developer()
    let found = summary(await developed(by: decoder, side: side)).last
    #expect(found == "final preview \(min(side, 600))" && decoder.requests.isEmpty)
  }

  @Test("without a preview everything is developed")
  func withoutPreview() async {
    let file = CR3File { ($0.width, $0.height, $0.details.orientation) = (1200, 800, 1) }.bytes
    let decoder = Developer()
    #expect(summary(await developed(file, by: decoder, side: 100)) == ["final original 100"])
    #expect(decoder.steps == [8])
    let failing = Developer(failure: .decoderFailed(.raw, .unsupported))
    let failed = summary(await developed(file, by: failing, side: 100))
    #expect(failed.count == 1 && failed[0].contains("does not support the picture"))
  }

  static let fallbacks: [(name: String, failure: CodecError?, developsRAW: Bool, budget: Int?, decodes: Int)] = [
    ("a camera that is not supported", .decoderFailed(.raw, .unsupported), true, nil, 1),
    ("a damaged file", .decoderFailed(.raw, .malformed), true, nil, 1),
    ("a worker that ended its memory", .decoderFailed(.raw, .memory), true, nil, 1),
    ("a decoder that does not start", .decoderUnavailable(.raw), true, nil, 1),
    ("no decoder", nil, false, nil, 0),
    ("too small a budget", nil, true, 40 << 20, 0),
  ]

  @Test("if development fails, the largest preview is the last frame, which is degraded", arguments: fallbacks.indices)
  func fallback(_ i: Int) async {
    let (name, failure, developsRAW, budget, decodes) = Self.fallbacks[i]
    let decoder = Developer(failure: failure, developsRAW: developsRAW)
    let deliveries = await developed(by: decoder, side: 1000, budget: budget)
    let found = summary(deliveries)
    #expect(found.last == "final preview 600" && decoder.requests.count == decodes, "\(name): \(found)")
    guard case .final(let frame)? = deliveries.last else {
      Issue.record("\(name): no final frame")
      return
    }
    #expect(frame.result.isDegraded && frame.derivation.isSmallPreview, "\(name)")
  }

  @Test("a preview with the requested pixels, or all but a fiftieth of them, is not degraded", arguments: [120, 606])
  func notDegraded(_ side: Int) async {
    let deliveries = await developed(by: Developer(developsRAW: false), side: side)
    guard case .final(let frame)? = deliveries.last else {
      Issue.record("\(summary(deliveries))")
      return
    }
    #expect(!frame.result.isDegraded && !frame.derivation.isSmallPreview)
  }

  @Test("a preview that is too small is kept in memory, so that development is tried once, and is degraded there too")
  func keptInMemory() async {
    let decoder = Developer(failure: .decoderFailed(.raw, .unsupported))
    let harness = ImageManagerHarness {
      $0.decoder = decoder
      $0.cacheBytes = 8 << 20
    }
    let asset = harness.originals.add(Self.smallPreviews)
    let request = ImageRequest(targetSize: .size(PixelSize(width: 1000, height: 1000)), format: .jpeg)
    for source in [ImageResult.Source.preview, .memory] {
      guard case .final(let frame)? = await harness.deliveries(asset, request).last else {
        Issue.record("no frame")
        return
      }
      #expect(frame.result.source == source && frame.result.isDegraded)
    }
    #expect(decoder.requests.count == 1)
    for format in [OutputFormat.jpeg, .jxl] {
      var other = request
      other.format = format
      #expect(harness.manager.completeDerivation(of: ResolvedRequest(other, for: asset)) == nil, "\(format)")
    }
  }

  @Test("the render after a failed development comes in the turn of the caller with less work, too")
  func fallbackTurn() async throws {
    let harness = ImageManagerHarness { $0.decoder = Developer(failure: .decoderFailed(.raw, .unsupported)) }
    let raw = harness.originals.add(Self.smallPreviews, named: "raw")
    let pictures = (0..<5).map { harness.originals.add(Self.jpeg(60, 40), named: "\($0)") }
    harness.blockRenderLane()
    let log = EventLog()
    func ask(_ asset: Asset, _ name: String, by caller: String, side: Int = 50) {
      let request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
      _ = harness.request(asset, request, named: name, caller: caller) { _ in log.append(name) }
    }
    for (number, picture) in pictures.enumerated() { ask(picture, "\(number)", by: "greedy") }
    try await harness.untilQueued(5)
    ask(raw, "raw", by: "greedy", side: 1000)
    try await harness.untilQueued(6)
    ask(raw, "raw", by: "other", side: 1000)
    harness.unblockRenderLane()
    let order = await log.lines(7)
    #expect(Array(order.prefix(4)) == ["0", "1", "raw", "raw"], "\(order)")
  }

  @Test("an interrupted decoder is an error, because a later attempt may succeed")
  func interrupted() async {
    let found = summary(await developed(by: Developer(failure: .decoderInterrupted), side: 1000)).last
    #expect(found?.contains("interrupted") == true)
  }
}
