import HTTPCore
import PhotoModel

/// `GET /v1/assets/{localIdentifier}/data`, `…/resources` and `…/resources/{type}/data`: the files of an asset,
/// unchanged except for the removed places.
///
///     asset and its files -> ResourceChoice: the requested file       404, 403 without the scope
///     validators -> conditions                                        304, 412
///     open, and check that it is the file that the catalogue knows    404, 503
///     the overlay that removes places                                 403
///     ranges -> OriginalBody                                          416
///
/// DataRoute+List has the list, DataRoute+AdjustmentData the adjustments, DataRoute+Original the bytes of a file.
struct DataRoute: Sendable {
  let queries: QueryService
  let files: OriginalFiles
  let downloads: RouteDownloads
  let sender: OriginalSender
  /// Answers further requests for ranges.
  let responses: OriginalResponseCache
  let adjustedPhotos: AdjustedPhotoSender

  /// Answers a prepared original at once; otherwise looks up the asset on the lookup queue and opens the file on
  /// the file queue.
  func send(_ choice: ResourceChoice, of identifier: LocalIdentifier, _ routed: RoutedRequest) throws(Problem) {
    let caller = try routed.authorizedCaller
    let principal = caller.principal
    var query = try QueryReader(routed.target)
    let version =
      if case .version = choice { try query.word("version", default: ImageVersion.current) } else {
        ImageVersion.current
      }
    let index = if case .version = choice { 0 } else { try query.number("index", in: ResourceChoice.indexes) ?? 0 }
    let includesLocation = try query.flag("includeLocation")
    let isDownload = try query.flag("download")
    let allowsNetwork = try query.flag("networkAccessAllowed")
    let contentVersion = query.text("v").map(ContentVersion.init)
    try query.finish()
    try files.checkScopes(includesLocation: includesLocation, principal)
    let access = caller.credential == .signature ? nil : caller.accessClass
    let current = ResponseCache.Generation(
      asset: .library(queries.library.generation), rules: routed.reply.rules.number)
    if let access,
      let ready = responses.representation(for: routed.request.head, access: access, generation: current),
      ready.original.source.hasSameChangeTime
    {
      return try sendPrepared(ready, routed)
    }
    try routed.run(on: queries.lookups) { () throws(Problem) in
      // Read before the asset is looked up: a later change of the library then makes what is prepared invalid.
      let generation = ResponseCache.Generation(
        asset: .library(queries.library.generation), rules: routed.reply.rules.number)
      let found = try files(of: identifier, includesSidecars: choice.mayBeSidecar, principal)
      let asset = found.asset
      if let contentVersion, contentVersion != asset.contentVersion { throw .versionGone }
      let isRender = asset.adjustments != nil && choice.isRender(of: version)
      if isRender && index == 0 {
        return try adjustedPhotos.send(
          asset, includesLocation: includesLocation, isDownload: isDownload, isVersioned: contentVersion != nil,
          allowsNetwork: allowsNetwork,
          routed.request, principal, routed.reply)
      }
      var documents = 0
      if asset.hasAdjustments, choice.names(.adjustmentData), let data = try adjustmentData(of: found, principal) {
        if index == 0 {
          return try sendAdjustmentData(
            data.bytes, type: data.type, isDownload: isDownload, routed.request.head, routed.reply)
        }
        documents = 1
      }
      let resource = try choice.file(
        of: version, at: index, after: documents, among: found.resources, isAdjusted: asset.hasAdjustments)
      // The disk of the library may be slow, and the lookup queue must not wait for it.
      try routed.run(on: sender.files) { () throws(Problem) in
        try downloads.run(
          resource.file, allowsNetwork: allowsNetwork, for: routed.reply, on: sender.files
        ) { () throws(Problem) in
          try sendOriginal(
            resource, of: asset, includesLocation: includesLocation, isDownload: isDownload,
            // A sidecar, or the video of a live photo, can change while the pixels stay the same.
            isVersioned: contentVersion != nil && resource.hasPixels, routed.request.head, routed.reply
          ) { representation in
            // The access class does not include the scope for places, and a signed URL expires.
            guard !includesLocation, let access, sender.maximumRanges > 0 else { return }
            responses.store(
              representation, commonFields: routed.reply.commonFields, for: routed.request.head, access: access,
              generation: generation)
          }
        }
      }
    }
  }

  /// Sends an original that an earlier request has opened: from the page cache at once, else on the queue that waits for
  /// the disk.
  private func sendPrepared(_ cached: OriginalResponseCache.Representation, _ routed: RoutedRequest) throws(Problem) {
    @Sendable func send() throws(Problem) {
      try sender.send(
        cached.original, cached.slice, type: cached.type, fields: cached.fields, validators: cached.validators,
        routed.request.head, routed.reply)
    }
    if cached.isCached(for: routed.request.head) { return try send() }
    try routed.run(on: sender.files) { () throws(Problem) in try send() }
  }

  /// The asset and its files. Throws 404.
  func files(
    of identifier: LocalIdentifier, includesSidecars: Bool, _ principal: Principal
  ) throws(Problem) -> AssetFiles {
    let found = try queries.run { library throws(AssetSourceError) in
      try library.assetFiles(of: identifier, includesSidecars: includesSidecars, for: principal)
    }
    guard let found else { throw .assetNotFound }
    return found
  }
}
