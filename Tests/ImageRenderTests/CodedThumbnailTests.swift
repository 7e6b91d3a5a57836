import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec
@testable import ImageRender

@Suite("Thumbnails that workers decode")
struct CodedThumbnailTests {
  @Test("a thumbnail of the same codec is the degraded frame if it is much smaller")
  func thumbnails() throws {
    func header(_ thumbnails: [Int], turns: Int = 0) throws -> ImageHeader {
      let configuration = CodedHEIFFile.hvcC()
      var items = [
        CodedHEIFFile.Item(1, "hvc1", [1], properties: [configuration, CodedHEIFFile.ispe(1600, 1200)])
      ]
      for (i, width) in thumbnails.enumerated() {
        items.append(
          CodedHEIFFile.Item(
            10 + i, "hvc1", [2], properties: [configuration, CodedHEIFFile.ispe(width, width * 3 / 4)],
            references: [("thmb", [1])]))
      }
      if turns > 0 { for i in items.indices { items[i].properties.append(CodedHEIFFile.irot(turns)) } }
      return try ImageHeader.read(from: MemoryByteSource(CodedHEIFFile(items).bytes), limits: CodecLimits())
    }
    let planner = RenderPlanner()
    func degraded(_ header: ImageHeader, _ side: Int) -> RenderPlan? {
      planner.degradedPlan(header, header.sized(request(side, side)))
    }
    let several = try header([320, 400, 1000])
    #expect(degraded(several, 200)?.header.storedSize.width == 320)
    #expect(degraded(several, 200)?.outputSize == PixelSize(width: 200, height: 150))
    #expect(degraded(several, 400)?.header.storedSize.width == 400)
    // The one of 1000 has enough pixels, and takes nearly as long as the picture.
    #expect(degraded(several, 800) == nil)
    #expect(degraded(try header([320]), 800)?.outputSize == PixelSize(width: 320, height: 240))
    #expect(degraded(try header([]), 200) == nil)
    #expect(degraded(try header([320], turns: 1), 200)?.outputSize == PixelSize(width: 150, height: 200))
  }

  @Test("a thumbnail is the final frame if it has the pixels, the colours and the whole picture's alpha")
  func finalThumbnails() throws {
    func header(_ color: (Int, Int, Int)?, _ thumbnail: (Int, Int, Int)?) throws -> ImageHeader {
      func properties(_ points: (Int, Int, Int)?, _ width: Int) -> [[UInt8]] {
        let color = points.map { [CodedHEIFFile.nclx($0.0, $0.1, $0.2, isFullRange: true)] } ?? []
        return [CodedHEIFFile.hvcC(), CodedHEIFFile.ispe(width, width * 3 / 4)] + color
      }
      return try ImageHeader.read(
        from: MemoryByteSource(
          CodedHEIFFile([
            CodedHEIFFile.Item(1, "hvc1", [1], properties: properties(color, 1600)),
            CodedHEIFFile.Item(10, "hvc1", [2], properties: properties(thumbnail, 320), references: [("thmb", [1])]),
            CodedHEIFFile.Item(11, "hvc1", [2], properties: properties(thumbnail, 400), references: [("thmb", [1])]),
          ]).bytes), limits: CodecLimits())
    }
    let planner = RenderPlanner()
    func width(_ header: ImageHeader, _ request: ImageRequest) -> Int? {
      planner.finalThumbnailPlan(header, header.sized(request))?.header.storedSize.width
    }
    let p3 = (12, 13, 6)
    let same = try header(p3, p3)
    #expect(width(same, request(320, 320)) == 320 && width(same, request(321, 321)) == 400)
    #expect(width(same, request(401, 401)) == nil)
    // A crop needs more pixels of the whole picture.
    var crop = request(160, 160)
    crop.normalizedCropRect = UnitRect(x: 0.25, y: 0, width: 0.5, height: 1)
    #expect(width(same, crop) == 320)
    crop.targetSize = .size(PixelSize(width: 320, height: 320))
    #expect(width(same, crop) == nil)
    #expect(width(try header(p3, (1, 13, 6)), request(200, 200)) == nil)
    let plan = try #require(planner.finalThumbnailPlan(same, same.sized(request(200, 200))))
    #expect(plan.outputSize == PixelSize(width: 200, height: 150))
  }
}
