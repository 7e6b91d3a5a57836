// The data of an adjusted picture: a render at its full size. It is made once: the frame caches keep it in memory and on
// disk, and a render repeats byte for byte, so ranges of one ETag always fit together.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

struct FullSizePhotos: Sendable {
  /// Higher than for a picture on a screen, because this one may be edited again.
  private static let quality = 95

  let images: ImageManager
  let maximumRanges: Int
  let logger: Logger

  static func format(of asset: Asset) -> OutputFormat { asset.hasAlpha ? .png : .jpeg }

  static func uniformTypeIdentifier(of asset: Asset) -> String {
    format(of: asset) == .png ? "public.png" : "public.jpeg"
  }

  /// The original's name with the extension of the render.
  static func filename(of asset: Asset) -> String {
    let name = asset.original.displayName
    let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
    return (stem.isEmpty ? name : String(stem)) + (format(of: asset) == .png ? ".png" : ".jpg")
  }

  /// Sends the picture, or ranges of it, when it is ready.
  func send(
    _ asset: Asset, isDownload: Bool, isVersioned: Bool, allowsNetwork: Bool, _ request: HTTPRequest,
    _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    if let problem = Problem(unrenderable: asset) { throw problem }
    let format = Self.format(of: asset)
    var imageRequest = ImageRequest(format: format, quality: format == .jpeg ? Self.quality : nil)
    imageRequest.dynamicRange = .preserve
    let wanted = ResolvedRequest(imageRequest, for: asset)
    let headers = ImageHeaders(
      wanted, isNegotiated: false, isAutomatic: false, isVersioned: isVersioned, isPublic: false)
    let derivation = headers.conditionalDerivation(request.head) ?? images.expectedDerivation(of: wanted)
    switch Preconditions.evaluate(request.head, headers.validators(derivation)) {
    case .proceed: break
    case .notModified: return reply.send(HTTPResponse(.notModified, headers.validatorFields(derivation)))
    case .failed: throw .preconditionFailed
    }
    let fields: [(name: String, value: String)] = [
      ("Content-Type", format.mediaType), ("Accept-Ranges", "bytes"),
      (
        "Content-Disposition",
        ContentDisposition.value(isDownload ? .attachment : .inline, name: Self.filename(of: asset))
      ), ("Image-Result", "orientation=1, uti=\"\(Self.uniformTypeIdentifier(of: asset))\""),
      ("X-Content-Type-Options", "nosniff"),
    ]
    if request.method == .head {
      return reply.send(HTTPResponse(.ok, headers.validatorFields(derivation) + fields))
    }
    var context = ImageManager.RequestContext(requestID: reply.requestID, owner: principal.name)
    context.priority = ImagePriority(request.head)
    context.allowsNetwork = allowsNetwork
    let (head, maximumRanges) = (request.head, maximumRanges)
    let task = images.requestImage(wanted, context) { [logger] delivery in
      switch delivery {
      case .progress, .degraded: break
      case .failed(let error):
        let problem = Problem(error)
        if problem.isServerFailure { reply.logFailure("image failed", error, to: logger) }
        reply.send(problem.response)
      // A smaller picture stands in for an image, not for data.
      case .final(let frame) where frame.result.isInCloud: reply.send(Problem(ImageServiceError.inCloud).response)
      case .final(let frame):
        let whole = HTTPResponse(
          .ok, headers.validatorFields(frame.derivation) + fields, body: frame.bytes, owner: frame.bytesOwner)
        reply.send(
          whole.applyingByteRanges(
            for: head, validators: headers.validators(frame.derivation), limit: maximumRanges,
            boundary: Boundary.make,
            unsatisfiable: { Problem.rangeNotSatisfiable(size: frame.bytes.count).response }))
      }
    }
    reply.onClose { [images] in images.cancel(task) }
  }
}
