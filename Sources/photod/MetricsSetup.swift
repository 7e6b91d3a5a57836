import CPhotodSystem
import DiskCache
import HTTPServer
import ImageService
import LibraryScan
import OriginalDownloads
import PhotoModel
import Primitives
import SharedDerivatives
import Telemetry

/// Registers all metrics except those of `ImageMetrics`. Each value is read from its owner at the time of a scrape.
enum MetricsSetup {
  static func register(_ server: Server, limits: ServerLimits, in registry: MetricsRegistry) {
    for status in ServerStatistics.StatusClass.allCases {
      registry.counter(
        "photod_http_requests_total", "Responses by status class.", ["status": status.rawValue],
        read: { Double(server.statistics.responses[status] ?? 0) })
    }
    registry.counter(
      "photod_http_prepared_responses_total", "Responses sent from the response cache in memory.",
      read: { Double(server.statistics.preparedResponses) })
    registry.counter(
      "photod_http_sent_bytes_total", "Bytes of responses that the kernel accepted, including heads.",
      read: { Double(server.statistics.sentBytes) })
    registry.gauge(
      "photod_http_connections", "Open connections.", read: { Double(server.statistics.connections) })
    registry.counter(
      "photod_http_connections_refused_total", "Connections that were closed at http.connectionsPerAddress.",
      read: { Double(server.statistics.refusedConnections) })
    registry.gauge(
      "photod_http_request_buffer_bytes", "Bytes of requests in memory, limited by http.requestBufferBytes.",
      read: { Double(server.statistics.requestBufferBytes) })
    registry.gauge(
      "photod_http_request_buffer_capacity_bytes", "Maximum bytes of requests in memory (http.requestBufferBytes).",
      read: { Double(limits.requestBufferBytes) })
    registry.gauge(
      "photod_http_response_buffer_bytes",
      "Bytes of JSON, originals and archives that may wait for slow clients, limited by http.responseBufferBytes.",
      read: { Double(server.statistics.responseBufferBytes) })
    registry.gauge(
      "photod_http_response_buffer_capacity_bytes",
      "Maximum bytes of JSON, originals and archives that may wait for slow clients (http.responseBufferBytes).",
      read: { Double(limits.responseBufferBytes) })
  }

  static func register(_ cache: FrameCache, capacityBytes: Int, in registry: MetricsRegistry) {
    registry.gauge(
      "photod_frame_cache_bytes", "Bytes of frames in the memory cache.", read: { Double(cache.byteCount) })
    registry.gauge(
      "photod_frame_cache_capacity_bytes", "Maximum bytes of frames in the memory cache (cache.frameBytes).",
      read: { Double(capacityBytes) })
    registry.gauge(
      "photod_frame_cache_pinned_bytes",
      "Bytes of frames that caching managers keep in the memory cache.",
      read: { Double(cache.pinnedByteCount) })
    registry.gauge(
      "photod_frame_cache_pinned_capacity_bytes",
      "Maximum bytes of frames that caching managers keep (cache.pinnedBytes).",
      read: { Double(cache.pinnedCapacityBytes) })
  }

  static func register(_ upgrades: EncodingUpgrades, in registry: MetricsRegistry) {
    registry.counter(
      "photod_upgrades_total", "Frames that smaller encodings have replaced.",
      read: { Double(upgrades.statistics.made) })
    registry.counter(
      "photod_upgrades_refused_total", "Attempts at a smaller encoding that failed or gave no smaller one.",
      read: { Double(upgrades.statistics.notSmaller + upgrades.statistics.failed) })
    registry.counter(
      "photod_upgrades_saved_bytes_total", "Bytes of replaced frames less those of the smaller ones.",
      read: { Double(upgrades.statistics.savedBytes) })
    registry.counter(
      "photod_upgrades_seconds_total", "Time spent on making smaller encodings, limited by render.upgradePercent.",
      read: { upgrades.statistics.seconds })
  }

  /// Distinguishes a leak from free memory that is not yet returned to the kernel.
  static func registerMemory(in registry: MetricsRegistry) {
    registry.gauge(
      "photod_allocated_bytes", "Bytes allocated and not freed by the process.",
      read: { Double(photod_allocated_bytes()) })
  }

  static func register(_ caching: CachingManagerRegistry, in registry: MetricsRegistry) {
    registry.gauge(
      "photod_caching_managers", "Caching managers, including the default ones in use.",
      read: { Double(caching.counts.managers) })
    registry.gauge(
      "photod_preheat_pending", "Frames that caching managers wait for.",
      read: { Double(caching.counts.pending) })
  }

  /// - Parameters:
  ///   - capacityBytes: the whole memory budget: render reservations plus the quick workers' shares.
  ///   - shareBytes: the share of one quick worker.
  ///   - maximumWaitingJobs: of the pipeline of `images`.
  static func register(
    _ budget: ByteBudget, capacityBytes: Int, _ quickLane: WorkQueue, shareBytes: Int, _ renderLane: RenderLane,
    _ images: ImageManager, maximumWaitingJobs: Int, in registry: MetricsRegistry
  ) {
    registry.gauge(
      "photod_memory_budget_bytes", "Maximum bytes that all renders together may reserve (memoryBudgetBytes).",
      read: { Double(capacityBytes) })
    registry.gauge(
      "photod_memory_in_use_bytes", "Bytes that renders have reserved from the memory budget.",
      read: { Double(budget.bytesInUse + quickLane.depth.running * shareBytes) })
    registry.gauge(
      "photod_render_queue_depth", "Work that waits for a worker, by lane.", ["lane": "quick"],
      read: { Double(quickLane.depth.waiting) })
    registry.gauge(
      "photod_render_queue_depth", "Work that waits for a worker, by lane.", ["lane": "interactive"],
      read: { Double(renderLane.waitingCounts.interactive) })
    registry.gauge(
      "photod_render_queue_depth", "Work that waits for a worker, by lane.", ["lane": "background"],
      read: { Double(renderLane.waitingCounts.background) })
    registry.gauge(
      "photod_render_waiting_jobs", "Jobs whose render has not started, limited by render.queueLength.",
      read: { Double(images.waitingJobCount) })
    registry.gauge(
      "photod_render_waiting_jobs_limit", "Maximum jobs whose render has not started (render.queueLength).",
      read: { Double(maximumWaitingJobs) })
  }

  /// - Parameter disk: `nil` without a disk cache; all values are 0 then.
  static func register(_ disk: DiskStore?, in registry: MetricsRegistry) {
    let statistics: @Sendable () -> DiskStoreStatistics = { disk?.statistics ?? DiskStoreStatistics() }
    registry.gauge(
      "photod_disk_cache_capacity_bytes", "Maximum bytes of the disk cache (cache.diskBytes).",
      read: { Double(disk?.capacityBytes ?? 0) })
    for (kind, content) in [("frame", \DiskStoreStatistics.frames), ("derivative", \DiskStoreStatistics.derivatives)] {
      registry.gauge(
        "photod_disk_cache_bytes", "Bytes in the disk cache, by kind of entry.", ["kind": kind],
        read: { Double(statistics()[keyPath: content].bytes) })
      registry.gauge(
        "photod_disk_cache_entries", "Entries in the disk cache, by kind.", ["kind": kind],
        read: { Double(statistics()[keyPath: content].entries) })
    }
    let counts: [(event: String, count: any KeyPath<DiskStoreStatistics, Int> & Sendable)] = [
      ("hit", \.hits), ("miss", \.misses), ("stored", \.stored), ("evicted", \.evicted), ("outdated", \.outdated),
      ("removed", \.removed), ("dropped", \.dropped), ("damaged", \.corrupt), ("failed", \.failures),
    ]
    for (event, count) in counts {
      registry.counter(
        "photod_disk_cache_events_total", "Lookups and stores of the disk cache, by result.", ["event": event],
        read: { Double(statistics()[keyPath: count]) })
    }
    registry.gauge(
      "photod_disk_cache_unavailable",
      "1 while the disk cache can't be used: full, read-only, broken, or used by another process.",
      read: { statistics().isOff || statistics().isSuspended ? 1 : 0 })
  }

  /// - Parameter shared: `nil` if derivatives are not shared; all values are 0 then.
  static func register(_ shared: SharedDerivatives?, in registry: MetricsRegistry) {
    typealias Counts = SharedDerivatives.Counts
    let counts: [(event: String, count: any KeyPath<Counts, Int> & Sendable)] = [
      ("hit", \.hits), ("miss", \.misses), ("damaged", \.damaged), ("failed", \.failedReads),
      ("suspended", \.suspendedReads), ("stored", \.written), ("write_failed", \.failedWrites),
      ("dropped", \.droppedWrites),
    ]
    for (event, count) in counts {
      registry.counter(
        "photod_shared_derivatives_events_total",
        "Reads and writes of the store of shared derivatives (cache.derivatives), by result.", ["event": event],
        read: { Double(shared?.counts[keyPath: count] ?? 0) })
    }
    registry.gauge(
      "photod_shared_derivatives_waiting_writes",
      "Objects that wait to be written, limited by cache.derivativeWrites.",
      read: { Double(shared?.counts.waitingWrites ?? 0) })
    registry.gauge(
      "photod_shared_derivatives_suspended", "1 while the store is not read because it failed repeatedly.",
      read: { shared?.counts.isSuspended == true ? 1 : 0 })
  }

  /// - Parameter downloads: `nil` for a library in a folder; all values are 0 then.
  static func register(_ downloads: OriginalDownloads?, capacityBytes: Int64, in registry: MetricsRegistry) {
    typealias Counts = OriginalDownloads.Counts
    func value(_ read: @escaping @Sendable (Counts) -> Double) -> @Sendable () -> Double {
      { downloads.map { read($0.counts) } ?? 0 }
    }
    registry.gauge(
      "photod_originals_bytes", "Bytes of originals of a remote library in the data folder.",
      read: value { Double($0.usedBytes) })
    registry.gauge(
      "photod_originals_reserved_bytes", "Bytes of originals that are being downloaded.",
      read: value { Double($0.reservedBytes) })
    registry.gauge(
      "photod_originals_capacity_bytes", "Maximum bytes of originals in the data folder (originals.diskBytes).",
      read: { downloads == nil ? 0 : Double(capacityBytes) })
    registry.gauge(
      "photod_originals", "Originals of a remote library in the data folder.", read: value { Double($0.originals) })
    registry.gauge(
      "photod_downloads", "Downloads of originals, by state.", ["state": "running"],
      read: value { Double($0.running) })
    registry.gauge(
      "photod_downloads", "Downloads of originals, by state.", ["state": "waiting"],
      read: value { Double($0.waiting) })
    registry.gauge(
      "photod_downloads", "Downloads of originals, by state.", ["state": "paused"],
      read: value { Double($0.paused) })
    let results: [(result: String, count: any KeyPath<OriginalDownloads.EndedCounts, Int> & Sendable)] = [
      ("complete", \.complete), ("failed", \.failed), ("abandoned", \.abandoned),
    ]
    for (result, count) in results {
      registry.counter(
        "photod_downloads_ended_total",
        "Downloads of originals, by how they ended; abandoned: all requests were cancelled.", ["result": result],
        read: value { Double($0.ended[keyPath: count]) })
    }
    registry.counter(
      "photod_downloaded_bytes_total", "Bytes of complete downloads of originals.",
      read: value { Double($0.ended.completeBytes) })
  }

  /// - Parameter kept: `nil` for a library in a folder; all values are 0 then.
  static func register(_ kept: KeptOriginals?, in registry: MetricsRegistry) {
    let states: [(state: String, count: any KeyPath<KeptOriginals.Counts, Int> & Sendable)] = [
      ("local", \.local), ("missing", \.missing), ("left_out", \.leftOut),
    ]
    for (state, count) in states {
      registry.gauge(
        "photod_kept_originals",
        "Originals to keep (keepOriginal), by state; left_out: beyond originals.keptPercent of the store.",
        ["state": state], read: { kept.map { Double($0.counts[keyPath: count]) } ?? 0 })
    }
  }

  static func register(
    scans counts: @escaping @Sendable () -> (completed: Int, failed: Int), in registry: MetricsRegistry
  ) {
    let help = "Scans of the whole library, by result."
    registry.counter(
      "photod_library_scans_total", help, ["result": "completed"], read: { Double(counts().completed) })
    registry.counter("photod_library_scans_total", help, ["result": "failed"], read: { Double(counts().failed) })
  }

  /// - Parameter statistics: returns `nil` while the library is not watched.
  static func register(
    watching statistics: @escaping @Sendable () -> WatchStatistics?, in registry: MetricsRegistry
  ) {
    registry.gauge(
      "photod_watch_folders", "Watched folders of the library.", read: { Double(statistics()?.folders ?? 0) })
    registry.gauge(
      "photod_watch_unwatched_folders",
      "Folders that can't be watched because of watch.maximumFolders or the kernel's limit.",
      read: { Double(statistics()?.unwatchedFolders ?? 0) })
    registry.gauge(
      "photod_watch_pending_paths", "Changed paths that wait to be scanned.",
      read: { Double(statistics()?.pendingPaths ?? 0) })
    registry.counter(
      "photod_watch_events_total", "File system events that the kernel reported for watched folders.",
      read: { Double(statistics()?.events ?? 0) })
    registry.counter(
      "photod_watch_overflows_total", "Overflows of the kernel's event queue; each causes a full scan.",
      read: { Double(statistics()?.overflows ?? 0) })
    registry.counter(
      "photod_watch_scans_total", "Scans of changed paths.", read: { Double(statistics()?.scans ?? 0) })
  }
}
