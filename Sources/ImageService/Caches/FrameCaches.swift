import PhotoModel

/// Memory, and behind it the disk: where final frames are kept.
struct FrameCaches: Sendable {
  let memory: FrameCache
  let store: FrameStore
  /// What frames that are in no cache draw on for as long as somebody sends them.
  let budget: MemoryBudget

  /// A kept frame. Reads one file where it is on disk alone, and keeps it in memory then; `nil` also where there is neither
  /// room nor memory for it now.
  func frame(for key: RenditionKey) -> ImageFrame? {
    if let cached = memory.frame(for: key) { return ImageFrame(cached) }
    guard let stored = store.frame(for: key) else { return nil }
    return held(keep(stored, for: key, onDisk: false))
  }

  /// A frame with memory of the budget's for as long as it is being sent, if nobody answers for it yet; `nil`: there is
  /// none left for it now.
  func held(_ frame: ImageFrame) -> ImageFrame? {
    if frame.holding != nil { return frame }
    guard let reservation = budget.tryReserve(frame.bytes.capacity) else { return nil }
    var frame = frame
    frame.holding = reservation
    return frame
  }

  /// Keeps a final, complete frame. What is returned is to be used in its place: its bytes are the cache's.
  func keep(_ frame: ImageFrame, for key: RenditionKey, onDisk: Bool = true) -> ImageFrame {
    if onDisk { store.store(frame, for: key) }
    guard let cached = memory.store(frame, for: key) else { return frame }
    return frame.kept(as: cached)
  }
}
