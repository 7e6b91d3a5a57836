// The steps of an image request before its picture is looked for: the asset, the format, the form of the response, and
// a smaller encoding in its place.

import HTTPCore
import ImageService
import PhotoModel

extension ImageRoute {
  private static let conditions = HeaderNames(.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince)

  /// The asset as the requested version shows it. `nil`: its file is fetched from the remote store, and then the
  /// request is answered.
  func shownAsset(_ attempt: Attempt) throws(Problem) -> Asset? {
    let query = attempt.query
    let found = try queries.asset(attempt.identifier, attempt.principal)
    if let version = query.version, version != found.contentVersion {
      throw .versionGone
    }
    let asset: Asset
    do throws(Problem) {
      asset = try raws.asset(found, query.imageVersion, attempt.principal)
    } catch {
      guard error.isInCloud, query.allowsNetwork, !attempt.hasFetched,
        let file = try raws.file(of: found, attempt.principal)
      else { throw error }
      fetch(file, thenAnswer: attempt)
      return nil
    }
    if let problem = Problem(unrenderable: asset) { throw problem }
    return asset
  }

  /// Chooses the format and the form of the response.
  func negotiate(_ asset: Asset, _ attempt: Attempt) throws(Problem) -> NegotiatedImage {
    let (query, head) = (attempt.query, attempt.head)
    let acceptField = head.value(of: .accept)
    let accept = Accept(acceptField)
    let formats = try query.formats(for: asset, accept: accept, encoders: upgrades.formats)
    if let listed = formats.preparedSmaller(hasAlpha: asset.hasAlpha) {
      upgrades.clientListed(listed, hasAlpha: asset.hasAlpha, owner: attempt.principal.name)
    }
    var request = try query.request(for: asset, as: formats.first)
    let form = query.form(accept, hasAccept: acceptField != nil)
    if form == .single && request.deliveryMode == .opportunistic {
      request.deliveryMode = .highQualityFormat
    }
    let awaitsSaliency = request.awaitsSaliency(of: asset)
    let wanted = ResolvedRequest(request, for: asset)
    let headers = ImageHeaders(
      wanted, isNegotiated: query.isNegotiated, isAutomatic: query.hasAutomaticFormat,
      links: try query.links(for: asset), isVersioned: query.version != nil && !awaitsSaliency,
      isPublic: allowsPublicCaching && attempt.caller.sendsNoCredential, acceptsRanges: maximumRanges > 0)
    var image = NegotiatedImage(
      request: request, form: form, wanted: wanted, headers: headers, context: context(attempt),
      hasConditions: !head.names.isDisjoint(with: Self.conditions), awaitsSaliency: awaitsSaliency)
    if image.isFromCaches { image.upgrade = smaller(formats, request, for: asset, replacing: wanted) }
    return image
  }

  private func context(_ attempt: Attempt) -> ImageManager.RequestContext {
    let (query, head, principal) = (attempt.query, attempt.head, attempt.principal)
    var context = ImageManager.RequestContext(
      requestID: query.requestID ?? attempt.reply.requestID, owner: principal.name)
    context.parameters = query.parameters
    context.allowsNetwork = query.allowsNetwork
    context.priority = ImagePriority(head)
    // Only administrators (including the local one) may bypass the caches, for measurements: it costs a render.
    context.bypassesCaches = principal.may(.admin) && head.list(.cacheControl, contains: "no-cache")
    return context
  }

  // MARK: Smaller encodings

  /// The image in the smaller encoding that has replaced its first response; unchanged if there is none.
  func replacedBySmaller(_ image: NegotiatedImage, _ head: RequestHead) -> NegotiatedImage {
    guard let smaller = image.upgrade, image.headers.isReplaced(for: head), let frame = upgrades.frame(smaller.key),
      // Only a transcoded file with the same pixels may replace the original file.
      !FullResolutionFiles.mayServe(image.wanted) || frame.derivation == .transcoded(.file)
    else { return image }
    var image = image
    image.wanted = smaller
    image.headers = image.headers.upgraded(to: smaller)
    image.upgrade = nil
    return image
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

  /// Whether a frame in another format than JPEG would lose a gain map. Until the frame has been made, only the
  /// catalogue says whether there is one.
  private func mayLoseGainMap(_ wanted: ResolvedRequest) -> Bool {
    guard wanted.request.dynamicRange == .preserve else { return false }
    return images.cachedFrame(wanted.key)?.result.isHDR ?? wanted.asset.mediaSubtypes.contains(.photoHDR)
  }

  /// Whether an upgrade of the frame runs, or has found no smaller encoding. Requests the upgrade if the frame is
  /// cached, because this is then not the first request for the frame.
  func isUpgrading(_ wanted: ResolvedRequest, to smaller: ResolvedRequest) -> Bool {
    // The smaller frame was made after this request began: the next request gets it.
    if upgrades.isMade(smaller.key) { return false }
    guard let current = images.cachedFrame(wanted.key)?.cached else { return false }
    return upgrades.request(smaller, replacing: current)
  }
}
