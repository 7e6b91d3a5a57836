import AccessControl
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

  /// Answers at once if an earlier request has prepared the original; otherwise looks up the asset on the lookup queue
  /// and opens the file on the file queue.
  func send(_ choice: ResourceChoice, of identifier: LocalIdentifier, _ routed: RoutedRequest) throws(Problem) {
    let caller = try routed.authorizedCaller
    let query = try OriginalQuery(routed.target, for: choice)
    try files.checkScopes(includesLocation: query.includesLocation, caller.principal)
    // A signed URL expires, so its response is not prepared.
    let access = caller.credential == .signature ? nil : caller.accessClass
    if let access,
      let ready = responses.representation(
        for: routed.request.head, access: access, generation: generation(for: routed.reply)),
      ready.original.source.hasSameChangeTime
    {
      return try sendPrepared(ready, routed)
    }
    let principal = caller.principal
    try routed.run(on: queries.lookups) { () throws(Problem) in
      try answer(choice, of: identifier, query, access: access, principal, routed)
    }
  }

  /// The state of the library and of the rules that a prepared response belongs to.
  private func generation(for reply: Reply) -> ResponseCache.Generation {
    ResponseCache.Generation(asset: .library(queries.library.generation), rules: reply.rules.number)
  }

  /// Looks up the asset, and sends what `choice` names: the render of an adjusted picture, the adjustments, or a file.
  ///
  /// - Parameter access: `nil` if the response may not be prepared for later requests.
  private func answer(
    _ choice: ResourceChoice, of identifier: LocalIdentifier, _ query: OriginalQuery, access: AccessClass?,
    _ principal: Principal, _ routed: RoutedRequest
  ) throws(Problem) {
    // Read before the asset is looked up: a later change of the library then makes the prepared response invalid.
    let generation = generation(for: routed.reply)
    let found = try files(of: identifier, includesSidecars: choice.mayBeSidecar, principal)
    let asset = found.asset
    if let contentVersion = query.contentVersion, contentVersion != asset.contentVersion { throw .versionGone }
    let isRender = asset.adjustments != nil && choice.isRender(of: query.version)
    if isRender && query.index == 0 {
      return try adjustedPhotos.send(
        asset, includesLocation: query.includesLocation, isDownload: query.isDownload,
        isVersioned: query.contentVersion != nil, allowsNetwork: query.allowsNetwork, routed.request, principal,
        routed.reply)
    }
    var documentCount = 0
    if asset.hasAdjustments, choice.names(.adjustmentData), let data = try adjustmentData(of: found, principal) {
      if query.index == 0 {
        return try sendAdjustmentData(
          data.bytes, type: data.type, isDownload: query.isDownload, routed.request.head, routed.reply)
      }
      documentCount = 1
    }
    let resource = try choice.file(
      of: query.version, at: query.index, after: documentCount, among: found.resources, isAdjusted: asset.hasAdjustments
    )
    // The disk of the library may be slow, and the lookup queue must not wait for it.
    try routed.run(on: sender.files) { () throws(Problem) in
      try downloads.run(
        resource.file, allowsNetwork: query.allowsNetwork, for: routed.reply, on: sender.files
      ) { () throws(Problem) in
        try sendOriginal(
          resource, of: asset, includesLocation: query.includesLocation, isDownload: query.isDownload,
          // A sidecar, or the video of a live photo, can change while the pixels stay the same.
          isVersioned: query.contentVersion != nil && resource.hasPixels, routed.request.head, routed.reply
        ) { representation in
          // The access class does not include the scope for places.
          guard !query.includesLocation, let access, sender.maximumRanges > 0 else { return }
          responses.store(
            representation, commonFields: routed.reply.commonFields, for: routed.request.head, access: access,
            generation: generation)
        }
      }
    }
  }

  /// Sends an original that an earlier request has opened: from the page cache at once, else on the queue that waits
  /// for the disk.
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
