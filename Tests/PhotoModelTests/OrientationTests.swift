import PhotoModel
import Testing

@Suite("Orientation")
struct OrientationTests {
  /// Where each stored corner of a 3x2 picture lies in the upright one, from the definition in the EXIF standard: the
  /// upright place of stored pixel (0, 0).
  @Test(
    "the stored first pixel is the corner that the name says",
    arguments: [
      (Orientation.topLeft, 0, 0), (.topRight, 1, 0), (.bottomRight, 1, 1), (.bottomLeft, 0, 1),
      (.leftTop, 0, 0), (.rightTop, 1, 0), (.rightBottom, 1, 1), (.leftBottom, 0, 1),
    ])
  func firstPixel(_ orientation: Orientation, right: Int, bottom: Int) {
    let upright = orientation.apply(to: PixelSize(width: 3, height: 2))
    let corner = PixelRegion(
      x: Double(right * (upright.width - 1)), y: Double(bottom * (upright.height - 1)), width: 1, height: 1)
    #expect(orientation.stored(corner, ofUpright: upright) == PixelRegion(x: 0, y: 0, width: 1, height: 1))
  }

  @Test("a whole upright picture is a whole stored picture", arguments: Orientation.allCases)
  func whole(_ orientation: Orientation) {
    let stored = PixelSize(width: 40, height: 30)
    let upright = orientation.apply(to: stored)
    func whole(_ size: PixelSize) -> PixelRegion {
      PixelRegion(x: 0, y: 0, width: Double(size.width), height: Double(size.height))
    }
    #expect(orientation.stored(whole(upright), ofUpright: upright) == whole(stored))
  }
}
