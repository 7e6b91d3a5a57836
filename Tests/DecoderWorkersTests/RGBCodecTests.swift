import DecoderWorkers
import PhotoFixtures
import PhotoModel
import Testing

/// Codecs that keep red, green and blue instead of luma and chroma.
@Suite("Decoder workers: RGB")
struct RGBCodecTests {
  private static let size = PixelSize(width: RGBSamples.size.width, height: RGBSamples.size.height)

  static var hevcCases: [(codec: DecoderCodec, bitDepth: Int)] {
    let cases: [(codec: DecoderCodec, bitDepth: Int)] = [(.hevc, 8), (.avcodec, 8), (.avcodec, 10)]
    return cases.filter { TestDecoders.isBuilt($0.codec) }
  }

  @Test("an HEVC picture in RGB is decoded exactly, as planes of green, blue and red", arguments: hevcCases.indices)
  func hevc(_ index: Int) throws {
    let (codec, bitDepth) = Self.hevcCases[index]
    let (sets, tile) = RGBSamples.hevc(bitDepth: bitDepth)
    let request = DecodeRequest.hevc(
      by: codec, parameterSets: sets, nalLengthBytes: 4, tileSize: Self.size, chroma: .full, bitDepth: bitDepth,
      tiles: [DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: tile.count)])])
    let planes = try TestDecoders.pool([codec]).rows(request, of: .bytes(tile)).tiles[0]
    let isEqual = planes == (0..<3).map { RGBSamples.plane($0, bitDepth: bitDepth) }
    #expect(isEqual)
  }

  private static func video(_ codec: String, _ configuration: [UInt8], _ frame: [UInt8]) -> DecodeRequest {
    .video(
      codec: codec, configuration: configuration, size: size, chroma: .full, bitDepth: 8,
      frames: [DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: frame.count)])])
  }

  @Test("an AVC frame in RGB is decoded exactly", .enabled(if: TestDecoders.isBuilt(.avcodec)))
  func avc() throws {
    let (sequence, picture) = RGBSamples.avcParameters
    let configuration = Array(CodedMovieFile.avcC(sequence, picture).dropFirst(8))
    let request = Self.video("avc1", configuration, RGBSamples.avcFrame)
    let planes = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(RGBSamples.avcFrame)).tiles[0]
    let isEqual = planes == (0..<3).map { RGBSamples.plane($0) }
    #expect(isEqual)
  }

  @Test(
    "samples that can't be sent are not supported, which is no contradiction to the container",
    .enabled(if: TestDecoders.isBuilt(.avcodec)))
  func unsupported() {
    let frame = RGBSamples.vp9FrameOfHalfHeight
    #expect(
      TestDecoders.pool([.avcodec]).error(Self.video("vp09", [], frame), of: .bytes(frame))
        == .failed(.avcodec, .unsupported))
  }
}
