import ImageCodec
import PhotoModel

extension RenderPlanner {
  /// The plan of the gain map that a frame keeps, or whose gains are applied to a frame of high dynamic range: the part
  /// of the map that the frame shows, never enlarged. A kept map has the map's ratio to the picture; an applied map has
  /// the frame's size, if it has enough pixels. `nil` if the picture has no map or the frame can't use it.
  ///
  /// Adjusted frames have no map: pixel edits change the light that the gains were made for, and a straightened or
  /// rectified picture would need the same warp in the map.
  func gainMap(_ header: ImageHeader, _ geometry: RenderGeometry, _ request: ImageRequest) -> GainMapPlan? {
    let isKept =
      request.dynamicRange == .preserve && request.format == .jpeg && request.tone == .color
      && max(geometry.output.width, geometry.output.height) >= SizedRequest.minimumGainMapSide
    let isApplied = request.mayBeHDR
    guard isKept || isApplied, geometry.edit == nil, let map = header.gainMap else { return nil }
    let size = map.header.storedSize
    let across = Double(size.width) / Double(header.storedSize.width)
    let down = Double(size.height) / Double(header.storedSize.height)
    var part = geometry
    part.quality = GainMapPlan.quality
    // The map's samples are logarithms of gains, not light.
    part.isLinear = false
    func scaled(_ region: PixelRegion) -> PixelRegion {
      PixelRegion(
        x: region.x * across, y: region.y * down, width: region.width * across, height: region.height * down)
    }
    (part.region, part.bounds) = (scaled(geometry.region), scaled(geometry.bounds))
    func mapSide(_ side: Int) -> Int { isApplied ? side : max(1, Int((Double(side) * map.ratio).rounded())) }
    part.output = Self.shrunk(
      PixelSize(width: mapSide(geometry.output.width), height: mapSide(geometry.output.height)),
      into: (part.region.width, part.region.height))
    let reduction = min(part.region.width / Double(part.output.width), part.region.height / Double(part.output.height))
    part.eighths = Self.eighths(reduction: reduction, map.header.scalesDecodes)
    var own = ImageRequest(deliveryMode: request.deliveryMode)
    own.format = isApplied ? .png : .jpeg
    return GainMapPlan(
      map,
      plan(
        map.header, part, request: own, finalCoding: .tuned, isConverted: isKept && map.table != nil,
        hasDeepRows: isApplied))
  }
}
