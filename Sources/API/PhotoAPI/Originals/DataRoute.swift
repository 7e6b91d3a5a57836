import FoundationEssentials
import HTTPCore
import ImageCodec
import ImageService
import MediaMetadata
import PhotoModel

/// `GET /v1/assets/{localIdentifier}/data`, `…/resources` and `…/resources/{type}/data`: the files of an asset as they
/// are, except for the places in them.
///
///     asset and its files -> the file that is asked for                404, 403 without the scope
///     validators -> conditions                                        304, 412
///     open, and check that it is the file that the catalogue knows    404, 503
///     the overlay that removes places                                 403
///     ranges -> OriginalBody                                          416
struct DataRoute: Sendable {
  private static let lifetime = "max-age=31536000, immutable"

  let queries: QueryService
  let files: OriginalFiles
  let sender: OriginalSender
  /// Answers further requests for ranges.
  let prepared: PreparedOriginals

  // MARK: The list

  /// Lists the files of an asset. Runs on the lookup queue.
  func list(_ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem)
    -> HTTPResponse
  {
    struct Payload: Encodable {
      struct Resource: Encodable {
        let type: String
        let uti: String?
        let filename: String
        let size: Int64
        let isLocal: Bool
      }
      let resources: [Resource]
    }
    try QueryReader(request.target).finish()
    let resources = try files(of: identifier, includesSidecars: true, principal).resources.map { resource in
      Payload.Resource(
        type: resource.type.rawValue, uti: resource.uniformTypeIdentifier, filename: resource.filename,
        size: resource.size, isLocal: true)
    }
    let body = JSONBody.encode(Payload(resources: resources))
    return JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl)
      .response(to: request.head)
  }

  private func files(
    of identifier: LocalIdentifier, includesSidecars: Bool, _ principal: Principal
  ) throws(Problem) -> AssetFiles {
    let found = try queries.run { library throws(AssetSourceError) in
      try library.assetFiles(of: identifier, includesSidecars: includesSidecars, for: principal)
    }
    guard let found else { throw .assetNotFound }
    return found
  }

  // MARK: The bytes

  /// Which file of the asset.
  enum Choice: Sendable {
    /// The file of a version of the asset.
    case version
    /// The first file of a type.
    case resource(String)

    var mayBeSidecar: Bool {
      switch self {
      case .version: false
      case .resource(let type):
        [AssetResourceType.sidecar, .adjustmentData].contains { $0.rawValue == type }
      }
    }
  }

  /// Rejects a malformed query at once; the rest runs on the lookup queue.
  func send(_ choice: Choice, of identifier: LocalIdentifier, _ exchange: Exchange) throws(Problem) {
    let caller = try exchange.authorizedCaller
    let principal = caller.principal
    var query = try QueryReader(exchange.target)
    let version =
      if case .version = choice { try query.word("version", default: ImageVersion.current) } else {
        ImageVersion.current
      }
    let includesLocation = try query.flag("includeLocation")
    let isDownload = try query.flag("download")
    let contentVersion = query.text("v").map(ContentVersion.init)
    try query.finish()
    guard !includesLocation || principal.may(.location) else { throw .insufficientScope([.location]) }
    try exchange.run(on: queries.lookups) { () throws(Problem) in
      // Read before the asset is looked up: a later change of the library then makes what is prepared invalid.
      let generation = ResponseCache.Generation(
        library: queries.library.generation, rules: exchange.reply.rules.number)
      let found = try files(of: identifier, includesSidecars: choice.mayBeSidecar, principal)
      let asset = found.asset
      if let contentVersion, contentVersion != asset.contentVersion { throw .versionGone }
      let resource = try Self.resource(choice, version, of: found.resources)
      try send(
        resource, of: asset, includesLocation: includesLocation, isDownload: isDownload,
        // A sidecar may change without the pixels, as may the video of a live photo.
        isVersioned: contentVersion != nil && resource.hasPixels, exchange.request.head, exchange.reply
      ) { original, fields, tag in
        // The access class does not include the scope for places, and a signed URL expires.
        guard !includesLocation, caller.credential != .signature, let access = caller.accessClass else { return }
        prepared.store(
          original, resource.range, fields: fields + exchange.reply.commonFields, entityTag: tag,
          for: exchange.request.head, access: access, generation: generation)
      }
    }
  }

  private static func resource(
    _ choice: Choice, _ version: ImageVersion, of resources: [AssetResource]
  ) throws(Problem) -> AssetResource {
    let found: AssetResource? =
      switch (choice, version) {
      case (.resource(let type), _): resources.first { $0.type.rawValue == type }
      // The original of a RAW file with a JPEG is the RAW file.
      case (.version, .original):
        resources.first { $0.type == .alternatePhoto } ?? resources.first(where: \.isPrimary)
      case (.version, .current), (.version, .unadjusted): resources.first(where: \.isPrimary)
      }
    guard let found else { throw .resourceNotFound }
    return found
  }

  /// - Parameter opened: called with the file before it is sent, with the fields of the response and its entity tag.
  private func send(
    _ resource: AssetResource, of asset: Asset, includesLocation: Bool, isDownload: Bool, isVersioned: Bool,
    _ head: RequestHead, _ reply: Reply,
    opened: (OpenedOriginal, _ fields: [(name: String, value: String)], _ entityTag: String) -> Void
  ) throws(Problem) {
    let identity = resource.file.identity
    let validators = Validators(
      entityTag: Self.entityTag(of: resource, asset, includesLocation: includesLocation),
      lastModified: identity.modified / 1_000_000_000)
    var fields = Self.validatorFields(validators, isVersioned: isVersioned)
    switch Preconditions.evaluate(head, validators) {
    case .proceed: break
    case .notModified: return reply.send(HTTPResponse(.notModified, fields))
    case .failed: throw .preconditionFailed
    }
    let original: OpenedOriginal
    do throws(OriginalFiles.Failure) {
      original = try files.open(resource, includesLocation: includesLocation, staysOpen: true)
    } catch {
      throw error.problem
    }
    let format = resource.uniformTypeIdentifier.flatMap(MediaFormat.init(uniformTypeIdentifier:))
    let type: String
    switch resource.type {
    case .sidecar: type = "application/rdf+xml"
    case .adjustmentData: type = "application/xml"
    default: type = format?.internetMediaType ?? "application/octet-stream"
    }
    fields += [
      ("Accept-Ranges", "bytes"),
      (
        "Content-Disposition",
        ContentDisposition.value(isDownload ? .attachment : .inline, name: resource.filename)
      ), ("Image-Result", Self.imageResult(resource, asset)), ("X-Content-Type-Options", "nosniff"),
      // A file of a user is never a page of this origin.
      ("Content-Security-Policy", "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"),
    ]
    opened(original, fields + [("Content-Type", type)], validators.entityTag ?? "")
    try sender.send(original, resource.range, type: type, fields, validators, head, reply)
  }

  /// It changes with the file, and with what is removed from it. The name and the favourite flag are not part of it.
  private static func entityTag(of resource: AssetResource, _ asset: Asset, includesLocation: Bool) -> String {
    let identity = resource.file.identity
    let form = includesLocation ? "whole" : "removed-\(LocationRemoval.epoch)"
    return EntityTag.strong(
      over: Array(
        "\(asset.localIdentifier) \(asset.contentVersion) \(resource.type.rawValue) \(identity.inode) \(identity.size) \(identity.modified) \(form)"
          .utf8))
  }

  private static func validatorFields(
    _ validators: Validators, isVersioned: Bool
  ) -> [(name: String, value: String)] {
    [
      ("ETag", validators.entityTag ?? ""),
      ("Last-Modified", HTTPDate.string(secondsSince1970: validators.lastModified ?? 0)),
      ("Cache-Control", isVersioned ? "private, \(lifetime)" : QueryService.cacheControl),
    ]
  }

  /// What requestImageDataAndOrientation tells of the data. Only the primary file has a known orientation.
  private static func imageResult(_ resource: AssetResource, _ asset: Asset) -> String {
    var members: [String] = []
    if resource.isPrimary { members.append("orientation=\(asset.orientation.rawValue)") }
    if let type = resource.uniformTypeIdentifier { members.append("uti=\"\(type)\"") }
    return members.joined(separator: ", ")
  }
}
