import FoundationEssentials
import HTTPCore
import ImageCodec
import ImageService
import MediaMetadata
import PhotoModel

/// `GET /v1/assets/{localIdentifier}/data`, `…/resources` and `…/resources/{type}/data`: the files of an asset,
/// unchanged except for the removed places.
///
///     asset and its files -> the requested file                       404, 403 without the scope
///     validators -> conditions                                        304, 412
///     open, and check that it is the file that the catalogue knows    404, 503
///     the overlay that removes places                                 403
///     ranges -> OriginalBody                                          416
struct DataRoute: Sendable {
  private static let lifetime = "max-age=31536000, immutable"

  let queries: QueryService
  let files: OriginalFiles
  let fetches: OriginalFetches
  let sender: OriginalSender
  /// Answers further requests for ranges.
  let prepared: PreparedOriginals
  let fullSizePhotos: FullSizePhotos

  // MARK: The list

  /// Lists the files of an asset. Runs on the lookup queue.
  func list(_ identifier: LocalIdentifier, _ request: HTTPRequest, _ principal: Principal) throws(Problem)
    -> HTTPResponse
  {
    try QueryReader(request.target).finish()
    let found = try files(of: identifier, includesSidecars: true, principal)
    var resources = found.resources.map { resource in
      ResourceJSON(
        type: resource.type.rawValue, uti: resource.uniformTypeIdentifier, filename: resource.filename,
        size: resource.size, isLocal: !queries.originals.isInCloud(resource.file))
    }
    resources += try edited(found, principal).map { resource in
      ResourceJSON(
        type: resource.type.rawValue, uti: resource.uniformTypeIdentifier, filename: resource.filename,
        size: resource.size, isLocal: true)
    }
    let body = JSONBody.encode(ResourceListJSON(resources: resources))
    return JSONResponse(body, tag: EntityTag.strong(over: body), cacheControl: QueryService.cacheControl)
      .response(to: request.head)
  }

  /// A resource that exists because of adjustments.
  private struct EditedResource {
    let type: AssetResourceType
    let uniformTypeIdentifier: String?
    let filename: String
    /// `nil`: not known before it is rendered.
    let size: Int64?
  }

  /// The render, the adjustments, and the file that they start from.
  private func edited(_ found: AssetFiles, _ principal: Principal) throws(Problem) -> [EditedResource] {
    guard found.asset.hasAdjustments, let primary = found.resources.first(where: \.isPrimary) else { return [] }
    let data = try adjustmentData(of: found, principal)?.bytes
    var resources: [EditedResource] = []
    if found.asset.adjustments != nil {
      resources.append(
        EditedResource(
          type: .fullSizePhoto, uniformTypeIdentifier: FullSizePhotos.uniformTypeIdentifier(of: found.asset),
          filename: FullSizePhotos.filename(of: found.asset), size: nil))
    }
    if let data {
      resources.append(
        EditedResource(
          type: .adjustmentData, uniformTypeIdentifier: nil, filename: Self.adjustmentDataName, size: Int64(data.count))
      )
    }
    resources.append(
      EditedResource(
        type: .adjustmentBasePhoto, uniformTypeIdentifier: primary.uniformTypeIdentifier, filename: primary.filename,
        size: primary.size))
    return resources
  }

  private static let adjustmentDataName = "Adjustments.data"

  /// The bytes of the adjustments in their own format: those of another program unchanged, else JSON. `nil` if they are
  /// those of a sidecar, which is a resource itself.
  private func adjustmentData(
    of files: AssetFiles, _ principal: Principal
  ) throws(Problem) -> (type: String, bytes: [UInt8])? {
    let found = try queries.run { library throws(AssetSourceError) in
      try library.adjustedAsset(files.asset.localIdentifier, for: principal)
    }
    guard let adjustments = found?.adjustments else { throw .resourceNotFound }
    if adjustments.origin == .imported, files.resources.contains(where: { $0.type == .adjustmentData }) { return nil }
    if let data = adjustments.foreign?.data { return ("application/octet-stream", data) }
    return (JSONBody.mediaType, AdjustmentsJSON.document(adjustments))
  }

  private func send(
    adjustmentData bytes: [UInt8], type: String, isDownload: Bool, _ head: RequestHead, _ reply: Reply
  ) throws(Problem) {
    let validators = Validators(entityTag: EntityTag.strong(over: bytes))
    let fields: [(name: String, value: String)] = [
      ("ETag", validators.entityTag ?? ""), ("Cache-Control", QueryService.cacheControl),
    ]
    switch Preconditions.evaluate(head, validators) {
    case .proceed: break
    case .notModified: return reply.send(HTTPResponse(.notModified, fields))
    case .failed: throw .preconditionFailed
    }
    let disposition = ContentDisposition.value(isDownload ? .attachment : .inline, name: Self.adjustmentDataName)
    let whole = HTTPResponse(
      .ok,
      fields + sender.rangeFields + [
        ("Content-Type", type), ("Content-Disposition", disposition),
        ("X-Content-Type-Options", "nosniff"), ("Content-Security-Policy", "sandbox; default-src 'none'"),
      ], body: bytes)
    reply.send(
      whole.applyingByteRanges(
        for: head, validators: validators, limit: sender.maximumRanges, boundary: Boundary.make,
        unsatisfiable: { Problem.rangeNotSatisfiable(size: bytes.count).response }))
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

    func names(_ type: AssetResourceType) -> Bool {
      if case .resource(let name) = self { name == type.rawValue } else { false }
    }

    /// Whether it is the render of an adjusted picture.
    func isRender(of version: ImageVersion) -> Bool {
      if case .version = self { version == .current } else { names(.fullSizePhoto) }
    }

    var mayBeSidecar: Bool {
      switch self {
      case .version: false
      case .resource(let type):
        [AssetResourceType.sidecar, .adjustmentData].contains { $0.rawValue == type }
      }
    }
  }

  /// Rejects a malformed query at once; the rest runs on the lookup queue.
  func send(_ choice: Choice, of identifier: LocalIdentifier, _ exchange: RoutedRequest) throws(Problem) {
    let caller = try exchange.authorizedCaller
    let principal = caller.principal
    var query = try QueryReader(exchange.target)
    let version =
      if case .version = choice { try query.word("version", default: ImageVersion.current) } else {
        ImageVersion.current
      }
    let includesLocation = try query.flag("includeLocation")
    let isDownload = try query.flag("download")
    let allowsNetwork = try query.flag("networkAccessAllowed")
    let contentVersion = query.text("v").map(ContentVersion.init)
    try query.finish()
    try files.checkScopes(includesLocation: includesLocation, principal)
    let access = caller.credential == .signature ? nil : caller.accessClass
    let current = ResponseCache.Generation(
      asset: .library(queries.library.generation), rules: exchange.reply.rules.number)
    if let access, let ready = prepared.answer(for: exchange.request.head, access: access, generation: current),
      ready.original.source.isUntouched
    {
      return try send(ready, exchange)
    }
    try exchange.run(on: queries.lookups) { () throws(Problem) in
      // Read before the asset is looked up: a later change of the library then makes what is prepared invalid.
      let generation = ResponseCache.Generation(
        asset: .library(queries.library.generation), rules: exchange.reply.rules.number)
      let found = try files(of: identifier, includesSidecars: choice.mayBeSidecar, principal)
      let asset = found.asset
      if let contentVersion, contentVersion != asset.contentVersion { throw .versionGone }
      let isRender = asset.adjustments != nil && choice.isRender(of: version)
      if isRender {
        return try fullSizePhotos.send(
          asset, includesLocation: includesLocation, isDownload: isDownload, isVersioned: contentVersion != nil,
          allowsNetwork: allowsNetwork,
          exchange.request, principal, exchange.reply)
      }
      if asset.hasAdjustments, choice.names(.adjustmentData), let data = try adjustmentData(of: found, principal) {
        return try send(
          adjustmentData: data.bytes, type: data.type, isDownload: isDownload, exchange.request.head, exchange.reply)
      }
      let resource = try Self.resource(choice, version, of: found.resources, isAdjusted: asset.hasAdjustments)
      // The disk of the library may be slow, and the lookup queue must not wait for it.
      try exchange.run(on: sender.files) { () throws(Problem) in
        try fetches.run(
          resource.file, allowsNetwork: allowsNetwork, for: exchange.reply, on: sender.files
        ) { () throws(Problem) in
          try send(
            resource, of: asset, includesLocation: includesLocation, isDownload: isDownload,
            // A sidecar, or the video of a live photo, can change while the pixels stay the same.
            isVersioned: contentVersion != nil && resource.hasPixels, exchange.request.head, exchange.reply
          ) { answer in
            // The access class does not include the scope for places, and a signed URL expires.
            guard !includesLocation, let access, sender.maximumRanges > 0 else { return }
            prepared.store(
              answer, commonFields: exchange.reply.commonFields, for: exchange.request.head, access: access,
              generation: generation)
          }
        }
      }
    }
  }

  /// Sends an original that an earlier request has opened: from the page cache at once, else on the queue that waits for
  /// the disk.
  private func send(_ answer: PreparedOriginals.Answer, _ exchange: RoutedRequest) throws(Problem) {
    @Sendable func send() throws(Problem) {
      try sender.send(
        answer.original, answer.slice, type: answer.type, answer.fields, answer.validators, exchange.request.head,
        exchange.reply)
    }
    if answer.isCached(for: exchange.request.head) { return try send() }
    try exchange.run(on: sender.files) { () throws(Problem) in try send() }
  }

  private static func resource(
    _ choice: Choice, _ version: ImageVersion, of resources: [AssetResource], isAdjusted: Bool
  ) throws(Problem) -> AssetResource {
    let found: AssetResource? =
      switch (choice, version) {
      case (.resource, _) where isAdjusted && choice.names(.adjustmentBasePhoto): resources.first(where: \.isPrimary)
      case (.resource(let type), _): resources.first { $0.type.rawValue == type }
      // For a photograph with a RAW file and a JPEG, the original is the RAW file.
      case (.version, .original):
        resources.first { $0.type == .alternatePhoto } ?? resources.first(where: \.isPrimary)
      case (.version, .current), (.version, .unadjusted): resources.first(where: \.isPrimary)
      }
    if let found { return found }
    if case .resource = choice { throw Problem.resourceNotFound.naming("type") }
    throw .resourceNotFound
  }

  /// - Parameter opened: called before the file is sent.
  private func send(
    _ resource: AssetResource, of asset: Asset, includesLocation: Bool, isDownload: Bool, isVersioned: Bool,
    _ head: RequestHead, _ reply: Reply,
    opened: (PreparedOriginals.Answer) -> Void
  ) throws(Problem) {
    let identity = resource.file.identity
    let validators = Validators(
      entityTag: entityTag(of: resource, asset, includesLocation: includesLocation),
      // After adjustments were removed, the original is newer than its file.
      changed: max(identity.modified / 1_000_000_000, resource.isPrimary ? asset.pictureModificationSeconds : 0))
    var fields = Self.validatorFields(validators, isVersioned: isVersioned)
    switch Preconditions.evaluate(head, validators) {
    case .proceed: break
    case .notModified: return reply.send(HTTPResponse(.notModified, fields))
    case .failed: throw .preconditionFailed
    }
    let original: ServableOriginal
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
    fields += sender.rangeFields
    fields += [
      (
        "Content-Disposition",
        ContentDisposition.value(isDownload ? .attachment : .inline, name: resource.filename)
      ), ("Image-Result", Self.imageResult(resource, asset)), ("X-Content-Type-Options", "nosniff"),
      // A user's file must never run as a page of this origin.
      ("Content-Security-Policy", "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'"),
    ]
    opened(
      PreparedOriginals.Answer(
        original: original, slice: resource.range, type: type, fields: fields, validators: validators))
    try sender.send(original, resource.range, type: type, fields, validators, head, reply)
  }

  /// It changes with the file, and with what is removed from it. The name and the favourite flag are not part of it.
  private func entityTag(of resource: AssetResource, _ asset: Asset, includesLocation: Bool) -> String {
    let identity = resource.file.identity
    let form = files.form(includesLocation: includesLocation)
    return EntityTag.strong(
      over: Array(
        "\(asset.localIdentifier) \(asset.contentVersion) \(resource.type.rawValue) \(identity.inode) \(identity.size) \(identity.modified) \(form)"
          .utf8))
  }

  private static func validatorFields(
    _ validators: Validators, isVersioned: Bool
  ) -> [(name: String, value: String)] {
    [("ETag", validators.entityTag ?? "")] + validators.lastModifiedField
      + [("Cache-Control", isVersioned ? "private, \(lifetime)" : QueryService.cacheControl)]
  }

  /// The facts that PhotoKit's requestImageDataAndOrientation returns with the data. Only the primary file has a known
  /// orientation.
  private static func imageResult(_ resource: AssetResource, _ asset: Asset) -> String {
    var members: [String] = []
    if resource.isPrimary { members.append("orientation=\(asset.orientation.rawValue)") }
    if let type = resource.uniformTypeIdentifier { members.append("uti=\"\(type)\"") }
    return members.joined(separator: ", ")
  }
}
