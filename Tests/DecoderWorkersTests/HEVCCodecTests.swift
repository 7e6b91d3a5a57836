import DecoderWorkers
import PhotoModel
import Testing

/// The programs that decode HEVC, on pictures that were made for these tests.
@Suite("Decoder workers: HEVC")
struct HEVCCodecTests {
  static var codecs: [DecoderCodec] { [.hevc, .avcodec].filter(TestDecoders.isBuilt) }

  @Test("HEVC tiles with 4:2:0 and 8 bits are decoded exactly", arguments: codecs)
  func hevc8(_ codec: DecoderCodec) throws {
    try expect(
      codec, CodedPictures.tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
  }

  @Test("an HEVC picture with 4:2:2 and 10 bits is decoded exactly", arguments: codecs)
  func hevc10(_ codec: DecoderCodec) throws {
    try expect(
      codec, CodedPictures.tiles422, size: PixelSize(width: 32, height: 16), .halfWidth, bitDepth: 10,
      sets: CodedPictures.sets422)
  }

  private func expect(
    _ codec: DecoderCodec, _ tiles: [[UInt8]], size: PixelSize, _ chroma: ChromaSampling, bitDepth: Int,
    sets: [[UInt8]]
  ) throws {
    let pool = TestDecoders.pool([codec])
    let (request, payload) = Self.request(codec, tiles, size: size, chroma, bitDepth: bitDepth, sets: sets)
    let collected = try pool.rows(request, of: .bytes(payload))
    for tile in tiles.indices {
      for plane in 0..<3 {
        let width = plane == 0 ? size.width : size.width / chroma.horizontal
        let height = plane == 0 ? size.height : size.height / chroma.vertical
        let expected = CodedPictures.plane(width, height, tile: tile, plane: plane, bitDepth: bitDepth)
        let isEqual = collected.tiles[tile][plane] == expected
        #expect(isEqual, "tile \(tile), plane \(plane)")
      }
    }
  }

  static func request(
    _ codec: DecoderCodec, _ tiles: [[UInt8]], size: PixelSize, _ chroma: ChromaSampling, bitDepth: Int,
    sets: [[UInt8]]
  ) -> (DecodeRequest, payload: [UInt8]) {
    // The payload begins with bytes that belong to no tile.
    var payload: [UInt8] = [1, 2, 3]
    let ranges = tiles.map { tile in
      let start = payload.count
      payload += withUnsafeBytes(of: UInt32(tile.count).bigEndian) { Array($0) } + tile
      return DecodeRequest.Tile(picture: [ByteRange(offset: Int64(start), length: tile.count + 4)])
    }
    let request = DecodeRequest.hevc(
      by: codec, parameterSets: sets, nalLengthBytes: 4, tileSize: size, chroma: chroma, bitDepth: bitDepth,
      tiles: ranges)
    return (request, payload)
  }

  @Test("an HEVC picture of another size than its container says is refused", arguments: codecs)
  func mismatch(_ codec: DecoderCodec) {
    let (request, payload) = Self.request(
      codec, CodedPictures.tiles420, size: PixelSize(width: 48, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
    #expect(TestDecoders.pool([codec]).error(request, of: .bytes(payload)) == .failed(codec, .mismatch))
  }

  @Test("a damaged HEVC picture fails alone or gives other rows, never anything else", arguments: codecs)
  func damaged(_ codec: DecoderCodec) {
    let pool = TestDecoders.pool([codec])
    let (request, payload) = Self.request(
      codec, CodedPictures.tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
    for index in stride(from: 3, to: payload.count, by: 37) {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(codec, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    #expect(pool.error(request, of: .bytes(payload)) == nil)
  }
}
