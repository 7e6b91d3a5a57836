// Parses the query of an image request into an ImageRequest, or throws 400 or 406. Does not look anything up.

import HTTPCore
import ImageService
import PhotoModel
import Primitives

/// The parsed query of `GET /v1/assets/{id}/image`, before the asset is known.
struct ImageQuery: PictureQuery {
  enum Format: String, CaseIterable { case auto, jpeg, png, webp, avif, jxl }
  enum Multipart: String, CaseIterable { case mixed, replace }
  enum ContentModeParameter: String, CaseIterable { case aspectFit, aspectFill, `default` }

  let format: Format
  let multipart: Multipart?
  /// The only content version that the caller accepts.
  let version: ContentVersion?
  /// The client's own name for the request.
  let requestID: String?
  let allowsNetwork: Bool
  /// The parameters as sent, after `preset` was replaced by its parameters.
  let parameters: [String: String]
  /// The request without its format.
  private let request: ImageRequest

  init(_ target: RequestTarget, presets: ImagePresets) throws(Problem) {
    var query = try QueryReader(target)
    try query.replacePreset(presets)
    let targetSize = try Self.targetSize(query.text("targetSize"))
    let contentMode = try query.word("contentMode", default: ContentModeParameter.aspectFit)
    let resizeMode = try query.word("resizeMode", default: ResizeMode.exact)
    let deliveryMode = try query.word("deliveryMode", default: DeliveryMode.highQualityFormat)
    let crop = try Self.cropRect(query.text("normalizedCropRect"))
    let cropAnchor = try Self.cropAnchor(query.text("cropAnchor"))
    let imageVersion = try query.word("version", default: ImageVersion.current)
    allowsNetwork = try query.flag("networkAccessAllowed")
    let allowsSecondary = try query.flag("allowSecondaryDegradedImage")
    requestID = try Self.requestID(query.text("requestID"))
    format = try query.word("format", default: .auto)
    let quality = try query.number("quality", in: 1...100)
    let colorSpace = try query.word("colorSpace", default: ColorSpace.preserve)
    let dynamicRange = try query.word("dynamicRange", default: DynamicRange.preserve)
    let resampling = try query.word("resample", default: Resampling.encoded)
    let bitDepth = try Self.bitDepth(query.number("bitDepth", in: 8...16), format)
    let posterTime = try Self.posterTime(query.text("posterTime"))
    let isAnimated = try query.flag("animated")
    multipart = try query.optionalWord("multipart")
    version = query.text("v").map(ContentVersion.init)
    try query.finish()
    parameters = query.values
    if crop != nil && resizeMode != .exact {
      throw QueryReader.invalid("normalizedCropRect", "needs resizeMode=exact")
    }
    try Self.checkAnimated(isAnimated, format)
    try Self.check(dynamicRange, format, colorSpace)
    var request = ImageRequest(
      targetSize: targetSize, contentMode: contentMode == .aspectFill ? .aspectFill : .aspectFit,
      resizeMode: resizeMode, deliveryMode: deliveryMode, version: imageVersion, normalizedCropRect: crop,
      quality: quality, colorSpace: colorSpace, allowsSecondaryDegradedImage: allowsSecondary,
      posterTime: posterTime)
    request.isAnimated = isAnimated
    request.dynamicRange = dynamicRange
    request.resampling = resampling
    request.bitDepth = bitDepth
    request.cropAnchor = cropAnchor
    self.request = request
  }

  /// 8 or 16; 16 only with `format=png`.
  private static func bitDepth(_ number: Int?, _ format: Format) throws(Problem) -> Int {
    let number = number ?? 8
    guard number == 8 || number == 16 else { throw QueryReader.invalid("bitDepth", "must be 8 or 16") }
    guard number == 8 || format == .png else { throw QueryReader.invalid("bitDepth", "16 needs format=png") }
    return number
  }

  /// A frame of high dynamic range needs a format of more than 8 bits, and has its own colours.
  private static func check(
    _ range: DynamicRange, _ format: Format, _ colorSpace: ColorSpace
  ) throws(Problem) {
    guard range == .high else { return }
    guard format == .avif || format == .jxl else {
      throw QueryReader.invalid("dynamicRange", "high needs format=avif or format=jxl")
    }
    guard colorSpace == .preserve else {
      throw QueryReader.invalid(
        "dynamicRange", "high has the colours of BT.2020: it can't be combined with colorSpace=srgb")
    }
  }

  private static func checkAnimated(_ isAnimated: Bool, _ format: Format) throws(Problem) {
    guard !isAnimated || format == .auto || format == .webp else {
      throw QueryReader.invalid("animated", "needs format=webp or auto: animations are WebP")
    }
  }

  /// - Parameters:
  ///   - request: the request without its format.
  ///   - parameters: the same in the form of an image query.
  init(
    _ request: ImageRequest, format: Format, allowsNetwork: Bool, parameters: [String: String]
  ) throws(Problem) {
    if request.normalizedCropRect != nil && request.resizeMode != .exact {
      throw QueryReader.invalid("normalizedCropRect", "needs resizeMode=exact")
    }
    try Self.checkAnimated(request.isAnimated, format)
    try Self.check(request.dynamicRange, format, request.colorSpace)
    _ = try Self.bitDepth(request.bitDepth, format)
    self.format = format
    self.request = request
    self.parameters = parameters
    self.allowsNetwork = allowsNetwork
    multipart = nil
    version = nil
    requestID = nil
  }

  var deliveryMode: DeliveryMode { request.deliveryMode }
  /// The requested version of an adjusted asset.
  var imageVersion: ImageVersion { request.version }

  var hasAutomaticFormat: Bool { format == .auto }

  /// With opportunistic delivery the form follows Accept too.
  var isNegotiated: Bool { hasAutomaticFormat || (deliveryMode == .opportunistic && multipart == nil) }

  func form(_ accept: Accept, hasAccept: Bool) -> DeliveryForm {
    DeliveryForm(self, accept: accept, hasAccept: hasAccept)
  }

  func links(for asset: Asset) -> String? { nil }

  /// The options for a caching manager that prepares this rendition.
  func preheatOptions(_ automaticFormats: PreparedFormats) -> PreheatOptions {
    PreheatOptions(request, format: OutputFormat(rawValue: format.rawValue), automaticFormats: automaticFormats)
  }

  func formats(for asset: Asset, accept: Accept, encoders: AutomaticEncoders) throws(Problem) -> FormatChoice {
    if let named = OutputFormat(rawValue: format.rawValue) { return FormatChoice(named) }
    let isPart = multipart != nil && deliveryMode == .opportunistic
    let mayBeWebP = encoders.contains(.webp) && accept.quality(ofPicturesAs: .webp, isPart: isPart) > 0
    if request.isAnimated && asset.isAnimated && mayBeWebP { return FormatChoice(.webp) }
    return try FormatChoice(accept, hasAlpha: asset.hasAlpha, encoders: encoders, isPart: isPart) { format in
      encoders.canRender(ResolvedRequest(self.request(for: asset, as: format), for: asset))
    }
  }

  func request(for asset: Asset, as format: OutputFormat) -> ImageRequest {
    var request = request
    request.format = format
    // Only WebP has animations: in another format, the client gets the first frame.
    if format != .webp { request.isAnimated = false }
    return request
  }

  private static func requestID(_ text: String?) throws(Problem) -> String? {
    guard let text else { return nil }
    guard PlainName.isValid(text) else {
      throw QueryReader.invalid(
        "requestID", "must be 1 to \(PlainName.maximumLength) of A-Z, a-z, 0-9, dot, dash and underscore")
    }
    return text
  }

  static func targetSize(_ text: String?) throws(Problem) -> TargetSize {
    guard let text, text != "max" else { return .maximum }
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { side in
      side.utf8.allSatisfy(HTTPGrammar.isDigit) ? Int(side) : nil
    }
    guard sides.count == 2, let width = sides[0], let height = sides[1],
      (1...TargetSize.maximumSide).contains(width), (1...TargetSize.maximumSide).contains(height)
    else {
      throw QueryReader.invalid(
        "targetSize", "must be max, or WxH in pixels with sides from 1 to \(TargetSize.maximumSide), such as 400x300")
    }
    return .size(PixelSize(width: width, height: height))
  }

  /// Seconds, rounded to microseconds.
  static func posterTime(_ text: String?) throws(Problem) -> Double? {
    guard let text else { return nil }
    let isPlain = text.utf8.allSatisfy { HTTPGrammar.isDigit($0) || $0 == UInt8(ascii: ".") }
    guard isPlain, let seconds = Double(text) else { throw invalidPosterTime }
    return try posterTime(seconds: seconds)
  }

  static func posterTime(seconds: Double) throws(Problem) -> Double {
    guard seconds >= 0, seconds <= maximumPosterTime else { throw invalidPosterTime }
    return (seconds * 1_000_000).rounded() / 1_000_000
  }

  /// A time in the form that ``posterTime(_:)`` reads. The description of a short time has an exponent.
  static func text(ofPosterTime seconds: Double) -> String {
    let microseconds = Int((seconds * 1_000_000).rounded())
    return "\(microseconds / 1_000_000).\((microseconds % 1_000_000).zeroPadded(6))"
  }

  static let invalidPosterTime = QueryReader.invalid(
    "posterTime", "must be seconds from 0 to \(Int(maximumPosterTime)), such as 1.5")

  /// A day.
  private static let maximumPosterTime = 86_400.0

  static func cropRect(_ text: String?) throws(Problem) -> UnitRect? {
    guard let text else { return nil }
    let values = text.split(separator: ",", omittingEmptySubsequences: false).map { decimal($0) }
    if values.count == 4, let x = values[0], let y = values[1], let width = values[2], let height = values[3] {
      return try cropRect(x, y, width, height)
    }
    throw invalidCrop
  }

  static func cropRect(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double
  ) throws(Problem) -> UnitRect {
    if x >= 0, y >= 0, width > 0, height > 0, x + width <= 1 + 1e-9, y + height <= 1 + 1e-9 {
      return UnitRect(x: x, y: y, width: width, height: height)
    }
    throw invalidCrop
  }

  static func cropAnchor(_ text: String?) throws(Problem) -> CropAnchor {
    switch text {
    case nil, "center": return .center
    case "auto": return .auto
    case .some(let text):
      let values = text.split(separator: ",", omittingEmptySubsequences: false).map { decimal($0) }
      guard values.count == 2, let x = values[0], let y = values[1], (0...1).contains(x), (0...1).contains(y) else {
        throw QueryReader.invalid("cropAnchor", "must be center, auto, or x,y, each from 0 to 1, such as 0.5,0.25")
      }
      return .point(UnitPoint(x: x, y: y))
    }
  }

  /// A decimal number, with an exponent if a program prints a small one so. `Double` reads hexadecimal numbers too.
  private static func decimal(_ text: Substring) -> Double? {
    let isDecimal = text.utf8.allSatisfy { HTTPGrammar.isDigit($0) || "+-.eE".utf8.contains($0) }
    return isDecimal ? Double(text) : nil
  }

  private static let invalidCrop = QueryReader.invalid(
    "normalizedCropRect", "must be x,y,width,height, each from 0 to 1, with an area and inside the unit square")
}
