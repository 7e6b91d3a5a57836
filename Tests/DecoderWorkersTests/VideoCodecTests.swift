import DecoderWorkers
import PhotoModel
import Testing

/// Frames of videos, and alternatives of which one is sent.
@Suite("Decoder workers: videos")
struct VideoCodecTests {
  private static func video(_ frames: [[UInt8]], areAlternatives: Bool) -> (DecodeRequest, payload: [UInt8]) {
    var payload: [UInt8] = [1, 2, 3]
    let tiles = frames.map { frame in
      defer { payload += frame }
      return DecodeRequest.Tile(picture: [ByteRange(offset: Int64(payload.count), length: frame.count)])
    }
    var request = DecodeRequest.video(
      codec: "avc1", configuration: CodedPictures.avcConfiguration, size: PixelSize(width: 40, height: 24),
      chroma: .half, bitDepth: 8, frames: tiles)
    request.areAlternatives = areAlternatives
    return (request, payload)
  }

  @Test("AVC frames are decoded exactly", .enabled(if: TestDecoders.isBuilt(.avcodec)))
  func avc() throws {
    let (request, payload) = Self.video(Array(CodedPictures.avcFrames.dropFirst()), areAlternatives: false)
    let collected = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(payload))
    try #require(collected.tiles.count == 2)
    for tile in 0..<2 {
      for plane in 0..<3 {
        let (width, height) = plane == 0 ? (40, 24) : (20, 12)
        let expected = CodedPictures.plane(width, height, tile: tile, plane: plane, bitDepth: 8)
        let isEqual = collected.tiles[tile][plane] == expected
        #expect(isEqual, "frame \(tile), plane \(plane)")
      }
    }
  }

  @Test(
    "a gray AVC frame has only luma, although its decoder fills in planes of chroma",
    .enabled(if: TestDecoders.isBuilt(.avcodec)))
  func grayAVC() throws {
    let frame = CodedPictures.avcGrayFrame
    let request = DecodeRequest.video(
      codec: "avc1", configuration: CodedPictures.avcGrayConfiguration, size: PixelSize(width: 40, height: 24),
      chroma: .none, bitDepth: 8,
      frames: [DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: frame.count)])])
    let planes = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(frame)).tiles[0]
    let isEqual = planes == [CodedPictures.plane(40, 24, tile: 0, plane: 0, bitDepth: 8)]
    #expect(isEqual)
  }

  static let smallFrames: [(codec: String, configuration: [UInt8], frame: [UInt8], luma: UInt8)] = [
    ("mp4v", CodedPictures.mpeg4Configuration, CodedPictures.mpeg4Frame, 126),
    ("s263", [], CodedPictures.h263Frame, 96),
  ]

  @Test(
    "frames of MPEG-4 and H.263 are decoded at the small sizes of old phones",
    .enabled(if: TestDecoders.isBuilt(.avcodec)), arguments: smallFrames.indices)
  func small(_ i: Int) throws {
    let (codec, configuration, frame, luma) = Self.smallFrames[i]
    let request = DecodeRequest.video(
      codec: codec, configuration: configuration, size: PixelSize(width: 176, height: 144), chroma: .half, bitDepth: 8,
      frames: [DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: frame.count)])])
    let planes = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(frame)).tiles[0]
    let isEqual = planes[0] == [UInt8](repeating: luma, count: 176 * 144)
    #expect(isEqual, "\(codec)")
  }

  /// The frames are black, the first tile and the second tile: each list names the frame whose rows must come.
  @Test(
    "of alternatives the first that is not nearly black is sent, else the last",
    .enabled(if: TestDecoders.isBuilt(.avcodec)),
    arguments: [([0, 1, 2], 1), ([0, 0, 2], 2), ([1, 0], 1), ([0, 0], 0), ([0], 0)])
  func alternatives(_ order: [Int], _ sent: Int) throws {
    let (request, payload) = Self.video(order.map { CodedPictures.avcFrames[$0] }, areAlternatives: true)
    let collected = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(payload))
    let expected =
      sent == 0
      ? [UInt8](repeating: 16, count: 40 * 24) : CodedPictures.plane(40, 24, tile: sent - 1, plane: 0, bitDepth: 8)
    let isEqual = collected.tiles[0][0] == expected
    #expect(isEqual)
  }

  @Test(
    "HEVC and AV1 frames can be alternatives too",
    .enabled(if: TestDecoders.isBuilt(.hevc) && TestDecoders.isBuilt(.av1)))
  func otherAlternatives() throws {
    var (hevc, payload) = HEVCCodecTests.request(
      .hevc, CodedPictures.tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
    hevc.areAlternatives = true
    let frame = CodedPictures.plane(40, 24, tile: 0, plane: 0, bitDepth: 8)
    let first = try TestDecoders.pool([.hevc]).rows(hevc, of: .bytes(payload))
    let isFirst = first.tiles[0][0] == frame
    #expect(isFirst)
    // The sequence header comes with the parameters.
    let units = CodedPictures.av1Tiles420.map { $0.prefix(11) }
    payload = CodedPictures.av1Tiles420.flatMap { $0.dropFirst(11) }
    let lengths = CodedPictures.av1Tiles420.map { $0.count - 11 }
    var av1 = DecodeRequest.av1(
      units: Array(units[0]), tileSize: PixelSize(width: 40, height: 24), chroma: .half, bitDepth: 8,
      tiles: [
        DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: lengths[0])]),
        DecodeRequest.Tile(picture: [ByteRange(offset: Int64(lengths[0]), length: lengths[1])]),
      ])
    av1.areAlternatives = true
    let second = try TestDecoders.pool([.av1]).rows(av1, of: .bytes(payload))
    let isSecond = second.tiles[0][0] == frame
    #expect(isSecond)
  }

  @Test(
    "a frame of another size, or of a codec that is not listed, is refused",
    .enabled(if: TestDecoders.isBuilt(.avcodec)))
  func refused() {
    let pool = TestDecoders.pool([.avcodec])
    let frame = CodedPictures.avcFrames[1]
    func request(_ codec: String, _ width: Int) -> DecodeRequest {
      .video(
        codec: codec, configuration: CodedPictures.avcConfiguration, size: PixelSize(width: width, height: 24),
        chroma: .half, bitDepth: 8,
        frames: [DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: frame.count)])])
    }
    #expect(pool.error(request("avc1", 48), of: .bytes(frame)) == .failed(.avcodec, .mismatch))
    #expect(pool.error(request("VP6F", 40), of: .bytes(frame)) == .failed(.avcodec, .unsupported))
  }

  @Test(
    "a damaged frame fails alone or gives other rows, never anything else",
    .enabled(if: TestDecoders.isBuilt(.avcodec)))
  func damaged() {
    let pool = TestDecoders.pool([.avcodec])
    let (request, payload) = Self.video([CodedPictures.avcFrames[1]], areAlternatives: false)
    for index in stride(from: 3, to: payload.count, by: 23) {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(.avcodec, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    #expect(pool.error(request, of: .bytes(payload)) == nil)
  }
}
