import ImageCodec
import ImageRender
import ImageService
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

/// Originals whose decoder runs in a process of its own, with a decoder of the test's.
@Suite("Originals that workers decode")
struct CodedOriginalTests {
  /// Delivers gray pictures of 4:2:0, and counts.
  private final class GrayDecoder: CodedPictureDecoder {
    /// Fails for pictures of this width.
    let failing: Int?
    private let log = Mutex<[(width: Int, isOptional: Bool)]>([])
    private let urgency = Atomic<Int>(0)

    init(failing: Int? = nil) { self.failing = failing }

    /// How often a render asked for several workers.
    var urgentDecodes: Int { urgency.load(ordering: .relaxed) }

    var urgent: any CodedPictureDecoder {
      urgency.add(1, ordering: .relaxed)
      return self
    }

    var decodes: [(width: Int, isOptional: Bool)] { log.withLock { $0 } }

    func decode(
      _ request: CodedPictureRequest, from source: any ByteSource, isOptional: Bool, stop: StopFlag,
      rows: (DecodedBand, UnsafeRawBufferPointer) -> Bool
    ) throws(CodecError) {
      let size = request.size
      log.withLock { $0.append((size.width, isOptional)) }
      if size.width == failing { throw .decoderFailed(.heic, .malformed) }
      let (luma, chroma) = (size.pixelCount, size.pixelCount / 4)
      let bytes = [UInt8](repeating: 128, count: luma + 2 * chroma)
      let planes = [(0, size.width), (luma, size.width / 2), (luma + chroma, size.width / 2)]
        .map { DecodedBand.Plane(offset: $0.0, strideBytes: $0.1) }
      let band = DecodedBand(tile: 0, firstRow: 0, rowCount: size.height, planes: planes)
      _ = bytes.withUnsafeBytes { rows(band, $0) }
    }
  }

  private static func file(thumbnail: Bool = true) -> [UInt8] {
    let configuration = CodedHEIFFile.hvcC()
    var items = [CodedHEIFFile.Item(1, "hvc1", [1], properties: [configuration, CodedHEIFFile.ispe(1200, 900)])]
    if thumbnail {
      items.append(
        CodedHEIFFile.Item(
          2, "hvc1", [2], properties: [configuration, CodedHEIFFile.ispe(320, 240)], references: [("thmb", [1])]))
    }
    return CodedHEIFFile(items).bytes
  }

  private func deliveries(
    _ decoder: GrayDecoder?, thumbnail: Bool = true, side: Int = 600
  ) async -> [ImageDelivery] {
    let harness = ImageManagerHarness { $0.decoder = decoder }
    var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
    request.deliveryMode = .opportunistic
    return await harness.deliveries(harness.originals.add(Self.file(thumbnail: thumbnail)), request)
  }

  @Test("a thumbnail of the same codec is the degraded frame, then the picture is decoded")
  func thumbnail() async throws {
    let decoder = GrayDecoder()
    let all = await deliveries(decoder)
    guard all.count == 2, case .degraded(let first) = all[0], case .final(let last) = all[1] else {
      Issue.record("\(all.count) deliveries")
      return
    }
    #expect(first.result.size == PixelSize(width: 320, height: 240) && first.result.source == .preview)
    #expect(last.result.size == PixelSize(width: 600, height: 450) && last.result.source == .original)
    #expect(decoder.decodes.map(\.width) == [320, 1200] && decoder.decodes.map(\.isOptional) == [true, false])
  }

  @Test("a thumbnail with enough pixels is the only frame", arguments: [(320, 320), (200, 320), (321, 1200)])
  func finalThumbnail(_ side: Int, _ decoded: Int) async throws {
    let decoder = GrayDecoder()
    guard case .final(let frame)? = await deliveries(decoder, side: side).last else {
      Issue.record("no final frame")
      return
    }
    #expect(frame.result.size.width == side && decoder.decodes.map(\.width).last == decoded)
    #expect(frame.result.source == (decoded == 320 ? .preview : .original))
    #expect(decoder.decodes.count == (decoded == 320 ? 1 : 2))
  }

  /// Starts two requests whose renders wait for memory, then lets them go on, and returns the widths of their final frames.
  private func together(
    _ harness: ImageManagerHarness, sides: [Int], thumbnail: Bool = true, priority: ImagePriority = .normal
  ) async throws -> [Int: ImageResult.Source] {
    let asset = harness.originals.add(Self.file(thumbnail: thumbnail))
    harness.blockRenderLane()
    let (stream, continuation) = AsyncStream.makeStream(of: ImageFrame.self)
    for side in sides {
      var request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
      request.deliveryMode = .highQualityFormat
      _ = harness.request(asset, request, named: "\(side)", priority: priority) {
        if case .final(let frame) = $0 { continuation.yield(frame) }
      }
    }
    try await harness.untilQueued(sides.count)
    harness.unblockRenderLane()
    var sources: [Int: ImageResult.Source] = [:]
    for await frame in stream {
      sources[frame.result.size.width] = frame.result.source
      if sources.count == sides.count { break }
    }
    return sources
  }

  @Test("a frame that the thumbnail serves never shares the picture's decode, so its bytes are always the same")
  func thumbnailIsNotShared() async throws {
    let decoder = GrayDecoder()
    let sources = try await together(ImageManagerHarness { $0.decoder = decoder }, sides: [600, 200, 500])
    #expect(sources == [600: .original, 200: .preview, 500: .original])
    // The other two share one decode.
    #expect(decoder.decodes.map(\.width).sorted() == [320, 1200])
  }

  @Test("several workers decode one picture only while a client waits and nothing else is to be rendered")
  func urgent() async throws {
    let alone = GrayDecoder()
    _ = try await together(ImageManagerHarness { $0.decoder = alone }, sides: [600], thumbnail: false)
    #expect(alone.urgentDecodes == 1)
    let preheated = GrayDecoder()
    _ = try await together(
      ImageManagerHarness { $0.decoder = preheated }, sides: [600], thumbnail: false, priority: .preheat)
    #expect(preheated.urgentDecodes == 0 && preheated.decodes.count == 1)
    // The picture waits for a second render, of the thumbnail.
    let busy = GrayDecoder()
    _ = try await together(ImageManagerHarness { $0.decoder = busy }, sides: [600, 200])
    #expect(busy.urgentDecodes == 0 && busy.decodes.count == 2)
  }

  @Test("a damaged thumbnail does not fail the picture", arguments: [600, 200])
  func damagedThumbnail(_ side: Int) async throws {
    let all = await deliveries(GrayDecoder(failing: 320), side: side)
    guard all.count == 1, case .final(let frame) = all[0] else {
      Issue.record("\(all.count) deliveries")
      return
    }
    #expect(frame.result.size.width == side && frame.result.source == .original)
  }

  @Test("a failing and a missing decoder are reported as such")
  func failures() async throws {
    for (decoder, error) in [
      (GrayDecoder(failing: 1200), CodecError.decoderFailed(.heic, .malformed)), (nil, .decoderUnavailable(.heic)),
    ] {
      let all = await deliveries(decoder, thumbnail: false)
      guard all.count == 1, case .failed(.codec(let found)) = all[0] else {
        Issue.record("\(all.count) deliveries")
        return
      }
      #expect(found == error)
    }
  }
}
