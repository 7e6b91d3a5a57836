import PhotoModel
import Testing

@Suite("Orientation")
struct OrientationTests {
  /// The position of the stored pixel (0, 0) of a 3x2 picture in the upright picture, from the definition in the EXIF
  /// standard.
  @Test(
    "the first stored pixel is in the corner that the orientation names",
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

  @Test("an orientation followed by another one has the effect of both", arguments: Orientation.allCases)
  func followed(_ first: Orientation) {
    let stored = PixelSize(width: 5, height: 3)
    for next in Orientation.allCases {
      let both = first.followed(by: next)
      let middle = first.apply(to: stored)
      let upright = next.apply(to: middle)
      #expect(both.apply(to: stored) == upright)
      let pixel = PixelRegion(x: 1, y: 0, width: 1, height: 1)
      #expect(
        both.stored(pixel, ofUpright: upright)
          == first.stored(next.stored(pixel, ofUpright: upright), ofUpright: middle), "\(first) then \(next)")
    }
  }

  @Test("the whole upright picture maps to the whole stored picture", arguments: Orientation.allCases)
  func whole(_ orientation: Orientation) {
    let stored = PixelSize(width: 40, height: 30)
    let upright = orientation.apply(to: stored)
    func whole(_ size: PixelSize) -> PixelRegion {
      PixelRegion(x: 0, y: 0, width: Double(size.width), height: Double(size.height))
    }
    #expect(orientation.stored(whole(upright), ofUpright: upright) == whole(stored))
  }
}
