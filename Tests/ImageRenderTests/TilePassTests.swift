import Foundation
import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Passes that make all tiles of a picture")
struct TilePassTests {
  /// Odd sides, and more than one tile at the second scale.
  private static let scene = Scene(seed: 5, grain: 6).pixels(width: 1301, height: 1075)

  private static func png(_ stored: Pixels, _ orientation: Int) -> [UInt8] {
    let exif = EXIFBlock { $0.orientation = orientation }
    return PNGFile(.rgb(depth: 8)) { $0.chunks = [PNGChunk("eXIf", Array(exif.bytes.dropFirst(6)))] }.encoded(stored)
  }

  private static func run(
    _ file: [UInt8], until last: Int = .max
  ) throws -> (grid: TileGrid, tiles: [TileGrid.Tile: [UInt8]], isComplete: Bool)? {
    let source = MemoryByteSource(file)
    let header = try ImageHeader.read(from: source, limits: CodecLimits())
    guard let pass = TilePass(header, minimumPixels: 1000) else { return nil }
    var tiles: [TileGrid.Tile: [UInt8]] = [:]
    let isComplete = try pass.run(
      source: source, workers: nil, transforms: ColorTransforms(capacityBytes: 0), limits: CodecLimits(),
      stop: StopFlag()
    ) { tile, image in
      #expect(tiles[tile] == nil && image.format == .jpeg)
      tiles[tile] = image.bytes
      return tiles.count < last
    }
    return (pass.grid, tiles, isComplete)
  }

  @Test("every tile shows its part of the picture, of JPEG and PNG, in colour and gray")
  func pictures() throws {
    let gray = JPEGFile {
      $0.color = .gray
      $0.quality = 95
    }
    let kinds: [(String, [UInt8])] = [
      ("baseline", JPEGFile { $0.quality = 95 }.encoded(Self.scene)),
      ("progressive", JPEGFile { ($0.quality, $0.isProgressive) = (95, true) }.encoded(Self.scene)),
      ("PNG", PNGFile(.rgb(depth: 8)).encoded(Self.scene)), ("gray", gray.encoded(Self.scene.channels(1))),
    ]
    for (name, file) in kinds {
      let reference = name == "gray" ? try #require(Pixels.decoded(file)).pixels.channels(3) : Self.scene
      let (grid, tiles, isComplete) = try #require(try Self.run(file))
      #expect(isComplete && grid.factors == [1, 2, 4] && tiles.count == 9 + 4, "\(name)")
      for (tile, bytes) in tiles {
        let wanted = SizedRequest(grid.request(for: tile), upright: grid.size).sizes
        let shown = try #require(Pixels.decoded(bytes), "\(name) \(tile)")
        #expect(shown.fileChannels == (name == "gray" ? 1 : 3))
        let expected = reference.cropped(
          x: wanted.crop.x, y: wanted.crop.y, width: wanted.crop.width, height: wanted.crop.height
        ).averaged(width: wanted.output.width, height: wanted.output.height)
        let part = shown.pixels.channels(3)
        #expect(
          shown.pixels.width == wanted.output.width && shown.pixels.height == wanted.output.height, "\(name) \(tile)")
        let difference = try #require(part.meanDifference(from: expected))
        #expect(difference < 6, "\(name) \(tile): \(difference)")
        // A tile that is one pixel beside its place would differ more.
        let (width, height) = (expected.width - 1, expected.height)
        let shifted = try #require(
          part.cropped(x: 1, y: 0, width: width, height: height)
            .meanDifference(from: expected.cropped(x: 0, y: 0, width: width, height: height)))
        #expect(difference < shifted, "\(name) \(tile): \(difference), shifted \(shifted)")
      }
    }
  }

  @Test("a tile at the edge ends where the picture ends, also if that is not at a whole pixel", arguments: [1, 3, 6])
  func edges(_ orientation: Int) throws {
    func wave(_ x: Double, _ y: Double) -> Double { 128 + 100 * sin((x + y) * .pi / 32) }
    var picture = Pixels(width: 3069, height: 37, channels: 3)
    for y in 0..<37 {
      for x in 0..<3069 {
        for c in 0..<3 { picture.bytes[(y * 3069 + x) * 3 + c] = UInt8(wave(Double(x) + 0.5, Double(y) + 0.5)) }
      }
    }
    let (grid, tiles, _) = try #require(try Self.run(Self.png(picture.stored(orientation: orientation), orientation)))
    let tile = TileGrid.Tile(factor: 4, column: 1, row: 0)
    #expect(grid.rect(of: tile) == PixelRect(x: 2048, y: 0, width: 1021, height: 37))
    let bytes = try #require(tiles[tile])
    let shown = try #require(Pixels.decoded(bytes)).pixels
    #expect(shown.width == 256 && shown.height == 10)
    var difference = 0.0
    for y in 0..<10 {
      for x in 236..<256 {
        let expected = wave(2048 + (Double(x) + 0.5) * 1021 / 256, (Double(y) + 0.5) * 37 / 10)
        difference += abs(Double(shown.bytes[(y * 256 + x) * shown.channels]) - expected) / 200
      }
    }
    // Without a fit they differ by 25.
    #expect(difference < 5, "\(difference)")
  }

  @Test("a turned picture has the tiles of the same picture stored upright", arguments: 2...8)
  func turned(_ orientation: Int) throws {
    let upright = try #require(try Self.run(PNGFile(.rgb(depth: 8)).encoded(Self.scene)))
    let stored = Self.scene.stored(orientation: orientation)
    let file = Self.png(stored, orientation)
    let turned = try #require(try Self.run(file))
    #expect(turned.isComplete && turned.grid == upright.grid && turned.tiles.count == upright.tiles.count)
    for (tile, bytes) in upright.tiles { #expect(turned.tiles[tile] == bytes, "\(tile)") }
  }

  @Test("the last tile of a pass is known before", arguments: 1...8)
  func lastTile(_ orientation: Int) throws {
    let file = Self.png(Self.scene.stored(orientation: orientation), orientation)
    let source = MemoryByteSource(file)
    let pass = try #require(
      TilePass(try ImageHeader.read(from: source, limits: CodecLimits()), minimumPixels: 1000))
    var last: TileGrid.Tile?
    _ = try pass.run(
      source: source, workers: nil, transforms: ColorTransforms(capacityBytes: 0), limits: CodecLimits(),
      stop: StopFlag()
    ) { tile, _ in
      last = tile
      return true
    }
    #expect(last == pass.lastTile)
  }

  @Test("a profile is in every tile")
  func profile() throws {
    let file = JPEGFile { $0.profile = ICCFile.displayP3 }.encoded(Self.scene)
    let (_, tiles, isComplete) = try #require(try Self.run(file))
    #expect(isComplete)
    for bytes in tiles.values {
      let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
      #expect(header.embeddedProfile != nil)
    }
  }

  @Test("a pass ends when its caller wants no more, and delivers no tile of the missing part of a truncated file")
  func ends() throws {
    let file = JPEGFile { $0.quality = 95 }.encoded(Self.scene)
    let few = try #require(try Self.run(file, until: 2))
    #expect(!few.isComplete && few.tiles.count == 2)
    let half = try #require(try Self.run(Array(file.prefix(file.count / 2))))
    #expect(!half.isComplete && half.tiles.keys.allSatisfy { $0.factor == 1 && $0.row == 0 })
  }

  @Test("pictures that are small, deep, of ink or with alpha get no pass")
  func refused() throws {
    let ink = JPEGFile { $0.color = .cmyk }.encoded(Self.scene)
    let small = Pixels(width: 20, height: 20, channels: 3)
    for file in [
      ink, PNGFile(.rgb(depth: 16)).encoded(Self.scene), PNGFile(.rgb(depth: 8)).encoded(small),
      PNGFile(.rgba(depth: 8)).encoded(Pixels(width: 100, height: 100, channels: 4)),
    ] {
      #expect(try Self.run(file) == nil)
    }
  }
}
