import DequeModule
import PhotoModel
import Synchronization

/// The CRCs of recently sent files. An archive ends with the CRCs of all its files, so a resumed download would
/// otherwise have to read the earlier files again.
final class ChecksumCache: Sendable {
  /// Maximum number of CRCs: more than an archive has entries.
  static let capacity = 131_072

  struct Key: Sendable, Hashable {
    let identity: FileIdentity
    /// The ctime, as of ``ArchiveListing/changeTimeNanoseconds(_:)``: a file may be rewritten and its modification time
    /// restored.
    let changeTimeNanoseconds: Int64
    let slice: ByteRange?
    let includesLocation: Bool
  }

  private struct State {
    var values: [Key: UInt32] = [:]
    /// The keys, the oldest first.
    var order: Deque<Key> = []
  }

  private let state = Mutex(State())

  func value(_ key: Key) -> UInt32? { state.withLock { $0.values[key] } }

  func keep(_ value: UInt32, _ key: Key) {
    state.withLock { state in
      guard state.values.updateValue(value, forKey: key) == nil else { return }
      state.order.append(key)
      if state.order.count > Self.capacity { state.values[state.order.removeFirst()] = nil }
    }
  }
}
