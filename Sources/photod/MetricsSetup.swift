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
  }

  static func register(
    _ cache: FrameCache, capacityBytes: Int, _ budget: MemoryBudget, in registry: MetricsRegistry
  ) {
    registry.gauge(
      "photod_frame_cache_bytes", "Bytes of frames that are kept in memory.", read: { Double(cache.byteCount) })
    registry.gauge(
      "photod_frame_cache_capacity_bytes", "Bytes of frames that may be kept in memory: cache.frameBytes.",
      read: { Double(capacityBytes) })
    registry.gauge(
      "photod_memory_budget_bytes", "Bytes that all renders together may hold: memoryBudget.",
      read: { Double(budget.capacityBytes) })
    registry.gauge(
      "photod_memory_in_use_bytes", "Bytes of that budget that are reserved.", read: { Double(budget.bytesInUse) })
  }
}
