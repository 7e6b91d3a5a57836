// Parses the path of an IIIF image request into an ImageRequest, or throws 400 or 501. Does not look anything up.

import HTTPCore
import ImageService
import PhotoModel

/// `/iiif/3/{id}/{region}/{size}/{rotation}/{quality}.{format}` before the asset is known.
struct IIIFImageQuery: PictureQuery {
  /// The qualities of Image API 3.0 §4.4. `default` is the same as `color`.
  enum Quality: String, CaseIterable { case `default`, color, gray, bitonal }

  /// The formats of Image API 3.0 §4.5; `nil` for a format that this service does not make.
  static let formats: [String: OutputFormat?] = [
    "jpg": .jpeg, "png": .png, "webp": .webp, "tif": nil, "gif": nil, "jp2": nil, "pdf": nil,
  ]

  private let identifier: LocalIdentifier
  private let region: IIIFRegion
  private let size: IIIFSize
  private let rotation: Orientation
  private let quality: Quality
  private let formatName: String
  private let format: OutputFormat
  private let limits: IIIFLimits
  let version: ContentVersion?

  /// - Parameter path: region, size, rotation, and quality with format, decoded.
  init(
    _ identifier: LocalIdentifier, path: (region: String, size: String, rotation: String, file: String),
    _ target: RequestTarget, limits: IIIFLimits
  ) throws(Problem) {
    self.identifier = identifier
    self.limits = limits
    region = try IIIFRegion(path.region)
    size = try IIIFSize(path.size)
    rotation = try Self.rotation(path.rotation)
    (quality, formatName, format) = try Self.file(path.file)
    var query = try QueryReader(target)
    version = query.text("v").map(ContentVersion.init)
    try query.finish()
  }

  var requestID: String? { nil }
  var parameters: [String: String] { [:] }
  var imageVersion: ImageVersion { .current }
  /// IIIF has no such parameter, and its clients expect the picture.
  var allowsNetwork: Bool { true }
  var hasAutomaticFormat: Bool { false }
  var isNegotiated: Bool { false }

  func form(_ accept: Accept, hasAccept: Bool) -> DeliveryForm { .single }

  func formats(for asset: Asset, accept: Accept, encoders: AutomaticEncoders) throws(Problem) -> FormatChoice {
    if format.needsWorker, !encoders.contains(format) { throw Self.unsupportedFormat }
    return FormatChoice(format)
  }

  func request(for asset: Asset, as format: OutputFormat) throws(Problem) -> ImageRequest {
    let rect = try region.rect(of: asset.pixelSize)
    let size = try size.size(of: rect.size, limits)
    let isWhole = rect == PixelRect(asset.pixelSize)
    var request = ImageRequest(
      // The largest size of the whole picture may be the original's own file.
      targetSize: isWhole && size == rect.size ? .maximum : .size(size),
      normalizedCropRect: isWhole ? nil : UnitRect(rect, of: asset.pixelSize), format: format)
    request.fillsTarget = true
    // Tiles are put together by a viewer, which would have to put their gain maps together too.
    let isTile =
      request.targetSize != .maximum
      && TileGrid(asset.pixelSize).tile(of: SizedRequest(request, upright: asset.pixelSize)) != nil
    if !isTile { request.dynamicRange = .preserve }
    request.rotation = rotation
    switch quality {
    case .default, .color: break
    case .gray: request.tone = .gray
    case .bitonal: request.tone = .bitonal
    }
    if request.tone != .color { request.colorSpace = .srgb }
    return request
  }

  /// The canonical form of the request (§4.7), and the compliance level.
  func links(for asset: Asset) throws(Problem) -> String? {
    let rect = try region.rect(of: asset.pixelSize)
    let size = try size.size(of: rect.size, limits)
    let regionText =
      rect == PixelRect(asset.pixelSize) ? "full" : "\(rect.x),\(rect.y),\(rect.width),\(rect.height)"
    let largest = try IIIFSize("max").size(of: rect.size, limits)
    let sizeText = size == largest ? "max" : "\(size.width),\(size.height)"
    let qualityText = quality == .color ? Quality.default.rawValue : quality.rawValue
    let path = "/iiif/3/\(identifier)/\(regionText)/\(sizeText)/\(Self.text(of: rotation))/\(qualityText).\(formatName)"
    return "<\(path)>; rel=\"canonical\", <http://iiif.io/api/image/3/level2.json>; rel=\"profile\""
  }

  // MARK: Rotation

  /// The rotations that need no new pixels, by their text: mirrored first, then rotated clockwise.
  private static let rotations: [(text: String, rotation: Orientation)] = {
    let rotations: [(String, Orientation)] = [
      ("0", .topLeft), ("90", .rightTop), ("180", .bottomRight), ("270", .leftBottom),
    ]
    return rotations + rotations.map { ("!" + $0.0, Orientation.topRight.followed(by: $0.1)) }
  }()

  private static func text(of rotation: Orientation) -> String {
    rotations.first { $0.rotation == rotation }?.text ?? "0"
  }

  private static func rotation(_ text: String) throws(Problem) -> Orientation {
    let isMirrored = text.hasPrefix("!")
    guard let degrees = IIIFNumber.decimal(text.dropFirst(isMirrored ? 1 : 0)), degrees <= 360 else {
      throw .invalidParameter(
        "The rotation must be degrees from 0 to 360, with ! before them to mirror first.", parameter: "rotation")
    }
    let whole = degrees == 360 ? "0" : "\(Int(degrees))"
    let name = (isMirrored ? "!" : "") + whole
    guard degrees == degrees.rounded(), let rotation = rotations.first(where: { $0.text == name })?.rotation else {
      throw Problem(
        501, "rotation-not-supported", "The rotation is not supported",
        detail: "This service rotates by 0, 90, 180 and 270 degrees.", parameter: "rotation")
    }
    return rotation
  }

  // MARK: Quality and format

  private static func file(_ text: String) throws(Problem) -> (Quality, String, OutputFormat) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let quality = Quality(rawValue: parts[0]) else {
      throw .invalidParameter(
        "The last segment must be a quality (\(Quality.allCases.map(\.rawValue).joined(separator: ", "))), a dot and a "
          + "format.", parameter: "file")
    }
    guard let known = formats[parts[1]] else {
      throw .invalidParameter("The format must be \(supported).", parameter: "file")
    }
    guard let format = known else { throw unsupportedFormat }
    return (quality, parts[1], format)
  }

  private static var unsupportedFormat: Problem {
    Problem(
      501, "format-not-supported", "The format is not supported",
      detail: "This service makes jpg and png, and the extraFormats of info.json.", parameter: "file")
  }

  private static var supported: String {
    formats.filter { $0.value != nil }.keys.sorted().joined(separator: " or ")
  }
}
