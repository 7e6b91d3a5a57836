// The steps of an image request before its picture is looked for: the asset, the format, the form of the response, and
// a smaller encoding in its place.

import HTTPCore
import ImageService
import PhotoModel

extension ImageRoute {
  private static let conditions = HeaderNames(.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince)

  /// The asset as the requested version shows it. `nil`: its file is downloaded from the remote store, and then the
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
      guard error.isInCloud, query.allowsNetwork, !attempt.hasDownloaded,
        let file = try raws.file(of: found, attempt.principal)
      else { throw error }
      download(file, thenAnswer: attempt)
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
    let formats = try query.formats(for: asset, accept: accept, encoders: upgrades.automaticEncoders)
    if let listed = formats.preparedSmaller(hasAlpha: asset.hasAlpha) {
      listedFormats.clientListed(listed, hasAlpha: asset.hasAlpha, owner: attempt.principal.name)
    }
    var request = try query.request(for: asset, as: formats.first)
    let form = query.form(accept, hasAccept: acceptField != nil)
    if form == .single && request.deliveryMode == .opportunistic {
      request.deliveryMode = .highQualityFormat
    }
    let awaitsSaliency = request.awaitsSaliency(of: asset)
    let wanted = ResolvedRequest(request, for: asset)
    let headers = ImageHeaders(
      wanted, isAutomatic: query.hasAutomaticFormat, links: try query.links(for: asset),
      isVersioned: query.version != nil && !awaitsSaliency,
      isPublic: allowsPublicCaching && attempt.caller.sendsNoCredential, acceptsRanges: maximumRanges > 0)
    var image = NegotiatedImage(
      request: request, form: form, wanted: wanted, headers: headers, context: context(attempt),
      hasConditions: !head.names.isDisjoint(with: Self.conditions), awaitsSaliency: awaitsSaliency)
    if image.isFromCaches {
      image.upgrade = smallerEncodings.replacement(formats, request, for: asset, replacing: wanted)
    }
    return image
  }

  private func context(_ attempt: Attempt) -> ImageManager.RequestContext {
    let (query, head, principal) = (attempt.query, attempt.head, attempt.principal)
    var context = ImageManager.RequestContext(
      requestID: query.requestID ?? attempt.reply.requestID, caller: principal.name)
    context.parameters = query.parameters
    context.allowsNetwork = query.allowsNetwork
    context.priority = ImagePriority(head)
    // Only administrators (including the local one) may bypass the caches, for measurements: it costs a render.
    context.bypassesCaches = principal.may(.admin) && head.list(.cacheControl, contains: "no-cache")
    return context
  }

  /// The image in the smaller encoding that has replaced its first response; unchanged if there is none.
  func replacedBySmaller(_ image: NegotiatedImage, _ head: RequestHead) -> NegotiatedImage {
    let tags = [head.value(of: .ifNoneMatch), head.value(of: .ifMatch)].compactMap(\.self)
    guard let smaller = image.upgrade,
      let headers = smallerEncodings.headers(of: smaller, replacing: image.headers, for: tags)
    else { return image }
    var image = image
    image.wanted = smaller
    image.headers = headers
    image.upgrade = nil
    return image
  }
}
