/// The daemon's metrics from `/metrics` (Prometheus text), if available.
struct DaemonMetrics {
  /// By name; samples with different labels are added up.
  private let values: [String: Double]

  /// `nil` if there are no metrics.
  init?(_ client: HTTPClient) {
    guard let answer = try? client.perform(HTTPClient.request("/metrics"), keepBytes: 1 << 20), answer.status == 200
    else {
      return nil
    }
    var values: [String: Double] = [:]
    for line in String(decoding: answer.kept, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
      guard let value = line.split(separator: " ").last.flatMap({ Double($0) }) else { continue }
      values[String(line.prefix { $0 != "{" && $0 != " " }), default: 0] += value
    }
    self.values = values
  }

  var memoryBudgetBytes: Int? { bytes("photod_memory_budget_bytes") }
  var memoryInUseBytes: Int? { bytes("photod_memory_in_use_bytes") }
  var frameCacheBytes: Int? { bytes("photod_frame_cache_bytes") }
  /// The allocated memory without cached frames and memory reserved for renders.
  var otherAllocatedBytes: Int? {
    guard let allocated = bytes("photod_allocated_bytes"), let frameCacheBytes, let memoryInUseBytes else { return nil }
    return allocated - frameCacheBytes - memoryInUseBytes
  }

  /// 0 if there is no metric of that name.
  subscript(_ name: String) -> Double { values[name] ?? 0 }

  private func bytes(_ name: String) -> Int? { values[name].map { Int($0) } }
}
