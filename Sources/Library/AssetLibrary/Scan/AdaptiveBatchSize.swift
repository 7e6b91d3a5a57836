import PhotoModel

/// The number of files per transaction. Each transaction waits for the disk, so there should be few. But progress
/// should stay visible and a stop should take effect soon, even if each file takes long to read.
struct AdaptiveBatchSize {
  static let minimum = 128
  private static let maximum = 2048
  private static let targetDuration = Duration.milliseconds(500)

  private(set) var limit = minimum

  /// Writes a batch, and sets the size of the next one by the time that this one took.
  mutating func measure(_ state: inout ScanBatch, _ write: (inout ScanBatch) throws(AssetSourceError) -> Void)
    throws(AssetSourceError)
  {
    let count = state.count
    let start = ContinuousClock.now
    try write(&state)
    let took = max(ContinuousClock.now - start, .microseconds(1))
    limit = min(max(Int(Double(count) * (Self.targetDuration / took)), Self.minimum), Self.maximum, limit * 2)
  }
}
