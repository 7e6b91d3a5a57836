/// Which part of a picture a crop keeps.
package enum CropAnchor: Sendable, Hashable {
  case center
  /// The regions of the asset, or else its saliency point, or else the centre. ``ResolvedRequest`` replaces it by one
  /// of the other cases.
  case auto
  /// The crop is centred on this point of the upright picture, as far as the picture's edges allow.
  case point(UnitPoint)
  /// Parts of the upright picture. The crop keeps those with the largest total weight that fit.
  case regions([WeightedRect])

  /// A part, and its weight relative to other parts.
  package struct WeightedRect: Sendable, Hashable {
    package let rect: UnitRect
    package let weight: Double

    package init(_ rect: UnitRect, weight: Double) {
      self.rect = rect
      self.weight = weight
    }
  }

  /// The anchor that replaces `auto`.
  package static func automatic(_ regions: [PictureRegion], saliency: UnitPoint?) -> CropAnchor {
    if !regions.isEmpty { return .regions(regions.map { WeightedRect($0.rect, weight: weight($0.kind)) }) }
    return saliency.map(CropAnchor.point) ?? .center
  }

  /// People count most. A focus point is where the camera focused, which matters only if there is no subject.
  private static func weight(_ kind: PictureRegion.Kind) -> Double {
    switch kind {
    case .face: 1
    case .pet: 0.5
    case .barcode: 0.1
    case .focus: 0.05
    }
  }
}

/// Places a window on a longer length: the arithmetic of anchored crops, one axis at a time.
struct CropWindow {
  /// The length of the whole, and of the window; the window is not longer.
  let whole: Int
  let window: Int

  /// A weighted part of the whole. It may lie outside of it.
  struct Span {
    let start: Double
    let end: Double
    let weight: Double
  }

  var centered: Int { (whole - window) / 2 }

  /// The offset with a position in the middle of the window, as far as possible.
  func around(_ position: Double) -> Int {
    let offset = (position - Double(window) / 2 + 0.5).rounded(.down)
    return Int(min(max(offset, 0), Double(whole - window)))
  }

  /// The offset that keeps parts with the most weight completely; of those, the one that shows most of all parts; and
  /// then the one with the kept parts in its middle.
  ///
  /// - Complexity: quadratic in the number of parts, which is limited.
  func keeping(_ spans: [Span]) -> Int {
    guard whole > window, !spans.isEmpty else { return centered }
    let length = Double(window)
    // The best window can be moved until it begins or ends with a part.
    let candidates = spans.flatMap { [$0.start.rounded(.down), ($0.end - length).rounded(.up)] } + [Double(centered)]
    var best = (kept: -1.0, shown: -1.0, offset: centered)
    for candidate in candidates {
      let offset = min(max(candidate, 0), Double(whole - window))
      var (kept, shown) = (0.0, 0.0)
      for span in spans {
        let visible = min(span.end, offset + length) - max(span.start, offset)
        let share = span.end > span.start ? max(0, visible) / (span.end - span.start) : visible >= 0 ? 1 : 0
        shown += span.weight * share
        if share >= 1 - 1e-9 { kept += span.weight }
      }
      if kept > best.kept + 1e-9 || (abs(kept - best.kept) <= 1e-9 && shown > best.shown + 1e-9) {
        best = (kept, shown, Int(offset))
      }
    }
    // The kept parts; if no part fits, the shown portion of the heaviest part.
    let offset = Double(best.offset)
    let inside = spans.filter { $0.start >= offset - 1e-6 && $0.end <= offset + length + 1e-6 }
    guard let start = inside.map(\.start).min(), let end = inside.map(\.end).max() else {
      let heaviest = spans.max { $0.weight * ($0.end - $0.start) < $1.weight * ($1.end - $1.start) }
      return heaviest.map { around(($0.start + $0.end) / 2) } ?? centered
    }
    return around((start + end) / 2)
  }
}
