#if canImport(Glibc)
  import Glibc
#endif

/// Combines the geometric operations of adjustments, for a picture of a given size, into one output size and one map.
/// Crops, quarter turns and flips stay a rectangle of whole pixels and an orientation, which rendering applies for
/// free.
package struct AdjustedGeometry: Sendable, Hashable {
  /// The size of the adjusted picture.
  package private(set) var size: PixelSize
  /// The shown part of the unadjusted picture, as long as ``map`` is `nil`.
  package private(set) var crop: PixelRect
  /// How the shown part is stored in relation to the adjusted picture.
  package private(set) var orientation = Orientation.topLeft
  /// From the unit square of the adjusted picture to that of the unadjusted one; `nil` if ``crop`` and ``orientation``
  /// describe the whole geometry.
  package private(set) var map: Homography?
  /// The same map for every list of operations: also where ``map`` is `nil`.
  package private(set) var toUnadjusted = Homography.identity
  /// For each vignette, by the index of its operation: the map from the unit square of the adjusted picture to that of
  /// the picture at this operation, because the effect depends on the position of a pixel there.
  package private(set) var vignetteMaps: [Int: Homography] = [:]

  /// - Parameter unadjusted: the size of the upright picture before the operations.
  package init(_ adjustments: Adjustments, of unadjusted: PixelSize) {
    size = unadjusted
    crop = PixelRect(unadjusted)
    for (index, operation) in adjustments.operations.enumerated() {
      guard let step = step(operation) else {
        if case .vignette = operation { vignetteMaps[index] = .identity }
        continue
      }
      vignetteMaps = vignetteMaps.mapValues { $0.after(step.map) }
      toUnadjusted = toUnadjusted.after(step.map)
      if step.isProjective || map != nil { map = toUnadjusted }
      apply(step)
    }
  }

  private struct Step {
    /// From the unit square after the operation to the one before it.
    var map: Homography
    var size: PixelSize
    var isProjective = false
    var crop: PixelRect?
    var orientation = Orientation.topLeft
  }

  private func step(_ operation: AdjustmentOperation) -> Step? {
    switch operation {
    case .crop(let rect):
      let pixels = rect.pixels(of: size)
      let (width, height) = (Double(size.width), Double(size.height))
      return Step(
        map: Homography(
          ontoX: Double(pixels.x) / width, y: Double(pixels.y) / height, width: Double(pixels.width) / width,
          height: Double(pixels.height) / height), size: pixels.size, crop: pixels)
    case .rotate(let quarterTurns):
      let orientation: Orientation = [.rightTop, .bottomRight, .leftBottom][quarterTurns - 1]
      return Step(map: Homography(orientation), size: orientation.apply(to: size), orientation: orientation)
    case .flip(let axis):
      let orientation = axis == .horizontal ? Orientation.topRight : .bottomLeft
      return Step(map: Homography(orientation), size: size, orientation: orientation)
    case .straighten(let degrees): return degrees == 0 ? nil : straighten(degrees)
    case .perspective(let map, let aspectRatio): return perspective(map, aspectRatio)
    case .tone, .toneCurve, .vignette: return nil
    }
  }

  private mutating func apply(_ step: Step) {
    if let pixels = step.crop, map == nil {
      let region = orientation.stored(
        PixelRegion(
          x: Double(pixels.x), y: Double(pixels.y), width: Double(pixels.width), height: Double(pixels.height)),
        ofUpright: size)
      // Whole numbers: an orientation moves pixels to pixels.
      crop = PixelRect(
        x: crop.x + Int(region.x), y: crop.y + Int(region.y), width: Int(region.width), height: Int(region.height))
    }
    orientation = orientation.followed(by: step.orientation)
    size = step.size
  }

  /// A rotation about the centre, and the largest rectangle of the same aspect ratio that fits into the rotated
  /// picture: a rectangle of s w x s h, turned back, must lie within w x h.
  private func straighten(_ degrees: Double) -> Step {
    let (width, height) = (Double(size.width), Double(size.height))
    let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
    let share = min(
      width / (width * cosine + height * sine.magnitude), height / (width * sine.magnitude + height * cosine))
    // From the unit square, to pixels about the centre, turned back, to the unit square. The content turns clockwise,
    // so a point of the result comes from the point that lies counterclockwise of it (y points down).
    let (along, right, down) = (share * cosine, share * sine * height / width, -share * sine * width / height)
    let map = Homography([
      along, right, 0.5 - (along + right) / 2,
      down, along, 0.5 - (down + along) / 2,
      0, 0, 1,
    ])
    return Step(map: map, size: scaled(share), isProjective: true)
  }

  /// Without an aspect ratio, the output has that of the picture before. Its sides are at most as long as the longest
  /// edges of the shown quadrilateral, so that nothing is enlarged along these edges.
  private func perspective(_ map: Homography, _ aspectRatio: Double?) -> Step {
    let corners = map.corners.map { (x: $0.x * Double(size.width), y: $0.y * Double(size.height)) }
    func length(_ from: Int, _ to: Int) -> Double {
      let (x, y) = (corners[to].x - corners[from].x, corners[to].y - corners[from].y)
      return (x * x + y * y).squareRoot()
    }
    let (across, down) = (max(length(0, 1), length(3, 2)), max(length(0, 3), length(1, 2)))
    guard let aspectRatio else {
      return Step(
        map: map, size: scaled(min(1, max(across / Double(size.width), down / Double(size.height)))),
        isProjective: true)
    }
    let width = min(across, down * aspectRatio)
    return Step(map: map, size: Self.rounded(width, width / aspectRatio), isProjective: true)
  }

  private func scaled(_ share: Double) -> PixelSize {
    Self.rounded(Double(size.width) * share, Double(size.height) * share)
  }

  private static func rounded(_ width: Double, _ height: Double) -> PixelSize {
    PixelSize(width: max(1, Int((width + 0.5).rounded(.down))), height: max(1, Int((height + 0.5).rounded(.down))))
  }
}

extension Homography {
  /// From the unit square of an upright picture to that of the stored one.
  package init(_ orientation: Orientation) {
    // X = mirrored or plain x, Y likewise; then x and y are swapped where sides are.
    let x: [Double] = orientation.mirrorsX ? [-1, 0, 1] : [1, 0, 0]
    let y: [Double] = orientation.mirrorsY ? [0, -1, 1] : [0, 1, 0]
    let rows: [Double] = orientation.swapsSides ? y + x : x + y
    self.init(rows + [0, 0, 1])
  }
}
