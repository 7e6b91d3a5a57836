// Regions are stored in the unadjusted picture, where the file has them. A crop, a turn or another geometric operation
// moves them: clients see and set them in the picture that they are shown.

extension PictureRegion {
  /// The region in a picture that was made of this one by a map.
  ///
  /// - Parameter map: from the unit square of this picture to that of the other one.
  /// - Returns: the smallest upright rectangle around the region, as far as the other picture shows it, with six
  ///   decimals; `nil` if the region's centre is not shown.
  func moved(by map: Homography) -> PictureRegion? {
    let center = map.point(rect.x + rect.width / 2, rect.y + rect.height / 2)
    let corners = [
      map.point(rect.x, rect.y), map.point(rect.x + rect.width, rect.y),
      map.point(rect.x + rect.width, rect.y + rect.height), map.point(rect.x, rect.y + rect.height),
    ]
    let unit = 0.0...1.0
    guard center.divisor > 0, corners.allSatisfy({ $0.divisor > 0 }), unit.contains(center.x), unit.contains(center.y)
    else { return nil }
    func range(_ values: [Double]) -> (start: Double, length: Double) {
      let (least, greatest) = (max(0, values.min() ?? 0), min(1, values.max() ?? 0))
      let (start, end) = ((least * 1e6).rounded(), (greatest * 1e6).rounded())
      return (start / 1e6, (end - start) / 1e6)
    }
    let (x, y) = (range(corners.map(\.x)), range(corners.map(\.y)))
    return PictureRegion(kind, UnitRect(x: x.start, y: y.start, width: x.length, height: y.length), name: name)
  }
}

extension AdjustedGeometry {
  /// Regions of the unadjusted picture in the adjusted one, which may show fewer of them.
  package func adjusted(_ regions: [PictureRegion]) -> [PictureRegion] {
    let map = toUnadjusted.inverse
    return regions.compactMap { $0.moved(by: map) }
  }

  /// Regions that were set in the adjusted picture, in the unadjusted one.
  ///
  /// A client that changes a list has read only the regions that the adjusted picture shows. So the hidden regions
  /// remain, after those of the client, up to the maximum number. A region that the client did not move keeps its
  /// stored rectangle: in a straightened picture, the rectangle around it would grow each time.
  ///
  /// - Parameter former: the regions of the unadjusted picture that are replaced.
  package func unadjusted(_ regions: [PictureRegion], replacing former: [PictureRegion]) -> [PictureRegion] {
    if regions == adjusted(former) { return former }
    let map = toUnadjusted.inverse
    var stored: [UnitRect: UnitRect] = [:]
    var hidden: [PictureRegion] = []
    for region in former {
      if let shown = region.moved(by: map) {
        stored[shown.rect] = region.rect
      } else {
        hidden.append(region)
      }
    }
    let placed = regions.compactMap { region -> PictureRegion? in
      guard let rect = stored[region.rect] else { return region.moved(by: toUnadjusted) }
      return PictureRegion(region.kind, rect, name: region.name)
    }
    return Array((placed + hidden).prefix(RegionLimits.regions))
  }
}
