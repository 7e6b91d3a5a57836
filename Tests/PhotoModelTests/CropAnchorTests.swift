import PhotoModel
import Testing

@Suite("Crop anchors")
struct CropAnchorTests {
  /// The crop of a picture of 400x200 pixels to a square of 100, in tenths of the scaled picture: its left edge, 0...100.
  private static func left(_ anchor: CropAnchor, rect: UnitRect? = nil, target: (Int, Int) = (100, 100)) -> Int {
    rules(anchor, rect: rect, target: target).outputRect.x
  }

  private static func rules(
    _ anchor: CropAnchor, upright: (Int, Int) = (400, 200), rect: UnitRect? = nil, target: (Int, Int) = (100, 100)
  ) -> SizeRules {
    var request = ImageRequest(
      targetSize: .size(PixelSize(width: target.0, height: target.1)), contentMode: .aspectFill,
      normalizedCropRect: rect)
    request.cropAnchor = anchor
    return SizeRules(request, upright: PixelSize(width: upright.0, height: upright.1))
  }

  private static func part(_ x: Double, _ width: Double, weight: Double = 1) -> CropAnchor.WeightedRect {
    CropAnchor.WeightedRect(UnitRect(x: x, y: 0.4, width: width, height: 0.2), weight: weight)
  }

  @Test("a point is in the middle of the crop as far as the edges allow")
  func points() {
    for (x, left) in [(0.0, 0), (0.2, 0), (0.3, 10), (0.5, 50), (0.75, 100), (1, 100)] {
      #expect(Self.left(.point(UnitPoint(x: x, y: 0.5))) == left, "\(x)")
    }
    #expect(Self.left(.center) == 50)
    #expect(Self.left(.auto) == 50, "without an asset")
    let tall = Self.rules(.point(UnitPoint(x: 0, y: 1)), upright: (200, 400)).outputRect
    #expect(tall == PixelRect(x: 0, y: 100, width: 100, height: 100))
    // A point of the upright picture, also if only a part of it is used.
    let half = UnitRect(x: 0.5, y: 0, width: 0.5, height: 0.5)
    let part = Self.rules(.point(UnitPoint(x: 1, y: 0)), rect: half, target: (50, 50))
    #expect(part.crop == PixelRect(x: 200, y: 0, width: 200, height: 100))
    #expect(part.outputRect == PixelRect(x: 50, y: 0, width: 50, height: 50))
    // The picture is too small for the target: the part has its own scale.
    #expect(Self.rules(.point(UnitPoint(x: 1, y: 0.5)), target: (900, 900)).outputRect.x == 200)
  }

  @Test("a crop keeps as many and as large regions as it has room for, in its middle")
  func regions() {
    #expect(Self.left(.regions([Self.part(0.8, 0.1)])) == 100)
    #expect(Self.left(.regions([Self.part(0.3, 0.1)])) == 20, "in the middle")
    // Two near each other count more than one far away, and a heavier one more than two.
    let crowd = [Self.part(0, 0.1), Self.part(0.7, 0.1), Self.part(0.85, 0.1)]
    #expect(Self.left(.regions(crowd)) == 100)
    #expect(Self.left(.regions([Self.part(0, 0.1, weight: 3)] + crowd.dropFirst())) == 0)
    // Both at the edges of what fits.
    #expect(Self.left(.regions([Self.part(0.25, 0.1), Self.part(0.65, 0.1)])) == 50)
    // Too wide for the crop: its middle.
    #expect(Self.left(.regions([Self.part(0.1, 0.7)])) == 40)
    #expect(Self.left(.regions([])) == 50)
    #expect(Self.left(.regions([Self.part(0.95, 0)])) == 100, "a point")
  }

  @Test("auto is the regions, then the saliency point, then the centre; faces count more than a focus point")
  func automatic() {
    let point = UnitPoint(x: 0.9, y: 0.5)
    #expect(CropAnchor.automatic([], saliency: nil) == .center)
    #expect(CropAnchor.automatic([], saliency: point) == .point(point))
    let focus = PictureRegion(.focus, UnitRect(x: 0, y: 0, width: 0.4, height: 0.4))
    let face = PictureRegion(.face, UnitRect(x: 0.9, y: 0.4, width: 0.05, height: 0.1))
    #expect(Self.left(.automatic([focus], saliency: point)) == 0)
    #expect(Self.left(.automatic([focus, face], saliency: nil)) == 100)
    #expect(Self.left(.automatic([focus, PictureRegion(.pet, face.rect)], saliency: nil)) == 100)
  }

  @Test("a crop around random regions is inside the picture, and keeps at least what the centre would keep")
  func properties() {
    var generator = Lehmer(seed: 7)
    for _ in 0..<3000 {
      let upright = (generator.int(2...900), generator.int(2...900))
      let target = (generator.int(1...300), generator.int(1...300))
      let parts = (0..<generator.int(0...6)).map { _ in
        let (x, y) = (Double(generator.int(0...99)) / 100, Double(generator.int(0...99)) / 100)
        let rect = UnitRect(
          x: x, y: y, width: min(1 - x, Double(generator.int(0...30)) / 100),
          height: min(1 - y, Double(generator.int(0...30)) / 100))
        return CropAnchor.WeightedRect(rect, weight: Double(generator.int(1...3)))
      }
      let rules = Self.rules(.regions(parts), upright: upright, target: target)
      let centred = Self.rules(.center, upright: upright, target: target)
      let (window, scaled) = (rules.outputRect, rules.scaled)
      #expect(window.size == centred.outputRect.size && scaled == centred.scaled)
      #expect(window.x >= 0 && window.y >= 0)
      #expect(window.x + window.width <= scaled.width && window.y + window.height <= scaled.height)
      func kept(_ window: PixelRect) -> Double {
        let slack = 1.0
        return parts.filter { part in
          let (left, top) = (part.rect.x * Double(scaled.width), part.rect.y * Double(scaled.height))
          let right = (part.rect.x + part.rect.width) * Double(scaled.width)
          let bottom = (part.rect.y + part.rect.height) * Double(scaled.height)
          return left >= Double(window.x) - slack && right <= Double(window.x + window.width) + slack
            && top >= Double(window.y) - slack && bottom <= Double(window.y + window.height) + slack
        }.reduce(0) { $0 + $1.weight }
      }
      func strictlyKept(_ window: PixelRect) -> Double {
        parts.filter { part in
          let left = part.rect.x * Double(scaled.width)
          let right = (part.rect.x + part.rect.width) * Double(scaled.width)
          let (top, bottom) = (
            part.rect.y * Double(scaled.height), (part.rect.y + part.rect.height) * Double(scaled.height)
          )
          return left >= Double(window.x) && right <= Double(window.x + window.width) && top >= Double(window.y)
            && bottom <= Double(window.y + window.height)
        }.reduce(0) { $0 + $1.weight }
      }
      #expect(kept(window) >= strictlyKept(centred.outputRect), "\(upright) \(target) \(parts)")
    }
  }
}
