import PhotoModel

/// Memory, and behind it the disk: where final frames are kept.
struct FrameCaches: Sendable {
  let memory: FrameCache
  let store: FrameStore

  /// A kept frame. Reads one file where it is on disk alone, and keeps it in memory then.
  func frame(for key: RenditionKey) -> ImageFrame? {
    if let cached = memory.frame(for: key) { return ImageFrame(cached) }
    guard let stored = store.frame(for: key) else { return nil }
    return keep(stored, for: key, onDisk: false)
  }

  /// Keeps a final, complete frame. What is returned is to be used in its place: its bytes are the cache's.
  func keep(_ frame: ImageFrame, for key: RenditionKey, onDisk: Bool = true) -> ImageFrame {
    if onDisk { store.store(frame, for: key) }
    guard let cached = memory.store(frame, for: key) else { return frame }
    return frame.kept(as: cached)
  }
}
