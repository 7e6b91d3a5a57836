import Primitives

/// The two caches of final frames: memory first, then disk.
struct TieredFrameCache: Sendable {
  let memory: FrameCache
  let store: FrameStore
  /// Memory budget for uncached frames while they are being sent.
  let budget: ByteBudget

  /// A cached frame. If it is only on disk, reads one file and then keeps the frame in memory. `nil` also if there is
  /// neither cache room nor memory for it now.
  func frame(for key: RenditionKey) -> ImageFrame? {
    if let cached = memory.frame(for: key) { return ImageFrame(cached) }
    guard let stored = store.frame(for: key) else { return nil }
    return reservingMemory(for: keep(stored, for: key, onDisk: false))
  }

  /// Reserves memory for a frame while it is being sent, if nothing owns its bytes yet. `nil` if the budget has no
  /// memory left now.
  func reservingMemory(for frame: ImageFrame) -> ImageFrame? {
    if frame.memoryOwner != nil { return frame }
    guard let reservation = budget.tryReserve(frame.bytes.capacity) else { return nil }
    var frame = frame
    frame.memoryOwner = reservation
    return frame
  }

  /// Stores a final, complete frame. Use the returned frame instead of the argument: its bytes are the cache's.
  func keep(_ frame: ImageFrame, for key: RenditionKey, onDisk: Bool = true) -> ImageFrame {
    if onDisk { store.store(frame, for: key) }
    guard let cached = memory.store(frame, for: key) else { return frame }
    return frame.usingBytes(of: cached)
  }
}
