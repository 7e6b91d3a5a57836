// GET /v1/assets/{localIdentifier}/image: from a parsed query to frames on their way.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

struct ImageRoute: Sendable {
  let library: any AssetSource
  let images: ImageManager
  let answers: AnswerCache
  let gatekeeper: Gatekeeper
  let maximumRanges: Int
  let logger: Logger

  /// Answers on the lookup queue: asset, version, conditions, then the image manager.
  func answer(
    _ identifier: LocalIdentifier, _ query: ImageQuery, _ request: HTTPRequest, from peer: Peer, _ reply: Reply
  ) throws(Problem) {
    // Before the asset: what changes after this is noticed by whoever looks at what is kept.
    let generation = library.generation
    let isLocal = gatekeeper.isLocal(request.head, from: peer)
    let asset = try asset(identifier, gatekeeper.principal(request.head, from: peer))
    if let version = query.version, version != asset.contentVersion {
      throw Problem(
        404, "version-gone", "That version is gone",
        detail: "The asset's contentVersion is another now; get the asset for it.", parameter: "v")
    }
    let acceptField = request.head.value(of: .accept)
    let accept = Accept(acceptField)
    let imageRequest = try query.request(for: asset, accept: accept)
    let form = DeliveryForm(query, accept: accept, hasAccept: acceptField != nil)
    let headers = ImageHeaders(asset: asset, query: query, request: imageRequest)
    let isCacheable = form == .single && imageRequest.deliveryMode != .fastFormat

    if isCacheable {
      switch Preconditions.evaluate(request.head, headers.validators) {
      case .proceed: break
      case .notModified: return reply.send(HTTPResponse(.notModified, headers.validation))
      case .failed: throw .preconditionFailed
      }
    }
    let requestID = reply.requestID
    if request.method == .head {
      return reply.send(HTTPResponse(.ok, headers.announcing(form, requestID: requestID)))
    }
    var wanted = imageRequest
    if form == .single && wanted.deliveryMode == .opportunistic { wanted.deliveryMode = .highQualityFormat }
    // From the person at this machine, who measures, and from nobody else (it costs a render).
    let isFresh = isLocal && request.head.list(.cacheControl, contains: "no-cache")
    let delivery = ImageDeliveryWriter(
      form: form, headers: headers, head: request.head, maximumRanges: maximumRanges, reply: reply, logger: logger
    ) { frame in
      guard isCacheable, !isFresh, let cached = frame.cached else { return }
      keep(cached, headers, reply, request.head, isLocal: isLocal, generation: generation)
    }
    let task = images.requestImage(for: asset, wanted, requestID: requestID, bypassesCaches: isFresh) {
      delivery.deliver($0)
    }
    reply.onClose { task.cancel() }
  }

  /// Prepares the answer for the next one who asks like this.
  private func keep(
    _ frame: CachedFrame, _ headers: ImageHeaders, _ reply: Reply, _ head: RequestHead, isLocal: Bool,
    generation: UInt64
  ) {
    guard head.method == .get else { return }
    // A page that may not read the answer is no reason to keep another one.
    if gatekeeper.origins.isConfigured, let origin = head.value(of: .origin), !gatekeeper.origins.allows(origin) {
      return
    }
    let frameAnswer = ImageFrame(frame, requestID: PreparedAnswer.placeholder)
    answers.keep(
      reply.complete(HTTPResponse(.ok, headers.single(frameAnswer), body: frame.bytes)),
      notModified: reply.complete(HTTPResponse(.notModified, headers.validation)), entityTag: headers.entityTag,
      frame: frame, for: head, isLocal: isLocal, variesByOrigin: gatekeeper.origins.isConfigured, generation: generation
    )
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
