// GET /v1/assets/{localIdentifier}/image: from a parsed query to frames on their way.

import AccessControl
import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

struct ImageRoute: Sendable {
  private static let conditions = HeaderNames(.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince)

  let library: any AssetSource
  let images: ImageManager
  let answers: AnswerCache
  let origins: CrossOrigin
  /// Whether shared caches may keep what anybody may see.
  let allowsPublic: Bool
  let maximumRanges: Int
  let logger: Logger

  /// Answers on the lookup queue: asset, version, conditions, then the image manager.
  func answer(
    _ identifier: LocalIdentifier, _ query: ImageQuery, _ request: HTTPRequest, _ caller: Caller, _ reply: Reply
  ) throws(Problem) {
    // Before the asset: what changes after this is noticed by whoever looks at what is kept.
    let generation = library.generation
    let principal = caller.principal
    let asset = try asset(identifier, principal)
    if let version = query.version, version != asset.contentVersion {
      throw Problem(
        404, "version-gone", "That version is gone",
        detail: "The asset's contentVersion is another now; get the asset for it.", parameter: "v")
    }
    if let problem = Problem(showing: asset, query.imageVersion) { throw problem }
    let acceptField = request.head.value(of: .accept)
    let accept = Accept(acceptField)
    let imageRequest = try query.request(for: asset, accept: accept)
    let form = DeliveryForm(query, accept: accept, hasAccept: acceptField != nil)
    let headers = ImageHeaders(
      asset: asset, query: query, request: imageRequest, isPublic: allowsPublic && caller.isAnybody)
    let isCacheable = form == .single && imageRequest.deliveryMode != .fastFormat

    if isCacheable, !request.head.names.isDisjoint(with: Self.conditions) {
      let derivation =
        headers.namedDerivation(request.head) ?? images.expectedDerivation(of: asset, imageRequest)
      switch Preconditions.evaluate(request.head, headers.validators(derivation)) {
      case .proceed: break
      case .notModified: return reply.send(HTTPResponse(.notModified, headers.validation(derivation)))
      case .failed: throw .preconditionFailed
      }
    }
    var wanted = imageRequest
    if form == .single && wanted.deliveryMode == .opportunistic { wanted.deliveryMode = .highQualityFormat }
    var asker = ImageManager.Caller(requestID: query.requestID ?? reply.requestID, owner: principal.name)
    asker.parameters = query.parameters
    asker.priority = ImagePriority(request.head)
    // From an administrator or the person at this machine, who measure, and from nobody else (it costs a render).
    asker.bypassesCaches = principal.may(.admin) && request.head.list(.cacheControl, contains: "no-cache")
    let isFromCaches = isCacheable && !asker.bypassesCaches
    if request.method == .head {
      if isFromCaches, let frame = images.keptFrame(headers.key)?.addressed(to: asker.requestID) {
        return reply.send(HTTPResponse(.ok, headers.single(frame), body: frame.bytes))
      }
      let derivation = isFromCaches ? images.expectedDerivation(of: asset, wanted) : .original
      return reply.send(HTTPResponse(.ok, headers.announcing(form, derivation, requestID: asker.requestID)))
    }
    let isKept = isFromCaches && query.requestID == nil
    let delivery = ImageDeliveryWriter(
      form: form, headers: headers, head: request.head, maximumRanges: maximumRanges, requestID: asker.requestID,
      reply: reply, logger: logger
    ) { frame in
      guard isKept, let cached = frame.cached else { return }
      keep(cached, headers, reply, request.head, caller, generation: generation)
    }
    let task = images.requestImage(for: asset, wanted, asker) { delivery.deliver($0) }
    reply.onClose { [images] in images.cancel(task) }
  }

  /// Prepares the answer for the next one who asks like this.
  private func keep(
    _ frame: CachedFrame, _ headers: ImageHeaders, _ reply: Reply, _ head: RequestHead, _ caller: Caller,
    generation: UInt64
  ) {
    guard head.method == .get, let access = caller.accessClass else { return }
    // A page that may not read the answer is no reason to keep another one.
    if origins.isConfigured, let origin = head.value(of: .origin), !origins.allows(origin) {
      return
    }
    let frameAnswer = ImageFrame(frame, requestID: PreparedAnswer.placeholder)
    let validation = headers.validation(frame.derivation)
    answers.keep(
      reply.complete(HTTPResponse(.ok, headers.single(frameAnswer), body: frame.bytes)),
      notModified: reply.complete(HTTPResponse(.notModified, validation)),
      entityTag: headers.validators(frame.derivation).entityTag ?? "",
      frame: frame, for: head, access: access, expires: caller.urlEnds, variesByOrigin: origins.isConfigured,
      generation: generation)
    images.trimFrames()
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
