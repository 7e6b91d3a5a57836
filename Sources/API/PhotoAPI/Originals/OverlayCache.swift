import OrderedCollections
import PhotoModel
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

  private struct State {
    /// The least recently used first.
    var overlays: OrderedDictionary<Key, ByteOverlay> = [:]
    var bytes = 0
  }

  private let state = Mutex(State())

  /// The overlay of a file, made by `make` if it is not known.
  ///
  /// - Parameter key: of the open file.
  func overlay<Failure>(of key: Key, _ make: () throws(Failure) -> ByteOverlay) throws(Failure) -> ByteOverlay {
    let known = state.withLock { state -> ByteOverlay? in
      guard let overlay = state.overlays.removeValue(forKey: key) else { return nil }
      state.overlays[key] = overlay
      return overlay
    }
    if let known { return known }
    let overlay = try make()
    let size = overlay.storedBytes
    guard size <= Self.maximumBytes / 4 else { return overlay }
    state.withLock { state in
      guard state.overlays.updateValue(overlay, forKey: key) == nil else { return }
      state.bytes += size
      while state.overlays.count > Self.capacity || state.bytes > Self.maximumBytes {
        state.bytes -= state.overlays.removeFirst().value.storedBytes
      }
    }
    return overlay
  }
}
