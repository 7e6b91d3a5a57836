import PhotoModel

/// The geometry of an adjusted picture: which rectangle of the upright original is decoded, and to which size.
struct EditGeometry {
  /// In pixels of the upright original.
  let region: PixelRegion
  /// The part that may be read around the rectangle, in the same pixels: nothing that a crop has cut off.
  let bounds: PixelRegion
  /// How the rectangle is stored in relation to the upright output.
  let orientation: Orientation
  /// The size of the rectangle in the output's orientation, before a warp, with the margin.
  let upright: PixelSize
  /// `nil` if no pixel changes.
  let edit: PixelAdjustments?

  /// - Parameters:
  ///   - sizes: the size rules, applied to the adjusted picture.
  ///   - rotation: how the adjusted picture is turned and mirrored in the end.
  ///   - original: the size of the upright original.
  ///   - isGray: whether the original is gray. It stays gray, and so does a picture in colour that stands in for it.
  init(
    _ adjustments: Adjustments, _ sizes: SizeRules, turnedBy rotation: Orientation, _ adjusted: AdjustedGeometry,
    of original: PixelSize, isGray: Bool
  ) {
    func side(of part: PixelRegion) -> Double {
      Double(max(original.width, original.height)) / (rotation.swapsSides ? part.height : part.width)
    }
    let sigma = ToneProgram.sigma(side: side(of: sizes.region), width: rotation.apply(to: sizes.output).width)
    let reach = NeighbourRadius.reach(of: adjustments.operations, sigma)
    // From here on, the output includes the margin.
    let margin = EditMargin(reach, around: sizes, of: adjusted.size, turnedBy: rotation)
    let (shown, output) = (margin.region, margin.size)
    // Maps the unit square of the output to the unit square of the adjusted picture.
    let shownMap = Homography(
      ontoX: shown.x / Double(adjusted.size.width), y: shown.y / Double(adjusted.size.height),
      width: shown.width / Double(adjusted.size.width), height: shown.height / Double(adjusted.size.height)
    ).after(Homography(rotation))
    orientation = adjusted.orientation.followed(by: rotation)
    let tones = adjustments.operations.enumerated().compactMap { index, operation -> PixelAdjustments.Tone? in
      if isGray && operation.changesOnlyColors { return nil }
      switch operation {
      case .crop, .straighten, .rotate, .flip, .perspective: return nil
      case .tone(_, let value): return value == 0 ? nil : PixelAdjustments.Tone(operation: operation, map: nil)
      case .toneCurve: return PixelAdjustments.Tone(operation: operation, map: nil)
      case .vignette:
        return PixelAdjustments.Tone(operation: operation, map: adjusted.vignetteMaps[index]?.after(shownMap))
      }
    }
    var warp: PixelAdjustments.Warp?
    if let map = adjusted.map {
      // Crops after the first warp are oblique in the original: at their edges the warp reads up to two samples beyond.
      bounds = PixelRegion(adjusted.crop)
      let planned = Self.plan(map.after(shownMap), output, orientation, of: original, within: bounds)
      region = planned.region
      upright = planned.warp.intermediate
      warp = planned.warp
    } else {
      func placed(_ part: PixelRegion) -> PixelRegion {
        let stored = adjusted.orientation.stored(part, ofUpright: adjusted.size)
        return PixelRegion(
          x: stored.x + Double(adjusted.crop.x), y: stored.y + Double(adjusted.crop.y), width: stored.width,
          height: stored.height)
      }
      region = placed(shown)
      // Operations that read neighbours may read pixels of the adjusted picture outside of the request's crop.
      bounds = placed(PixelRegion(reach > 0 ? PixelRect(adjusted.size) : sizes.bounds))
      upright = output
    }
    let changesPixels = !tones.isEmpty || warp != nil
    edit = changesPixels ? PixelAdjustments(tones: tones, warp: warp, side: side(of: shown), margin: margin) : nil
  }

  /// Samples that the warp's kernel reads on each side of a point.
  private static let kernelReach = 2.0

  /// - Parameters:
  ///   - total: maps the unit square of the output to the unit square of the original.
  ///   - bounds: the part of the original that may be read.
  private static func plan(
    _ total: Homography, _ output: PixelSize, _ orientation: Orientation, of original: PixelSize,
    within bounds: PixelRegion
  ) -> (region: PixelRegion, warp: PixelAdjustments.Warp) {
    let (width, height) = (Double(original.width), Double(original.height))
    let step = meanStep(total, output, of: original)
    // As many intermediate pixels as the output has there, and never more than the original has.
    let scale = min(1, 1 / step)
    let part = total.bounds
    let margin = kernelReach / scale
    // At least one pixel within the bounds, also if rounding errors of many perspectives left no number: the order of
    // arguments matters, because `max(0, .nan)` is 0, and `min(side, .nan)` is the side.
    func span(
      _ start: Double, _ length: Double, _ side: Double, _ first: Double, _ count: Double
    ) -> (start: Double, length: Double) {
      let low = min(first + count - 1, max(first, start * side - margin))
      let high = max(low + 1, min(first + count, (start + length) * side + margin))
      return (low, high - low)
    }
    let across = span(part.x, part.width, width, bounds.x, bounds.width)
    let down = span(part.y, part.height, height, bounds.y, bounds.height)
    let region = PixelRegion(x: across.start, y: down.start, width: across.length, height: down.length)
    let stored = PixelSize(
      width: max(1, Int((region.width * scale).rounded())), height: max(1, Int((region.height * scale).rounded())))
    let ontoRegion = Homography(
      ontoX: region.x / width, y: region.y / height, width: region.width / width, height: region.height / height)
    let map = ontoRegion.after(Homography(orientation)).inverse.after(total)
    return (region, PixelAdjustments.Warp(map: map, output: output, intermediate: orientation.apply(to: stored)))
  }

  /// How many original pixels lie between two neighbours of the output: the geometric mean over both directions and the
  /// four corners. A perspective has more in some places and fewer in others.
  private static func meanStep(_ total: Homography, _ output: PixelSize, of original: PixelSize) -> Double {
    var product = 1.0
    for (u, v) in [(0.0, 0.0), (1, 0), (1, 1), (0, 1)] {
      let (inU, inV) = (u == 0 ? 1e-4 : -1e-4, v == 0 ? 1e-4 : -1e-4)
      let from = total.point(u, v)
      for (to, pixels) in [
        (total.point(u + inU, v), 1e-4 * Double(output.width)), (total.point(u, v + inV), 1e-4 * Double(output.height)),
      ] {
        let x = (to.x - from.x) * Double(original.width)
        let y = (to.y - from.y) * Double(original.height)
        product *= (x * x + y * y).squareRoot() / pixels
      }
    }
    // The eighth root.
    return product.squareRoot().squareRoot().squareRoot()
  }
}

extension AdjustmentOperation {
  /// Whether it has no effect on a gray picture.
  fileprivate var changesOnlyColors: Bool {
    switch self {
    case .tone(let tone, _): [.saturation, .vibrance, .warmth, .tint, .blackAndWhite].contains(tone)
    case .toneCurve(let channel, _): channel != .rgb
    case .crop, .straighten, .rotate, .flip, .perspective, .vignette: false
    }
  }
}
