import AssetLibrary
import DiskCache
import HTTPServer
import ImageService
import PhotoModel
import Telemetry

/// Which metrics there are, beside those that `ImageMetrics` counts. Everything here is read where it is kept, when
/// somebody asks: nothing is written for it.
enum MetricsSetup {
  static func register(_ server: Server, limits: ServerLimits, in registry: MetricsRegistry) {
    for status in ServerStatistics.StatusClass.allCases {
      registry.counter(
        "photod_http_requests_total", "Answers, by their status.", ["status": status.rawValue],
        read: { Double(server.statistics.answers[status] ?? 0) })
    }
    registry.counter(
      "photod_http_prepared_answers_total", "Answers that were sent as they were prepared, from memory.",
      read: { Double(server.statistics.preparedAnswers) })
    registry.counter(
      "photod_http_sent_bytes_total", "Bytes of answers that the kernel took, heads and all.",
      read: { Double(server.statistics.sentBytes) })
    registry.gauge(
      "photod_http_connections", "Connections that are open.", read: { Double(server.statistics.connections) })
    registry.gauge(
      "photod_http_received_bytes", "Bytes of requests that are held, out of http.receivedBytes.",
      read: { Double(server.statistics.receivedBytes) })
    registry.gauge(
      "photod_http_received_capacity_bytes", "Bytes of requests that may be held: http.receivedBytes.",
      read: { Double(limits.receivedBytes) })
    registry.gauge(
      "photod_http_answer_bytes", "Bytes of JSON that wait for slow readers, out of http.answerBytes.",
      read: { Double(server.statistics.answerBytes) })
    registry.gauge(
      "photod_http_answer_capacity_bytes", "Bytes of JSON that may wait for slow readers: http.answerBytes.",
      read: { Double(limits.answerBytes) })
  }

  static func register(_ cache: FrameCache, capacityBytes: Int, in registry: MetricsRegistry) {
    registry.gauge(
      "photod_frame_cache_bytes", "Bytes of frames that are kept in memory.", read: { Double(cache.byteCount) })
    registry.gauge(
      "photod_frame_cache_capacity_bytes", "Bytes of frames that may be kept in memory: cache.frameBytes.",
      read: { Double(capacityBytes) })
    registry.gauge(
      "photod_pinned_frame_bytes", "Bytes of frames that caching managers keep in memory, part of those of the cache.",
      read: { Double(cache.pinnedByteCount) })
    registry.gauge(
      "photod_pinned_frame_capacity_bytes", "Bytes of frames that caching managers may keep: cache.pinnedBytes.",
      read: { Double(cache.pinnedCapacityBytes) })
  }

  static func register(_ caching: CachingManagers, in registry: MetricsRegistry) {
    registry.gauge(
      "photod_caching_managers", "Caching managers that there are.", read: { Double(caching.depths.managers) })
    registry.gauge(
      "photod_preheat_pending", "Frames that caching managers want and do not have yet.",
      read: { Double(caching.depths.pending) })
  }

  /// - Parameters:
  ///   - capacityBytes: the whole of the memory budget: what renders reserve, and the quick workers' shares.
  ///   - shareBytes: what one quick worker may hold.
  static func register(
    _ budget: MemoryBudget, capacityBytes: Int, _ quick: WorkQueue, shareBytes: Int, _ lane: RenderLane,
    _ images: ImageManager, in registry: MetricsRegistry
  ) {
    registry.gauge(
      "photod_memory_budget_bytes", "Bytes that all renders together may hold: memoryBudget.",
      read: { Double(capacityBytes) })
    registry.gauge(
      "photod_memory_in_use_bytes", "Bytes of that budget that are reserved.",
      read: { Double(budget.bytesInUse + quick.depth.running * shareBytes) })
    registry.gauge(
      "photod_render_queue_depth", "Work that waits, by its lane.", ["lane": "quick"],
      read: { Double(quick.depth.waiting) })
    registry.gauge(
      "photod_render_queue_depth", "Work that waits, by its lane.", ["lane": "interactive"],
      read: { Double(lane.depths.interactive) })
    registry.gauge(
      "photod_render_queue_depth", "Work that waits, by its lane.", ["lane": "background"],
      read: { Double(lane.depths.background) })
    registry.gauge(
      "photod_render_waiting", "Jobs whose render has not begun, out of render.queue.",
      read: { Double(images.waitingJobCount) })
  }

  static func register(_ disk: DiskStore, in registry: MetricsRegistry) {
    registry.gauge(
      "photod_disk_cache_capacity_bytes", "Bytes that the disk cache may take: cache.diskBytes.",
      read: { Double(disk.capacityBytes) })
    for (kind, content) in [("frame", \DiskStoreStatistics.frames), ("derivative", \DiskStoreStatistics.derivatives)] {
      registry.gauge(
        "photod_disk_cache_bytes", "Bytes that the disk cache takes, by what is kept.", ["kind": kind],
        read: { Double(disk.statistics[keyPath: content].bytes) })
      registry.gauge(
        "photod_disk_cache_entries", "Entries of the disk cache, by what is kept.", ["kind": kind],
        read: { Double(disk.statistics[keyPath: content].entries) })
    }
    let counts: [(event: String, count: any KeyPath<DiskStoreStatistics, Int> & Sendable)] = [
      ("hit", \.hits), ("miss", \.misses), ("stored", \.stored), ("evicted", \.evicted), ("outdated", \.outdated),
      ("dropped", \.dropped), ("corrupt", \.corrupt), ("failure", \.failures),
    ]
    for (event, count) in counts {
      registry.counter(
        "photod_disk_cache_events_total", "What came of look-ups and of entries to be kept.", ["event": event],
        read: { Double(disk.statistics[keyPath: count]) })
    }
    registry.gauge(
      "photod_disk_cache_off", "1 while nothing can be kept on disk: full, read-only, broken, or another's.",
      read: { disk.statistics.isOff || disk.statistics.isQuiet ? 1 : 0 })
  }

  /// - Parameter statistics: `nil` while nothing is watched.
  static func register(
    watching statistics: @escaping @Sendable () -> WatchStatistics?, in registry: MetricsRegistry
  ) {
    registry.gauge(
      "photod_watch_folders", "Folders of the library that are watched.", read: { Double(statistics()?.folders ?? 0) })
    registry.gauge(
      "photod_watch_unwatched_folders",
      "Folders that the last scan came by and that can't be watched: watch.folders, or the kernel's own limit.",
      read: { Double(statistics()?.unwatchedFolders ?? 0) })
    registry.gauge(
      "photod_watch_waiting_paths", "Paths that something happened to and that are not scanned yet.",
      read: { Double(statistics()?.waitingPaths ?? 0) })
    registry.counter(
      "photod_watch_events_total", "What the kernel told of the library's folders.",
      read: { Double(statistics()?.events ?? 0) })
    registry.counter(
      "photod_watch_overflows_total", "How often the kernel had more to tell than it keeps: all was scanned then.",
      read: { Double(statistics()?.overflows ?? 0) })
    registry.counter(
      "photod_watch_scans_total", "Scans of what something happened to.", read: { Double(statistics()?.scans ?? 0) })
  }
}
