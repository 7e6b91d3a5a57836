import PhotoModel
import Testing

@Suite("Tile grids")
struct TileGridTests {
  @Test("the tiles of each scale cover the picture without overlapping, and each is found by its request")
  func covering() {
    for (width, height) in [(1, 1), (512, 512), (513, 512), (1200, 800), (5000, 3001), (700, 4097)] {
      let size = PixelSize(width: width, height: height)
      let grid = TileGrid(size)
      #expect(grid.factors.last.map { max(width, height) <= 512 * $0 } == true)
      for factor in grid.factors {
        var area = 0
        let span = 512 * factor
        for row in 0..<(height + span - 1) / span {
          for column in 0..<(width + span - 1) / span {
            let tile = TileGrid.Tile(factor: factor, column: column, row: row)
            let wanted = SizedRequest(grid.request(for: tile), upright: size)
            #expect(wanted.sizes.crop.x == column * span && wanted.sizes.crop.y == row * span)
            #expect(grid.rect(of: tile) == wanted.sizes.crop)
            #expect(wanted.sizes.output.width <= 512 && wanted.sizes.output.height <= 512)
            #expect(grid.tile(of: wanted) == tile, "\(size) \(tile)")
            area += wanted.sizes.crop.size.pixelCount
          }
        }
        #expect(area == width * height, "\(size) at \(factor)")
      }
    }
  }

  @Test("a request for anything else is no tile")
  func others() {
    let size = PixelSize(width: 1200, height: 800)
    let grid = TileGrid(size)
    let request = grid.request(for: TileGrid.Tile(factor: 1, column: 1, row: 0))
    let changes: [(String, (inout ImageRequest) -> Void)] = [
      ("quality", { $0.quality = 90 }), ("format", { $0.format = .png }), ("rotation", { $0.rotation = .rightTop }),
      ("tone", { $0.tone = .gray }), ("colours", { $0.colorSpace = .srgb }), ("version", { $0.version = .original }),
      ("size", { $0.targetSize = .size(PixelSize(width: 100, height: 100)) }),
      ("place", { $0.normalizedCropRect = UnitRect(PixelRect(x: 500, y: 0, width: 512, height: 512), of: size) }),
    ]
    let brighter = Adjustments([.tone(.exposure, 1)])
    #expect(grid.tile(of: SizedRequest(request, upright: size)) != nil)
    #expect(grid.tile(of: SizedRequest(request, upright: size, adjustments: brighter)) == nil, "adjustments")
    for (name, change) in changes {
      var other = request
      change(&other)
      #expect(grid.tile(of: SizedRequest(other, upright: size)) == nil, "\(name)")
    }
    #expect(grid.tile(of: SizedRequest(request, upright: PixelSize(width: 1201, height: 800))) == nil)
  }
}
