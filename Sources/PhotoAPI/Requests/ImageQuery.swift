// The query of an image request becomes an ImageRequest here, or a 400 or 406 and nothing further.

import HTTPCore
import ImageService
import PhotoModel

/// What the query of `GET /v1/assets/{id}/image` says, before the asset is known.
struct ImageQuery: Sendable {
  enum Format: String, CaseIterable { case auto, jpeg, png }
  enum Multipart: String, CaseIterable { case mixed, replace }
  enum ContentModeWord: String, CaseIterable { case aspectFit, aspectFill, `default` }

  let format: Format
  let multipart: Multipart?
  /// The content version that the caller wants, and no other.
  let version: ContentVersion?
  /// The client's own name for the request.
  let requestID: String?
  /// What was asked, as it was asked.
  let parameters: [String: String]
  /// Everything but the format.
  private let request: ImageRequest

  init(_ target: RequestTarget) throws(Problem) {
    var query = try QueryReader(target)
    let targetSize = try Self.targetSize(query.text("targetSize"))
    let contentMode = try query.word("contentMode", default: ContentModeWord.aspectFit)
    let resizeMode = try query.word("resizeMode", default: ResizeMode.exact)
    let deliveryMode = try query.word("deliveryMode", default: DeliveryMode.highQualityFormat)
    let crop = try Self.cropRect(query.text("normalizedCropRect"))
    let imageVersion = try query.word("version", default: ImageVersion.current)
    // Every original is here, so there is nothing to fetch and nothing to allow.
    _ = try query.flag("networkAccessAllowed")
    let allowsSecondary = try query.flag("allowSecondaryDegradedImage")
    requestID = try Self.requestID(query.text("requestID"))
    format = try query.word("format", default: .auto)
    let quality = try query.number("quality", in: 1...100)
    let colorSpace = try query.word("colorSpace", default: ColorSpace.preserve)
    multipart = try query.text("multipart").map { text throws(Problem) in
      guard let form = Multipart(rawValue: text) else { throw QueryReader.invalid("multipart", "is mixed or replace") }
      return form
    }
    version = query.text("v").map(ContentVersion.init)
    try query.finish()
    parameters = query.values
    if crop != nil && resizeMode != .exact {
      throw QueryReader.invalid("normalizedCropRect", "needs resizeMode=exact")
    }
    request = ImageRequest(
      targetSize: targetSize, contentMode: contentMode == .aspectFill ? .aspectFill : .aspectFit,
      resizeMode: resizeMode, deliveryMode: deliveryMode, version: imageVersion, normalizedCropRect: crop,
      quality: quality, colorSpace: colorSpace, allowsSecondaryDegradedImage: allowsSecondary)
  }

  /// - Parameters:
  ///   - request: everything but the format.
  ///   - parameters: as the query of one picture would say them.
  init(_ request: ImageRequest, format: Format, parameters: [String: String]) throws(Problem) {
    if request.normalizedCropRect != nil && request.resizeMode != .exact {
      throw QueryReader.invalid("normalizedCropRect", "needs resizeMode=exact")
    }
    self.format = format
    self.request = request
    self.parameters = parameters
    multipart = nil
    version = nil
    requestID = nil
  }

  var deliveryMode: DeliveryMode { request.deliveryMode }
  /// Which version of an adjusted asset is meant.
  var imageVersion: ImageVersion { request.version }

  /// What a caching manager prepares for it.
  var preheatOptions: PreheatOptions {
    let named: OutputFormat? =
      switch format {
      case .auto: nil
      case .jpeg: .jpeg
      case .png: .png
      }
    return PreheatOptions(request, format: named)
  }

  /// The complete request for an asset: `auto` is decided by what the client accepts and what the asset needs.
  func request(for asset: Asset, accept: Accept) throws(Problem) -> ImageRequest {
    var request = request
    switch format {
    case .jpeg: request.format = .jpeg
    case .png: request.format = .png
    case .auto:
      // An Accept that speaks of multipart alone says nothing of what is in the parts.
      let isSilent =
        !accept.namesFamily("image") && accept.quality(of: "image/x") == 0 && accept.namesFamily("multipart")
      func quality(_ format: OutputFormat) -> Int { isSilent ? 1000 : accept.quality(of: format.mediaType) }
      // In the order of our preference, which decides between equals: JPEG is smaller, but has no alpha to give.
      let candidates: [OutputFormat] = asset.hasAlpha ? [.png] : [.jpeg, .png]
      guard let best = candidates.filter({ quality($0) > 0 }).max(by: { quality($0) < quality($1) }) else {
        let names = candidates.map(\.mediaType).joined(separator: " or ")
        throw Problem(
          406, "not-acceptable", "Not acceptable",
          detail: "This picture can be had as \(names), and the request's Accept allows neither; format= overrules it."
            .replacing("neither", with: candidates.count == 1 ? "no such thing" : "neither"))
      }
      request.format = candidates.first { quality($0) == quality(best) } ?? best
    }
    return request
  }

  private static func requestID(_ text: String?) throws(Problem) -> String? {
    guard let text else { return nil }
    guard RequestName.isValid(text) else {
      throw QueryReader.invalid(
        "requestID", "is 1 to \(RequestName.maximumLength) of A-Z, a-z, 0-9, dot, dash and underscore")
    }
    return text
  }

  static func targetSize(_ text: String?) throws(Problem) -> TargetSize {
    guard let text, text != "max" else { return .maximum }
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { side in
      side.utf8.allSatisfy(Text.isDigit) ? Int(side) : nil
    }
    guard sides.count == 2, let width = sides[0], let height = sides[1],
      (1...TargetSize.maximumSide).contains(width), (1...TargetSize.maximumSide).contains(height)
    else {
      throw QueryReader.invalid(
        "targetSize", "is max, or WxH in pixels with sides from 1 to \(TargetSize.maximumSide), such as 400x300")
    }
    return .size(PixelSize(width: width, height: height))
  }

  static func cropRect(_ text: String?) throws(Problem) -> UnitRect? {
    guard let text else { return nil }
    let values = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
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

  private static let invalidCrop = QueryReader.invalid(
    "normalizedCropRect", "is x,y,width,height, each from 0 to 1, with an area and inside the unit square")
}
