// The image wing, put together: lanes, memory, caches, the manager that uses them, and what runs when nobody waits.

import AssetLibrary
import DiskCache
import Foundation
import ImageRender
import ImageService
import Logging
import OriginalStore
import PhotoModel
import Telemetry

struct ImageWing: Sendable {
  let manager: ImageManager
  let background: BackgroundRunner
  private let disk: DiskStore?

  /// One picture follows another in the background; a library has few profiles.
  private static let placeholderTransformBytes = 1 << 20
  /// Each has its share of the memory budget for good.
  private static let mostQuickWorkers = 8

  /// The memory budget is cut in two: what the quick lane's workers may hold at most is set aside for good, the rest is
  /// what renders draw on.
  init(
    _ settings: Settings, dataFolder: String, originals: OriginalStore, cache: FrameCache, catalogue: Catalogue,
    metrics: MetricsRegistry
  ) {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    let memory = Self.memoryBudget(settings)
    let quickWorkers = max(1, min(cores, Self.mostQuickWorkers, memory / 4 / JobSteps.quickBytes))
    let budget = MemoryBudget(capacityBytes: max(0, memory - quickWorkers * JobSteps.quickBytes))
    let release = MemoryRelease()
    let quick = WorkQueue(
      label: "photod.quick", workers: quickWorkers, limit: .max, qos: .userInitiated, whenIdle: release.soon)
    let lane = RenderLane(
      label: "photod.render", workers: settings.renderWorkers == 0 ? cores : settings.renderWorkers, budget: budget,
      whenIdle: release.soon)
    disk = Self.diskStore(settings, dataFolder)
    let store = FrameStore(disk)
    let steps = JobSteps(
      originals: originals, memory: cache, store: store, quick: quick, lane: lane, budget: budget,
      limits: settings.codec, metrics: ImageMetrics(metrics), logger: Logger(label: "images"))
    var limits = ImageManager.Limits()
    limits.waitingJobs = settings.renderQueue
    limits.deadline = .seconds(settings.requestDeadlineSeconds)
    limits.rememberedRequests = settings.rememberedRequests
    manager = ImageManager(steps, limits: limits)
    var works: [any BackgroundWork] = [
      PlaceholderSteps(
        PlaceholderWork(
          sink: catalogue, store: originals,
          maker: PlaceholderMaker(
            limits: settings.codec,
            transforms: ColorTransforms(
              capacityBytes: min(Self.placeholderTransformBytes, settings.codec.colorTransformBytes))),
          maximumBytes: lane.capacityBytes, derivative: store.derivative, logger: Logger(label: "placeholders")))
    ]
    if settings.makesLadder {
      works.append(
        LadderWork(
          library: catalogue, originals: originals, store: store, limits: settings.codec,
          logger: Logger(label: "ladder")))
    }
    background = BackgroundRunner(works, lane: lane, logger: Logger(label: "background"))
    MetricsSetup.register(cache, capacityBytes: settings.frameCacheBytes, in: metrics)
    MetricsSetup.register(
      budget, capacityBytes: memory, quick, shareBytes: JobSteps.quickBytes, lane, manager, in: metrics)
    if let disk { MetricsSetup.register(disk, in: metrics) }
  }

  /// Ends what nobody waits for, and writes what is to be kept.
  func close() async {
    await background.ended()
    disk?.close()
  }

  /// As set, or the smaller of 512 MiB and a quarter of the machine's memory.
  private static func memoryBudget(_ settings: Settings) -> Int {
    if settings.memoryBudget > 0 { return settings.memoryBudget }
    return min(512 << 20, Int(clamping: ProcessInfo.processInfo.physicalMemory / 4))
  }

  private static func diskStore(_ settings: Settings, _ dataFolder: String) -> DiskStore? {
    guard settings.diskCacheBytes > 0 else { return nil }
    return DiskStore(
      folder: dataFolder + "/cache", capacityBytes: Int64(settings.diskCacheBytes), epochs: FrameStore.epochs,
      logger: Logger(label: "cache"))
  }
}
