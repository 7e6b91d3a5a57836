/// How the rows of a picture are stored, by EXIF numbers (CIPA DC-008 §4.6.4.A, tag 0x0112).
///
/// As in the standard, the name says where row 0 and column 0 of the stored picture lie in the upright picture.
package enum Orientation: Int, Sendable, Hashable, CaseIterable {
  case topLeft = 1
  case topRight = 2
  case bottomRight = 3
  case bottomLeft = 4
  case leftTop = 5
  case rightTop = 6
  case rightBottom = 7
  case leftBottom = 8

  /// Stored rows are columns of the upright picture.
  package var swapsSides: Bool { rawValue >= 5 }

  /// After swapping sides where needed, x counts from the right.
  package var mirrorsX: Bool { [.topRight, .bottomRight, .rightTop, .rightBottom].contains(self) }

  /// After swapping sides where needed, y counts from the bottom.
  package var mirrorsY: Bool { [.bottomRight, .bottomLeft, .rightBottom, .leftBottom].contains(self) }

  /// The orientation that has the effect of this one and then of another one.
  package func followed(by next: Orientation) -> Orientation {
    let mirrorsX = (next.swapsSides ? mirrorsY : mirrorsX) != next.mirrorsX
    let mirrorsY = (next.swapsSides ? self.mirrorsX : self.mirrorsY) != next.mirrorsY
    let swapsSides = swapsSides != next.swapsSides
    return Self.allCases.first {
      $0.swapsSides == swapsSides && $0.mirrorsX == mirrorsX && $0.mirrorsY == mirrorsY
    } ?? self
  }

  /// The size of the upright picture that is stored with `size`, and the other way round.
  package func apply(to size: PixelSize) -> PixelSize { swapsSides ? size.transposed : size }

  /// Where an upright rectangle lies in the stored picture.
  ///
  /// An upright pixel (X, Y) is stored at (x, y) where, with x and y swapped first if `swapsSides`, X = mirrored or
  /// plain x and Y = mirrored or plain y.
  package func stored(_ region: PixelRegion, ofUpright upright: PixelSize) -> PixelRegion {
    let x = mirrorsX ? Double(upright.width) - region.x - region.width : region.x
    let y = mirrorsY ? Double(upright.height) - region.y - region.height : region.y
    return swapsSides
      ? PixelRegion(x: y, y: x, width: region.height, height: region.width)
      : PixelRegion(x: x, y: y, width: region.width, height: region.height)
  }
}
