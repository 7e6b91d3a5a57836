// Reads rendition options from a JSON body. They have the same names and rules as in an image query.

import PhotoModel

struct RenditionReader {
  private static let sizeNames: Set<String> = ["targetSize", "contentMode"]

  private let presets: ImagePresets
  /// The parameters of the preset that the body names.
  private var preset: [String: String] = [:]
  private var request = ImageRequest()
  private var format = ImageQuery.Format.auto
  private var allowsNetwork = false
  /// The same options in the form of an image query.
  private var parameters: [String: String] = [:]

  init(presets: ImagePresets) { self.presets = presets }

  /// `preset`, `targetSize` and `contentMode`.
  mutating func readSize(_ body: inout JSONObjectReader) throws(Problem) {
    if let name = try body.text("preset") { preset = try presets.parameters(of: name) }
    try body.add(ofPreset: preset.filter { Self.sizeNames.contains($0.key) })
    let targetSize = try body.text("targetSize")
    request.targetSize = try ImageQuery.targetSize(targetSize)
    parameters["targetSize"] = targetSize
    let mode = try body.word("contentMode", default: ImageQuery.ContentModeParameter.aspectFit)
    request.contentMode = mode == .aspectFill ? .aspectFill : .aspectFit
    try note("contentMode", &body)
  }

  /// Reads the other options, after `readSize`.
  ///
  /// - Parameter deliveryModes: the delivery modes that are allowed here.
  mutating func readOptions(
    _ body: inout JSONObjectReader, deliveryModes: [DeliveryMode] = DeliveryMode.allCases
  ) throws(Problem) {
    try body.add(ofPreset: preset.filter { !Self.sizeNames.contains($0.key) })
    request.resizeMode = try body.word("resizeMode", default: .exact)
    request.deliveryMode = try body.word("deliveryMode", default: .highQualityFormat)
    guard deliveryModes.contains(request.deliveryMode) else {
      throw QueryReader.invalid(
        "deliveryMode", "must be one of \(deliveryModes.map(\.rawValue).joined(separator: ", "))")
    }
    request.version = try body.word("version", default: .current)
    format = try body.word("format", default: .auto)
    request.colorSpace = try body.word("colorSpace", default: .preserve)
    request.dynamicRange = try body.word("dynamicRange", default: .preserve)
    request.resampling = try body.word("resample", default: .encoded)
    for name in ["resizeMode", "deliveryMode", "version", "format", "colorSpace", "dynamicRange", "resample"] {
      try note(name, &body)
    }
    request.quality = try body.number("quality", in: 1...100)
    parameters["quality"] = request.quality.map(String.init)
    if let bits = try body.number("bitDepth", in: 8...16) {
      request.bitDepth = bits
      parameters["bitDepth"] = String(bits)
    }
    request.isAnimated = try body.flag("animated")
    if request.isAnimated { parameters["animated"] = "true" }
    request.posterTime = try posterTime(&body)
    parameters["posterTime"] = request.posterTime.map(ImageQuery.text(ofPosterTime:))
    allowsNetwork = try body.flag("networkAccessAllowed")
    if allowsNetwork { parameters["networkAccessAllowed"] = "true" }
    // Accepted and ignored: only final frames are prepared.
    if deliveryModes.contains(.opportunistic) { _ = try body.flag("allowSecondaryDegradedImage") }
    request.cropAnchor = try ImageQuery.cropAnchor(body.text("cropAnchor"))
    try note("cropAnchor", &body)
    request.normalizedCropRect = try crop(&body)
    parameters["normalizedCropRect"] = request.normalizedCropRect.map { "\($0.x),\($0.y),\($0.width),\($0.height)" }
  }

  func query() throws(Problem) -> ImageQuery {
    try ImageQuery(request, format: format, allowsNetwork: allowsNetwork, parameters: parameters)
  }

  private mutating func note(_ name: String, _ body: inout JSONObjectReader) throws(Problem) {
    parameters[name] = try body.text(name)
  }

  private func posterTime(_ body: inout JSONObjectReader) throws(Problem) -> Double? {
    switch body.value("posterTime") {
    case nil: nil
    case .integer(let seconds): try ImageQuery.posterTime("\(seconds)")
    case .number(let seconds): try ImageQuery.posterTime(seconds: seconds)
    default: throw ImageQuery.invalidPosterTime
    }
  }

  /// Reads a crop: `x,y,width,height` as in a query, or an object.
  private func crop(_ body: inout JSONObjectReader) throws(Problem) -> UnitRect? {
    let name = "normalizedCropRect"
    guard case .object(let members)? = body.value(name) else { return try ImageQuery.cropRect(body.text(name)) }
    var sides: [Double] = []
    for side in ["x", "y", "width", "height"] {
      switch members[side] {
      case .integer(let number): sides.append(Double(number))
      case .number(let number): sides.append(number)
      default: throw QueryReader.invalid(name, "must be an object of the numbers x, y, width and height")
      }
    }
    guard members.count == 4 else {
      throw QueryReader.invalid(name, "must be an object of the numbers x, y, width and height")
    }
    return try ImageQuery.cropRect(sides[0], sides[1], sides[2], sides[3])
  }
}
