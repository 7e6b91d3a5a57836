// GET /v1/assets/{localIdentifier}/image: from a parsed query to frames on their way.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

struct ImageRoute: Sendable {
  let library: any AssetSource
  let images: ImageManager
  let logger: Logger

  /// Answers on the lookup queue: asset, version, conditions, then the image manager.
  func answer(
    _ identifier: LocalIdentifier, _ query: ImageQuery, _ request: HTTPRequest, _ principal: Principal,
    _ responder: Responder
  ) throws(Problem) {
    let asset = try asset(identifier, principal)
    if let version = query.version, version != asset.contentVersion {
      throw Problem(
        404, "version-gone", "That version is gone",
        detail: "The asset's contentVersion is another now; get the asset for it.", parameter: "v")
    }
    let acceptField = request.head.value(of: "accept")
    let accept = Accept(acceptField)
    let imageRequest = try query.request(for: asset, accept: accept)
    let form = DeliveryForm(query, accept: accept, hasAccept: acceptField != nil)
    let headers = ImageHeaders(asset: asset, query: query, request: imageRequest)
    let isCacheable = form == .single && imageRequest.deliveryMode != .fastFormat

    if isCacheable {
      switch Preconditions.evaluate(request.head, headers.validators) {
      case .proceed: break
      case .notModified: return responder.send(HTTPResponse(.notModified, headers.validation))
      case .failed: throw .preconditionFailed
      }
    }
    let requestID = RequestID.make()
    if request.method == .head {
      return responder.send(HTTPResponse(.ok, headers.announcing(form, requestID: requestID)))
    }
    var wanted = imageRequest
    if form == .single && wanted.deliveryMode == .opportunistic { wanted.deliveryMode = .highQualityFormat }
    let delivery = ImageDeliveryWriter(form: form, headers: headers, responder: responder, logger: logger)
    let task = images.requestImage(for: asset, wanted, requestID: requestID) { delivery.deliver($0) }
    responder.onClose { task.cancel() }
  }

  private func asset(_ identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> Asset {
    let asset: Asset?
    do throws(AssetSourceError) {
      asset = try library.asset(identifier, for: principal)
    } catch {
      logger.error("the catalogue can't be read", metadata: ["error": "\(error)"])
      throw Problem(error)
    }
    guard let asset else { throw .assetNotFound }
    return asset
  }
}

/// The identifier of a request: 128 random bits in hexadecimal.
enum RequestID {
  static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let word = String(UInt64.random(in: 0 ... .max, using: &generator), radix: 16)
      return String(repeating: "0", count: 16 - word.utf8.count) + word
    }
    .joined()
  }
}
