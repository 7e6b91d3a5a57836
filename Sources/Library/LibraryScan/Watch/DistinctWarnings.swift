import Logging
import Synchronization

/// Logs each warning at most once between two full scans.
final class DistinctWarnings: Sendable {
  /// Maximum number of different warnings between two full scans.
  private static let limit = 16

  private let logger: Logger
  /// Keys of the warnings since the last full scan.
  private let keys = Mutex<Set<String>>([])

  init(logger: Logger) { self.logger = logger }

  func log(_ message: Logger.Message, key: String, _ metadata: Logger.Metadata) {
    let isNew = keys.withLock { $0.count < Self.limit && $0.insert(key).inserted }
    if isNew { logger.warning(message, metadata: metadata) }
  }

  /// Lets all warnings but one be logged again.
  func forget(except key: String?) { keys.withLock { $0 = $0.filter { $0 == key } } }
}
