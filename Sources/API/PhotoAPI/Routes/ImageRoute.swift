// GET /v1/assets/{localIdentifier}/image: looks the asset up, starts an image task and streams its frames. Does not
// render.

import AccessControl
import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel

struct ImageRoute: Sendable {
  private static let conditions = HeaderNames(.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince)

  let queries: QueryService
  let images: ImageManager
  let upgrades: EncodingUpgrades
  let presets: ImagePresets
  let raws: RAWOriginals
  let responseCache: ResponseCache
  let fetches: OriginalFetches
  let fullResolution: FullResolutionFiles
  let sender: OriginalSender
  /// Whether shared caches may store responses that need no credential.
  let allowsPublicCaching: Bool
  let maximumRanges: Int
  let logger: Logger

  /// Rejects a malformed query at once; the rest runs on the lookup queue.
  func answer(_ identifier: LocalIdentifier, _ exchange: RoutedRequest) throws(Problem) {
    try answer(identifier, ImageQuery(exchange.target, presets: presets), exchange)
  }

  /// Looks the asset up and responds on the lookup queue, or where the response may be a file, on the queue that waits
  /// for the disk.
  func answer(_ identifier: LocalIdentifier, _ query: some PictureQuery, _ exchange: RoutedRequest) throws(Problem) {
    let caller = try exchange.authorizedCaller
    let opensFiles = query.imageVersion == .original
    try exchange.run(on: opensFiles ? sender.files : queries.lookups) { () throws(Problem) in
      try answer(identifier, query, exchange, caller, mayWaitForDisk: opensFiles)
    }
  }

  /// Asset, version, conditions, then the image manager.
  ///
  /// - Parameters:
  ///   - mayWaitForDisk: runs on the queue for that. Otherwise this runs again there, if the response may be a file.
  ///   - hasFetched: this runs again, after a file that had to be read was fetched from the remote store.
  private func answer(
    _ identifier: LocalIdentifier, _ query: some PictureQuery, _ exchange: RoutedRequest, _ caller: Caller,
    mayWaitForDisk: Bool, hasFetched: Bool = false
  ) throws(Problem) {
    let (request, reply) = (exchange.request, exchange.reply)
    // Read before the asset is looked up: a later change of the library then makes the stored response invalid.
    let principal = caller.principal
    // A signed URL also depends on its issuer's collections, and `original` on the other files of the asset. An asset
    // that leaves the collections of a limited caller counts as changed.
    let dependsOnAssetOnly = caller.condition == nil && query.imageVersion != .original
    let generation = ResponseCache.Generation(
      asset: dependsOnAssetOnly
        ? queries.library.generation(of: identifier) : .library(queries.library.generation),
      rules: reply.rules.number)
    let found = try queries.asset(identifier, principal)
    if let version = query.version, version != found.contentVersion {
      throw .versionGone
    }
    let asset: Asset
    do throws(Problem) {
      asset = try raws.asset(found, query.imageVersion, principal)
    } catch {
      guard error.isInCloud, query.allowsNetwork, !hasFetched, let file = try raws.file(of: found, principal) else {
        throw error
      }
      return fetches.fetch(file, for: reply, then: sender.files) { () throws(Problem) in
        try answer(identifier, query, exchange, caller, mayWaitForDisk: true, hasFetched: true)
      }
    }
    if let problem = Problem(unrenderable: asset) { throw problem }
    let acceptField = request.head.value(of: .accept)
    let accept = Accept(acceptField)
    let formats = try query.formats(for: asset, accept: accept, encoders: upgrades.formats)
    if let listed = formats.preparedSmaller(hasAlpha: asset.hasAlpha) {
      upgrades.clientListed(listed, hasAlpha: asset.hasAlpha, owner: principal.name)
    }
    var imageRequest = try query.request(for: asset, as: formats.first)
    let form = query.form(accept, hasAccept: acceptField != nil)
    if form == .single && imageRequest.deliveryMode == .opportunistic {
      imageRequest.deliveryMode = .highQualityFormat
    }
    var wanted = ResolvedRequest(imageRequest, for: asset)
    var headers = ImageHeaders(
      wanted, isNegotiated: query.isNegotiated, isAutomatic: query.hasAutomaticFormat,
      links: try query.links(for: asset),
      isVersioned: query.version != nil && !imageRequest.awaitsSaliency(of: asset),
      isPublic: allowsPublicCaching && caller.sendsNoCredential, acceptsRanges: maximumRanges > 0)
    let isCacheable = form == .single && imageRequest.deliveryMode != .fastFormat

    var context = ImageManager.RequestContext(requestID: query.requestID ?? reply.requestID, owner: principal.name)
    context.parameters = query.parameters
    context.allowsNetwork = query.allowsNetwork
    context.priority = ImagePriority(request.head)
    // Only administrators (including the local one) may bypass the caches, for measurements: it costs a render.
    context.bypassesCaches = principal.may(.admin) && request.head.list(.cacheControl, contains: "no-cache")
    let isFromCaches = isCacheable && !context.bypassesCaches

    let isConditional = isCacheable && !request.head.names.isDisjoint(with: Self.conditions)
    var upgrade = isFromCaches ? smaller(formats, imageRequest, for: asset, replacing: wanted) : nil
    if let smaller = upgrade, headers.isReplaced(for: request.head), let frame = upgrades.frame(smaller.key),
      // Only a transcoded file with the same pixels may replace the original file.
      !FullResolutionFiles.mayServe(wanted) || frame.derivation == .transcoded(.file)
    {
      wanted = smaller
      headers = headers.upgraded(to: smaller)
      upgrade = nil
    }
    let matching = isConditional ? headers.conditionalDerivation(request.head) : nil
    // A request with its own identifier can be watched and cancelled, which a file can't. The issuer of a signed URL
    // grants a picture, not a file with its metadata.
    let mayBeFile =
      isFromCaches && query.requestID == nil && caller.credential != .signature
      && FullResolutionFiles.mayServe(wanted)
    if mayBeFile && !mayWaitForDisk {
      return try exchange.run(on: sender.files) { () throws(Problem) in
        try answer(identifier, query, exchange, caller, mayWaitForDisk: true, hasFetched: hasFetched)
      }
    }
    var original = mayBeFile && matching == nil ? fullResolution.file(for: wanted) : nil
    if isConditional {
      let derivation = matching ?? (original == nil ? images.expectedDerivation(of: wanted) : .file)
      switch Preconditions.evaluate(request.head, headers.validators(derivation)) {
      case .proceed: break
      case .notModified: return reply.send(HTTPResponse(.notModified, headers.validatorFields(derivation)))
      case .failed: throw .preconditionFailed
      }
    }
    if mayBeFile, matching != nil { original = fullResolution.file(for: wanted) }
    if let original {
      if let upgrade, request.method == .get {
        upgrades.fileIsSent(upgrade, byteCount: Int(clamping: original.opened.source.size))
      }
      return try sender.send(
        original.opened, 0..<original.opened.source.size, type: headers.mediaType,
        headers.fileFields(requestID: context.requestID, isHighDynamicRange: original.hasGainMap),
        headers.validators(.file), request.head, reply)
    }
    if mayBeFile, query.allowsNetwork, !hasFetched, request.method == .get,
      queries.originals.isInCloud(wanted.asset.original), images.cachedFrame(wanted.key) == nil
    {
      // The response is probably the file itself, but only its bytes can tell: download it first.
      return fetches.fetch(wanted.asset.original, for: reply, then: sender.files) { () throws(Problem) in
        try answer(identifier, query, exchange, caller, mayWaitForDisk: true, hasFetched: true)
      }
    }
    // What stands in for an original in the cloud is not known before it is made: so this HEAD is answered as a GET.
    let mayBeStandIn = !query.allowsNetwork && queries.originals.isInCloud(wanted.asset.original)
    if request.method == .head && !mayBeStandIn {
      if isFromCaches, let frame = images.cachedFrame(headers.key)?.withRequestID(context.requestID) {
        return reply.send(HTTPResponse(.ok, headers.single(frame), body: frame.bytes))
      }
      let derivation = isFromCaches ? images.expectedDerivation(of: wanted) : .original
      return reply.send(HTTPResponse(.ok, headers.headRequestFields(form, derivation, requestID: context.requestID)))
    }
    // A prepared response hides later requests, so the first one of a frame that may be replaced has none. The response
    // cache does not notice a new placeholder.
    let isSettled = !imageRequest.awaitsSaliency(of: asset) && (upgrade.map { isUpgrading(wanted, to: $0) } ?? true)
    let isFinalFrame = form == .single ? isFromCaches : !context.bypassesCaches
    let storesResponse =
      isFinalFrame && imageRequest.deliveryMode != .fastFormat && query.requestID == nil && isSettled
    let delivery = ImageDeliveryWriter(
      form: form, headers: headers, head: request.head, maximumRanges: maximumRanges, requestID: context.requestID,
      reply: reply, logger: logger
    ) { [headers, upgrade] frame in
      guard storesResponse, let cached = frame.cached else { return }
      storeResponse(cached, form, headers, reply, request.head, caller, generation: generation)
      // The upgrade may have ended since the check above.
      if let upgrade, !upgrades.isPendingOrRefused(upgrade.key) { responseCache.framesWereEvicted([cached]) }
    }
    let task = images.requestImage(wanted, context) { delivery.deliver($0) }
    reply.onClose { [images] in images.cancel(task) }
  }

  /// The request for a smaller encoding that may replace the first response; `nil` if there is none.
  private func smaller(
    _ formats: FormatChoice, _ request: ImageRequest, for asset: Asset, replacing wanted: ResolvedRequest
  ) -> ResolvedRequest? {
    // If the response would be the original file, only a losslessly transcoded JPEG may replace it.
    guard let format = formats.smaller, !mayLoseGainMap(wanted),
      !FullResolutionFiles.mayServe(wanted) || wanted.request.format == .jpeg && format == .jxl
    else { return nil }
    var request = request
    request.format = format
    return ResolvedRequest(request, for: asset)
  }

  /// Whether a frame in another format than JPEG would lose a gain map. Until the frame has been made, only the catalogue
  /// says whether there is one.
  private func mayLoseGainMap(_ wanted: ResolvedRequest) -> Bool {
    guard wanted.request.dynamicRange == .preserve else { return false }
    return images.cachedFrame(wanted.key)?.result.isHighDynamicRange ?? wanted.asset.mediaSubtypes.contains(.photoHDR)
  }

  /// Whether an upgrade of the frame runs, or has found no smaller encoding. Requests the upgrade if the frame is
  /// cached, because this is then not the first request for the frame.
  private func isUpgrading(_ wanted: ResolvedRequest, to smaller: ResolvedRequest) -> Bool {
    // The smaller frame was made after this request began: the next request gets it.
    if upgrades.isMade(smaller.key) { return false }
    guard let current = images.cachedFrame(wanted.key)?.cached else { return false }
    return upgrades.request(smaller, replacing: current)
  }

  /// Stores a prepared response for later equal requests.
  private func storeResponse(
    _ frame: CachedFrame, _ form: DeliveryForm, _ headers: ImageHeaders, _ reply: Reply, _ head: RequestHead,
    _ caller: Caller, generation: ResponseCache.Generation
  ) {
    guard head.method == .get, let access = caller.accessClass else { return }
    // A response for a page that may not read it must not replace another response.
    let cors = reply.rules.cors
    if cors.isConfigured, let origin = head.value(of: .origin), cors.reach(of: origin) == .none {
      return
    }
    guard let (whole, notModified) = prepared(frame, form, headers, reply) else { return }
    responseCache.store(
      whole, notModified: notModified, entityTag: headers.validators(frame.derivation).entityTag ?? "",
      frame: frame, for: head, access: access, expires: caller.urlExpiry, variesByOrigin: cors.isConfigured,
      generation: generation, isUpgraded: headers.isUpgraded)
    images.trimFrames()
  }

  /// The response with a final frame, and the 304 if there is one.
  private func prepared(
    _ cached: CachedFrame, _ form: DeliveryForm, _ headers: ImageHeaders, _ reply: Reply
  ) -> (whole: PreparedResponse, notModified: PreparedResponse?)? {
    let placeholder = PreparedResponse.requestIDPlaceholder
    let frame = ImageFrame(cached, requestID: placeholder)
    guard form != .single else {
      let fields = headers.validatorFields(cached.derivation)
      guard
        let whole = PreparedResponse(
          reply.addingCommonFields(to: HTTPResponse(.ok, headers.single(frame), body: cached.bytes)),
          makeMemoryOwner: { cached.hold() }),
        let notModified = PreparedResponse(reply.addingCommonFields(to: HTTPResponse(.notModified, fields)))
      else { return nil }
      return (whole, notModified)
    }
    // While the frame is cached, it is the first and the only part. No picture contains its random boundary.
    let writer = MultipartWriter(boundary: Boundary.make())
    let fields = headers.multipart(form, boundary: writer.boundary, requestID: placeholder)
    let whole = PreparedResponse(
      chunked: reply.addingCommonFields(to: HTTPResponse(.ok, fields)).head,
      opening: writer.opening + writer.partHead(headers.part(frame, isFinal: true)), body: cached.bytes,
      closing: writer.closing, makeMemoryOwner: { cached.hold() })
    return whole.map { ($0, nil) }
  }
}
