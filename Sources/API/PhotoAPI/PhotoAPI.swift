// The API: translates HTTP into calls of the library and the image service, and results into responses. This file puts
// the handlers of all routes together; PhotoAPI+Requests.swift has the path of a request.

import AccessControl
import Foundation
import ImageService
import LibraryCatalogue
import LibraryFiles
import Logging
import PhotoModel
import Primitives
import Telemetry

package final class PhotoAPI: Sendable {
  let accessPolicy: AccessPolicy
  let responseCache: ResponseCache
  let blockedImages: BlockedImageLog
  let queries: QueryService
  /// Serial queue that executes change lists.
  let changeQueue: WorkQueue

  // The handlers, as the endpoint table names them.
  let health: HealthRoutes
  let metrics: MetricsRoute
  let authorization: AuthorizationRoutes
  let assets: AssetRoutes
  let uploads: UploadRoute
  let metadata: MetadataRoute
  let data: DataRoute
  let archive: ArchiveRoute
  let trash: TrashRoute
  let image: ImageRoute
  let iiif: IIIFRoutes
  let presentation: PresentationRoutes
  let batch: BatchRoute
  let requests: RequestRoutes
  let collections: CollectionRoutes
  let transientCollections: TransientCollectionRoutes
  let fetchResults: FetchResultRoutes
  let fetchResultChanges: FetchResultChangeRoute
  let changes: ChangeRoutes
  let adjustments: AdjustmentRoutes
  let keepOriginal: KeepOriginalRoutes
  let preview: PreviewRoute
  let caching: CachingRoutes
  private let openFiles: OpenOriginals
  let originalResponses: OriginalResponseCache
  /// Starts a full scan of the library, or one more after the running one.
  let requestScan: @Sendable () -> Void

  /// - Parameters:
  ///   - upgrades: replaces frames by smaller encodings; this object observes it.
  ///   - listedFormats: remembers for windows which formats clients list.
  ///   - access: tokens, sessions and signed URLs.
  ///   - origins: the host names and origins that are accepted.
  ///   - originals: opens the originals of assets.
  ///   - fullSizeRenders: stores full-size renders of adjusted pictures.
  ///   - frameResponses: prepared responses. The frame cache reports evicted frames to it.
  ///   - metrics: the metrics that `/metrics` returns.
  ///   - files: stores uploaded files, and moves files to the trash.
  ///   - requestScan: starts a full scan of the library, or one more after the running one.
  ///   - onAssetsAdded: called after a request that has added assets.
  ///   - onPicturesEdited: called after a commit that may have edited pictures.
  package init(
    library: Catalogue, changeServices: ChangeServices, access: AccessRegistry, origins: OriginRules,
    results: FetchResultStore, originals: OriginalStore, images: ImageManager, previews: PreviewService,
    fullSizeRenders: FullSizeRenderStore, upgrades: EncodingUpgrades, listedFormats: ListedFormats,
    caching managers: CachingManagerRegistry, frameResponses: FrameResponses, metrics: MetricsRegistry,
    files: LibraryFiles, queues: APIQueues, requestScan: @escaping @Sendable () -> Void,
    onAssetsAdded: @escaping @Sendable () -> Void, onPicturesEdited: @escaping @Sendable () -> Void,
    options: Options, logger: Logger
  ) {
    let accessPolicy = AccessPolicy(
      proxies: options.proxies, origins: origins, access: access,
      failedAttempts: FailedAttemptThrottle(capacity: access.limits.throttledPeers, logger: logger),
      allowsAnonymous: options.allowsAnonymous, namesNeedScope: options.namesNeedScope)
    let queries = QueryService(
      library: library, tokens: changeServices.catalogue.tokens, results: results, originals: originals,
      timeLimit: options.fetchDeadline, lookups: queues.lookups, fetches: queues.fetches, logger: logger)
    self.accessPolicy = accessPolicy
    self.queries = queries
    responseCache = frameResponses.cache
    blockedImages = BlockedImageLog(logger: logger)
    changeQueue = queues.changes
    health = HealthRoutes(queries: queries, access: access)
    self.metrics = MetricsRoute(registry: metrics, queue: queues.scrapes)
    authorization = AuthorizationRoutes(
      access: access, accessPolicy: accessPolicy, queries: queries, presets: options.presets,
      timeZone: options.timeZone)
    assets = AssetRoutes(queries: queries)
    self.uploads = UploadRoute(
      files: files, tokens: queries.tokens, limits: options.uploads, queue: queues.uploads,
      onAssetsAdded: onAssetsAdded, logger: logger)
    let routeDownloads = RouteDownloads(originals: originals, logger: logger)
    metadata = MetadataRoute(
      queries: queries, originals: originals, downloads: routeDownloads, reads: queues.fileReads,
      limits: options.codec, logger: logger)
    let openFiles = OpenOriginals()
    self.openFiles = openFiles
    let originalFiles = OriginalFiles(
      originals: originals, overlays: OverlayCache(), openFiles: openFiles,
      removes: options.namesNeedScope ? [.locations, .names] : .locations, logger: logger)
    let sender = OriginalSender(files: queues.fileReads, maximumRanges: options.maximumRanges, logger: logger)
    let originalResponses = OriginalResponseCache()
    self.originalResponses = originalResponses
    data = DataRoute(
      queries: queries, files: originalFiles, downloads: routeDownloads, sender: sender, responses: originalResponses,
      adjustedPhotos: AdjustedPhotoSender(
        images: images, originals: originalFiles, fullSizeRenders: fullSizeRenders, sender: sender,
        limits: options.codec, logger: logger))
    archive = ArchiveRoute(
      queries: queries,
      planner: ArchivePlanner(
        queries: queries, files: originalFiles,
        calendar: LocalCalendar(timeZone: TimeZone(identifier: options.timeZone) ?? .gmt), limits: options.archives,
        budget: ByteBudget(capacityBytes: options.archives.memoryBytes)), planning: queues.archivePlans,
      files: queues.fileReads, maximumRanges: options.maximumRanges)
    trash = TrashRoute(files: files, queries: queries)
    let raws = RAWOriginals(queries: queries, originals: originals, limits: options.codec)
    image = ImageRoute(
      queries: queries, images: images, upgrades: upgrades, listedFormats: listedFormats, presets: options.presets,
      raws: raws, responseCache: frameResponses.cache, downloads: routeDownloads,
      originalAsImage: OriginalAsImage(files: originalFiles, limits: options.codec), sender: sender,
      allowsPublicCaching: options.allowsPublicCaching, maximumRanges: options.maximumRanges, logger: logger)
    iiif = IIIFRoutes(
      queries: queries, image: image, limits: IIIFLimits(renderBytes: images.renderCapacityBytes),
      accessPolicy: accessPolicy)
    presentation = PresentationRoutes(queries: queries, accessPolicy: accessPolicy)
    batch = BatchRoute(
      queries: queries, images: images, presets: options.presets, raws: raws, upgrades: upgrades, queue: queues.batches,
      logger: logger)
    upgrades.observe { [cache = frameResponses.cache] replaced in cache.removeResponses(madeFrom: [replaced]) }
    requests = RequestRoutes(images: images)
    collections = CollectionRoutes(queries: queries)
    transientCollections = TransientCollectionRoutes(queries: queries)
    fetchResults = FetchResultRoutes(queries: queries)
    fetchResultChanges = FetchResultChangeRoute(queries: queries)
    changes = ChangeRoutes(
      services: changeServices, fetchResultChanges: fetchResultChanges, queries: queries, accessPolicy: accessPolicy,
      onAssetsAdded: onAssetsAdded, onPicturesEdited: onPicturesEdited, logger: logger)
    adjustments = AdjustmentRoutes(queries: queries, changes: changes)
    keepOriginal = KeepOriginalRoutes(assets: assets, collections: collections, changes: changes)
    preview = PreviewRoute(queries: queries, previews: previews, reads: queues.fileReads)
    caching = CachingRoutes(
      managers: managers, queries: queries, presets: options.presets, encoders: upgrades.automaticEncoders)
    self.requestScan = requestScan
  }

  /// Closes originals that were not requested for a while, drops expired plans of archives, and ends previews that
  /// exceed their deadline and preview sessions whose lease has expired. Call it about once a second.
  package func tick() {
    openFiles.closeIdle(now: .now)
    originalResponses.tick()
    archive.plans.expire(now: .now)
    preview.previews.expire()
  }
}
