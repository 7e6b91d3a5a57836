import ImageCodec
import ImageRender
import PhotoModel
import Testing

@Suite("Saliency")
struct SaliencyTests {
  private static func point(_ width: Int, _ height: Int, _ pixel: (Int, Int) -> [UInt8]) -> UnitPoint? {
    var rgba: [UInt8] = []
    for y in 0..<height { for x in 0..<width { rgba += pixel(x, y) } }
    return Saliency.point(rgba: rgba, size: PixelSize(width: width, height: height))
  }

  private static func isInside(_ x: Int, _ y: Int, _ rect: (Int, Int, Int, Int)) -> Bool {
    x >= rect.0 && x < rect.0 + rect.2 && y >= rect.1 && y < rect.1 + rect.3
  }

  @Test("the point is at what differs from a plain background: skin, a strong colour, or texture")
  func subjects() throws {
    for (name, color) in [
      ("light skin", [230, 180, 150, 255]), ("dark skin", [110, 76, 56, 255]), ("red", [220, 20, 20, 255]),
    ] as [(String, [UInt8])] {
      for corner in [(4, 4), (76, 4), (4, 46), (76, 46)] {
        let rect = (corner.0, corner.1, 20, 20)
        let point = try #require(
          Self.point(100, 70) { Self.isInside($0, $1, rect) ? color : [120, 122, 124, 255] }, "\(name)")
        #expect(abs(point.x - Double(corner.0 + 10) / 100) < 0.12, "\(name) at \(corner): \(point)")
        #expect(abs(point.y - Double(corner.1 + 10) / 70) < 0.12, "\(name) at \(corner): \(point)")
      }
    }
    let texture = try #require(
      Self.point(100, 70) { x, y in
        let value: UInt8 = Self.isInside(x, y, (70, 40, 24, 24)) && (x + y) % 2 == 0 ? 250 : 128
        return [value, value, value, 255]
      })
    #expect(texture.x > 0.7 && texture.y > 0.55)
  }

  @Test("a picture without contrast, and one that is too small, have no point; transparent pixels do not count")
  func plain() throws {
    #expect(Self.point(50, 40) { _, _ in [128, 128, 128, 255] } == nil)
    #expect(Self.point(2, 2) { x, _ in [UInt8(x * 200), 0, 0, 255] } == nil)
    let point = try #require(
      Self.point(90, 60) { x, y in
        Self.isInside(x, y, (2, 2, 20, 20))
          ? [220, 20, 20, 0] : Self.isInside(x, y, (66, 36, 20, 20)) ? [220, 20, 20, 255] : [128, 128, 128, 255]
      })
    #expect(point.x > 0.7 && point.y > 0.6)
  }
}
