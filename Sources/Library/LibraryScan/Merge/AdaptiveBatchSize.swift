/// The number of files per transaction. Each transaction waits for the disk, so there should be few. But progress
/// should stay visible, a stop should take effect soon, and uploads and deletions wait for a batch, even if each file
/// takes long to read, as on a network mount.
struct AdaptiveBatchSize {
  private static let minimum = 8
  private static let maximum = 2048
  private static let targetDuration = Duration.milliseconds(500)

  private(set) var limit = 32

  /// Sets the size of the next batch by the time that one took.
  mutating func batchWritten(_ count: Int, in duration: Duration) {
    let wanted = Int(Double(count) * (Self.targetDuration / max(duration, .microseconds(1))))
    limit = min(max(wanted, Self.minimum), Self.maximum, limit * 2)
  }
}
