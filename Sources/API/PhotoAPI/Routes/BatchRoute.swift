// POST /v1/images: many renditions in one response, in the order in which they become ready. Reads the request and
// looks up the assets; `BatchDelivery` writes the parts.

import HTTPCore
import ImageService
import Logging
import PhotoModel
import Primitives

struct BatchRoute: Sendable {
  private static let maximumAssets = 500
  private static let maximumTagBytes = 1024

  let queries: QueryService
  let images: ImageManager
  let presets: ImagePresets
  let raws: RAWOriginals
  let upgrades: EncodingUpgrades
  /// Assembles responses that wait for images or for the client.
  let queue: WorkQueue
  let logger: Logger

  /// One entry of `assets`.
  private struct RequestedFrame {
    let identifier: LocalIdentifier
    /// The only content version that the client accepts; its part is immutable.
    var version: ContentVersion?
    /// Entity tags of frames that the client already has.
    var ifNoneMatch: String?
  }

  /// On the lookup queue: looks up all assets at once, then writes all parts that are available immediately.
  func answer(_ routed: RoutedRequest) throws(Problem) {
    // The formats of the parts depend on it, and whether the response is 406.
    routed.varyingByAccept { routed throws(Problem) in
      let principal = try routed.principal
      try routed.run(on: queries.lookups) { () throws(Problem) in
        try answer(routed.request, principal, routed.reply)
      }
    }
  }

  private func answer(_ request: HTTPRequest, _ principal: Principal, _ reply: Reply) throws(Problem) {
    var body = try JSONObjectReader(request)
    let wanted = try Self.wanted(&body)
    var reader = RenditionReader(presets: presets)
    try reader.readSize(&body)
    try reader.readOptions(&body, deliveryModes: [.highQualityFormat, .fastFormat])
    try body.finish()
    guard let wanted else { throw Self.invalidAssets }
    let query = try reader.query()
    let accept = Accept(request.head.value(of: .accept))
    guard Self.isAcceptable(accept, query) else { throw Self.notAcceptable }
    let assets = try queries.run { library throws(AssetSourceError) in
      try library.assets(named: wanted.map(\.identifier), for: principal)
    }
    let entries = zip(wanted, assets).enumerated().map { index, pair in
      entry(at: index, pair.0, of: pair.1, query, accept: accept, for: principal)
    }
    var context = ImageManager.RequestContext(requestID: reply.requestID, caller: principal.name)
    context.priority = ImagePriority(request.head)
    context.parameters = query.parameters
    context.allowsNetwork = query.allowsNetwork
    let delivery = BatchDelivery(entries, images: images, context: context, reply: reply, queue: queue, logger: logger)
    reply.onClose { delivery.close() }
    delivery.begin()
  }

  private func entry(
    at index: Int, _ wanted: RequestedFrame, of asset: Asset?, _ query: ImageQuery, accept: Accept,
    for principal: Principal
  ) -> BatchDelivery.Entry {
    let location = Self.location(wanted, query)
    func problem(_ problem: Problem) -> BatchDelivery.Entry { .problem(problem, location: location) }
    guard let asset else { return problem(.assetNotFound.naming("assets")) }
    if let version = wanted.version, version != asset.contentVersion { return problem(.versionGone) }
    do throws(Problem) {
      let asset = try raws.asset(asset, query.imageVersion, principal)
      if let reason = Problem(unrenderable: asset) { return problem(reason) }
      let formats = try query.formats(for: asset, accept: accept, encoders: upgrades.automaticEncoders)
      let request = query.request(for: asset, as: formats.first)
      let first = ResolvedRequest(request, for: asset)
      var headers = ImageHeaders(
        first, isAutomatic: query.hasAutomaticFormat,
        isVersioned: wanted.version != nil && !request.awaitsSaliency(of: asset), isPublic: false)
      let tags = headers.mayHaveValidators ? wanted.ifNoneMatch : nil
      let smallerEncodings = SmallerEncodings(images: images, upgrades: upgrades)
      if headers.mayHaveValidators,
        let smaller = smallerEncodings.replacement(formats, request, for: asset, replacing: first),
        let replaced = smallerEncodings.headers(of: smaller, replacing: headers, for: [tags].compactMap(\.self))
      {
        headers = replaced
      }
      // Any frame that has a tag matches `*` (RFC 9110 §13.1.2). Where only a render can tell whether it has one, the
      // frame is rendered first.
      let matchesAny = tags.map(ImageHeaders.matchesAny) ?? false
      let derivation =
        matchesAny ? images.completeDerivation(of: headers.wanted) : tags.flatMap { headers.derivation(matching: [$0]) }
      if let derivation {
        return .notModified(head: headers.batchNotModifiedPart(derivation, location: location))
      }
      return .frame(
        BatchDelivery.Frame(index: index, headers: headers, location: location, matchesAny: matchesAny))
    } catch {
      return problem(error)
    }
  }

  /// The response is always multipart/mixed, while `Accept` mostly describes the images in it. Rejected if `Accept`
  /// refuses multipart/mixed, or allows no format of the parts.
  private static func isAcceptable(_ accept: Accept, _ query: ImageQuery) -> Bool {
    if accept.refuses("multipart/mixed") { return false }
    if OutputFormat.allCases.contains(where: { accept.quality(ofPicturesAs: $0) > 0 }) { return true }
    // As in a single response, a format that the body names need not be listed.
    return !query.hasAutomaticFormat && (accept.namesType("multipart") || accept.quality(of: "multipart/mixed") > 0)
  }

  private static let notAcceptable = Problem.notAcceptable(
    "The response is multipart/mixed with an image in each part, and the request's Accept does not allow that.")

  /// The path of the same frame as a single image, for `Content-Location`.
  private static func location(_ wanted: RequestedFrame, _ query: ImageQuery) -> String {
    var parameters = query.parameters
    parameters["v"] = wanted.version?.rawValue
    let text = parameters.sortedByKey
      .map { "\(RequestTarget.percentEncoded($0.key))=\(RequestTarget.percentEncoded($0.value))" }.joined(
        separator: "&")
    return "/v1/assets/\(wanted.identifier.rawValue)/image" + (text.isEmpty ? "" : "?\(text)")
  }

  private static let invalidAssets = QueryReader.invalid(
    "assets", "must be a list of 1 to \(maximumAssets) localIdentifiers or objects with asset, v and ifNoneMatch")

  private static func wanted(_ body: inout JSONObjectReader) throws(Problem) -> [RequestedFrame]? {
    guard let value = body.value("assets") else { return nil }
    guard case .array(let list) = value, (1...maximumAssets).contains(list.count) else { throw invalidAssets }
    var wanted: [RequestedFrame] = []
    for item in list {
      switch item {
      case .string(let text):
        wanted.append(RequestedFrame(identifier: try LocalIdentifier(parameter: text, "assets")))
      case .object(let members):
        var entry = JSONObjectReader(members)
        guard let text = try entry.text("asset") else { throw invalidAssets }
        let version = try entry.text("v").map(ContentVersion.init)
        let tags = try entry.text("ifNoneMatch")
        try entry.finish()
        if let tags, tags.utf8.count > maximumTagBytes {
          throw QueryReader.invalid("ifNoneMatch", "must be *, one ETag, or several separated by commas")
        }
        let identifier = try LocalIdentifier(parameter: text, "assets")
        wanted.append(RequestedFrame(identifier: identifier, version: version, ifNoneMatch: tags))
      default: throw invalidAssets
      }
    }
    return wanted
  }
}
