import PhotoModel
import Primitives
import Synchronization

/// The overlays of files that were served lately: a video player sends a request for each part of a video, and making
/// an overlay reads all metadata of the file.
final class OverlayCache: Sendable {
  /// Maximum number of overlays.
  static let capacity = 1024
  /// Maximum bytes of all patches together: ``ByteOverlay/storedBytes``.
  static let maximumBytes = 16 << 20

  /// One content of a file. The ctime is part of it: a place may have been written into a file whose time was set back,
  /// and an overlay of its former content would not remove that place.
  struct Key: Sendable, Hashable {
    /// See ``FileIdentity/needsPath``.
    let path: [UInt8]
    let identity: FileIdentity
    let changeTimeNanoseconds: Int64
  }

  private let state = Mutex(
    LRUCache<Key, ByteOverlay>(capacity: OverlayCache.capacity, capacityBytes: OverlayCache.maximumBytes))

  /// The overlay of a file, made by `make` if it is not known.
  ///
  /// - Parameter key: of the open file.
  func overlay<Failure>(of key: Key, _ make: () throws(Failure) -> ByteOverlay) throws(Failure) -> ByteOverlay {
    if let known = state.withLock({ $0.value(for: key) }) { return known }
    let overlay = try make()
    let size = overlay.storedBytes
    if size <= Self.maximumBytes / 4 { _ = state.withLock { $0.keep(overlay, for: key, bytes: size) } }
    return overlay
  }
}
