// Composes the image services: lanes, memory budget, caches, the image manager, and background work.

import DiskCache
import Foundation
import ImageRender
import ImageService
import LibraryCatalogue
import Logging
import PhotoModel
import Primitives
import SharedDerivatives
import Telemetry

struct ImageServices: Sendable {
  let manager: ImageManager
  let background: BackgroundRunner
  let previews: PreviewService
  let frames: FrameStore
  private let disk: DiskStore?
  private let shared: SharedDerivatives?

  /// Background work renders one picture at a time, and a library has few color profiles.
  private static let placeholderTransformBytes = 1 << 20
  /// Each worker permanently reserves a share of the memory budget.
  private static let maximumQuickWorkers = 8

  /// Splits the memory budget: a fixed share for each worker of the quick lane, and the rest for renders.
  init(
    _ settings: Settings, dataFolder: String, originals: OriginalStore, cache: FrameCache, catalogue: Catalogue,
    shared: SharedDerivatives?, workers: any CodedPictureDecoder, metrics: MetricsRegistry
  ) {
    let cores = UsableCores.count
    let memory = Self.memoryBudget(settings)
    let quickWorkers = max(1, min(cores, Self.maximumQuickWorkers, memory / 4 / ImagePipeline.quickWorkerBytes))
    let budget = ByteBudget(capacityBytes: max(0, memory - quickWorkers * ImagePipeline.quickWorkerBytes))
    let release = MemoryRelease()
    let quickLane = WorkQueue(
      label: "photod.quick", workers: quickWorkers, limit: .max, qos: .userInitiated, onIdle: release.schedule)
    let renderLane = RenderLane(
      label: "photod.render", workers: settings.render.workers == 0 ? cores : settings.render.workers, budget: budget,
      onIdle: release.schedule)
    disk = Self.diskStore(settings, dataFolder)
    self.shared = shared
    frames = FrameStore(disk, shared: shared, isRemoteLibrary: originals.downloader != nil)
    let pipeline = ImagePipeline(
      originals: originals, memory: cache, store: frames, quickLane: quickLane, renderLane: renderLane, budget: budget,
      maximumWaitingJobs: settings.render.queueLength, maximumEarlyRenders: settings.render.earlyRenders,
      limits: settings.codec, workers: workers, metrics: ImageMetrics(metrics),
      logger: Logger(label: "images"))
    manager = ImageManager(pipeline, limits: settings.render.limits)
    var previewLimits = PreviewService.Limits()
    previewLimits.deadline = settings.render.limits.deadline
    previews = PreviewService(
      originals: originals, lane: renderLane, codecLimits: settings.codec, workers: workers, limits: previewLimits)
    var works: [any BackgroundWork] = [
      PlaceholderProducer(
        placeholders: catalogue, originals: originals,
        renderer: PlaceholderRenderer(
          limits: settings.codec, workers: workers,
          transforms: ColorTransforms(
            capacityBytes: min(Self.placeholderTransformBytes, settings.codec.colorTransformBytes))),
        maximumBytes: renderLane.capacityBytes, derivative: frames.derivative,
        awaitDerivative: frames.waitForSharedDerivatives, logger: Logger(label: "placeholders"))
    ]
    if settings.cache.buildsDerivativesInBackground {
      works.append(
        DerivativeBackgroundWork(
          library: catalogue, originals: originals, store: frames, limits: settings.codec, workers: workers,
          logger: Logger(label: "ladder")))
    }
    background = BackgroundRunner(works, lane: renderLane, logger: Logger(label: "background"))
    MetricsSetup.register(cache, capacityBytes: settings.cache.frameBytes, in: metrics)
    MetricsSetup.register(
      budget, capacityBytes: memory, quickLane, shareBytes: ImagePipeline.quickWorkerBytes, renderLane, manager,
      maximumWaitingJobs: settings.render.queueLength, in: metrics)
    MetricsSetup.register(disk, in: metrics)
    MetricsSetup.register(shared, in: metrics)
  }

  /// Stops background work and flushes the disk cache. Derivatives that wait for the shared store are written after a scan
  /// of the next run.
  func close() async {
    shared?.close()
    await background.stopAndFlush()
    disk?.close()
  }

  /// The configured budget; by default the smaller of 512 MiB and a quarter of the machine's memory.
  private static func memoryBudget(_ settings: Settings) -> Int {
    if settings.memoryBudgetBytes > 0 { return settings.memoryBudgetBytes }
    return min(512 << 20, Int(clamping: ProcessInfo.processInfo.physicalMemory / 4))
  }

  /// The folder of the disk cache.
  static func diskCacheFolder(in dataFolder: String) -> String { dataFolder + "/cache" }

  private static func diskStore(_ settings: Settings, _ dataFolder: String) -> DiskStore? {
    guard settings.cache.diskBytes > 0 else { return nil }
    return DiskStore(
      folder: diskCacheFolder(in: dataFolder), capacityBytes: Int64(settings.cache.diskBytes),
      epochs: FrameStore.epochs, logger: Logger(label: "cache"))
  }
}
