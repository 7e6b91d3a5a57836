import PhotoModel

/// The image information document (Image API 3.0 §5).
struct IIIFInfo: Encodable {
  static let context = "http://iiif.io/api/image/3/context.json"

  struct Size: Encodable {
    let width: Int
    let height: Int
  }

  struct Tiles: Encodable {
    let width: Int
    let height: Int
    let scaleFactors: [Int]
  }

  let id: String
  let type = "ImageService3"
  let `protocol` = "http://iiif.io/api/image"
  let profile = "level2"
  let width: Int
  let height: Int
  let maxWidth: Int?
  let maxHeight: Int?
  let maxArea: Int?
  let sizes: [Size]
  let tiles: [Tiles]
  /// Formats beyond those of level 2; absent if there are none.
  let extraFormats: [String]?
  let extraQualities = ["bitonal", "color", "gray"]
  let extraFeatures = [
    "baseUriRedirect", "canonicalLinkHeader", "cors", "jsonldMediaType", "mirroring", "profileLinkHeader",
  ]
  let preferredFormats = ["jpg"]

  enum CodingKeys: String, CodingKey {
    case context = "@context"
    case id, type, `protocol`, profile, width, height, maxWidth, maxHeight, maxArea, sizes, tiles, extraFormats
    case extraQualities
    case extraFeatures, preferredFormats
  }

  /// - Parameters:
  ///   - id: the base URI of the image.
  ///   - size: of the upright picture.
  ///   - encoders: the formats with an encoder in a process of its own.
  init(id: String, size: PixelSize, encoders: Set<OutputFormat>, _ limits: IIIFLimits) {
    extraFormats = encoders.contains(.webp) ? ["webp"] : nil
    self.id = id
    (width, height) = (size.width, size.height)
    let exceedsSide = max(size.width, size.height) > limits.maximumSide
    maxWidth = exceedsSide ? limits.maximumSide : nil
    maxHeight = exceedsSide ? limits.maximumSide : nil
    maxArea = size.pixelCount > limits.maximumArea ? limits.maximumArea : nil
    let grid = TileGrid(size)
    tiles = [Tiles(width: TileGrid.side, height: TileGrid.side, scaleFactors: grid.factors)]
    sizes = grid.factors.reversed().compactMap { factor in
      let scaled = grid.size(at: factor)
      return limits.allow(scaled) ? Size(width: scaled.width, height: scaled.height) : nil
    }
  }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: CodingKeys.self)
    try object.encode(Self.context, forKey: .context)
    try object.encode(id, forKey: .id)
    try object.encode(type, forKey: .type)
    try object.encode(`protocol`, forKey: .protocol)
    try object.encode(profile, forKey: .profile)
    try object.encode(width, forKey: .width)
    try object.encode(height, forKey: .height)
    try object.encodeIfPresent(maxWidth, forKey: .maxWidth)
    try object.encodeIfPresent(maxHeight, forKey: .maxHeight)
    try object.encodeIfPresent(maxArea, forKey: .maxArea)
    try object.encode(sizes, forKey: .sizes)
    try object.encode(tiles, forKey: .tiles)
    try object.encodeIfPresent(extraFormats, forKey: .extraFormats)
    try object.encode(extraQualities, forKey: .extraQualities)
    try object.encode(extraFeatures, forKey: .extraFeatures)
    try object.encode(preferredFormats, forKey: .preferredFormats)
  }
}
