import DecoderWorkers
import PhotoModel
import Testing

/// dav1d's program, on pictures that were made for these tests.
@Suite("Decoder workers: AV1", .enabled(if: TestDecoders.isBuilt(.av1)))
struct AV1CodecTests {
  private static func request(
    _ tiles: [[UInt8]], size: PixelSize, _ chroma: ChromaSampling, bitDepth: Int
  ) -> (DecodeRequest, payload: [UInt8]) {
    var payload: [UInt8] = [1, 2, 3]
    let ranges = tiles.map { tile in
      // In two extents.
      let start = Int64(payload.count)
      payload += tile
      return DecodeRequest.Tile(
        picture: [ByteRange(offset: start, length: 7), ByteRange(offset: start + 7, length: tile.count - 7)])
    }
    return (DecodeRequest.av1(tileSize: size, chroma: chroma, bitDepth: bitDepth, tiles: ranges), payload)
  }

  static let cases: [(tiles: [[UInt8]], size: PixelSize, chroma: ChromaSampling, bitDepth: Int, first: Int)] =
    [
      (CodedPictures.av1Tiles420, PixelSize(width: 40, height: 24), .half, 8, 0),
      ([CodedPictures.av1Tile422], PixelSize(width: 32, height: 16), .halfWidth, 10, 0),
      ([CodedPictures.av1Tile444], PixelSize(width: 32, height: 16), .full, 10, 0),
      ([CodedPictures.av1Gray], PixelSize(width: 40, height: 24), .none, 8, 2),
    ]

  @Test("AV1 tiles of every layout are decoded exactly", arguments: cases.indices)
  func exact(_ index: Int) throws {
    let (tiles, size, chroma, bitDepth, first) = Self.cases[index]
    let (request, payload) = Self.request(tiles, size: size, chroma, bitDepth: bitDepth)
    let collected = try TestDecoders.pool([.av1]).rows(request, of: .bytes(payload))
    for tile in tiles.indices {
      for plane in 0..<(chroma == .none ? 1 : 3) {
        let width = plane == 0 ? size.width : size.width / chroma.horizontal
        let height = plane == 0 ? size.height : size.height / chroma.vertical
        let expected = CodedPictures.plane(width, height, tile: first + tile, plane: plane, bitDepth: bitDepth)
        let isEqual = collected.tiles[tile][plane] == expected
        #expect(isEqual, "tile \(tile), plane \(plane)")
      }
    }
  }

  @Test("an AV1 picture of another size, layout or depth than its container says is refused")
  func mismatch() {
    let declared: [(PixelSize, ChromaSampling, Int)] = [
      (PixelSize(width: 48, height: 24), .half, 8), (PixelSize(width: 40, height: 16), .half, 8),
      (PixelSize(width: 40, height: 24), .full, 8), (PixelSize(width: 40, height: 24), .half, 10),
    ]
    for (size, chroma, bitDepth) in declared {
      let (request, payload) = Self.request(CodedPictures.av1Tiles420, size: size, chroma, bitDepth: bitDepth)
      #expect(TestDecoders.pool([.av1]).error(request, of: .bytes(payload)) == .failed(.av1, .mismatch))
    }
  }

  @Test("a damaged AV1 picture fails alone or gives other rows, never anything else")
  func damaged() {
    let pool = TestDecoders.pool([.av1])
    let (request, payload) = Self.request(
      CodedPictures.av1Tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8)
    for index in 3..<payload.count {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(.av1, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
  }
}
