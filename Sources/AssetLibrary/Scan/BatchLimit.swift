import PhotoModel

/// How many files are written at once. Each transaction waits for the disk until it is safe there, so they should be
/// few; and a scan should be seen to go on, and end soon when it is told to, also where each file takes long to read.
struct BatchLimit {
  static let least = 128
  private static let most = 2048
  private static let duration = Duration.milliseconds(500)

  private(set) var limit = least

  /// Has a batch written, and finds by the time that it took how large the next one may be.
  mutating func measure(_ state: inout Batch, _ write: (inout Batch) throws(AssetSourceError) -> Void)
    throws(AssetSourceError)
  {
    let count = state.count
    let start = ContinuousClock.now
    try write(&state)
    let took = max(ContinuousClock.now - start, .microseconds(1))
    limit = min(max(Int(Double(count) * (Self.duration / took)), Self.least), Self.most, limit * 2)
  }
}
