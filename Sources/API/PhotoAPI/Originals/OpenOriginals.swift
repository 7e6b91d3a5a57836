import PhotoModel
import Primitives
import Synchronization

/// Recently sent files that are still open: a player that seeks in a video requests many small ranges, and opening the
/// file for each range would cost more than sending it.
///
/// A file is used again only if it is unchanged in every way: contents, name and mode. Files that are not used are
/// closed after ``idleTime``, so that a disk can be unmounted.
final class OpenOriginals: Sendable {
  /// Maximum number of open files.
  static let capacity = 64
  /// A file that is not used for this time is closed.
  static let idleTime = Duration.seconds(5)

  private struct Key: Hashable {
    let path: [UInt8]
    let identity: FileIdentity
  }

  private struct Entry {
    let source: any FileByteSource
    let lastUse: ContinuousClock.Instant
  }

  private let state = Mutex(LRUCache<Key, Entry>(capacity: OpenOriginals.capacity))

  /// The open file, opened by `open` if it is not open or has changed.
  ///
  /// - Parameter file: the file that the catalogue knows.
  func source<Failure>(
    of file: OriginalFile, now: ContinuousClock.Instant, _ open: () throws(Failure) -> any FileByteSource
  ) throws(Failure) -> any FileByteSource {
    let key = Key(path: file.path, identity: file.identity)
    let known = state.withLock { $0.removeValue(for: key) }
    // Asks the file system, so no lock is held.
    let source = if let known, known.source.hasSameChangeTime { known.source } else { try open() }
    // Closed after the lock is released.
    let dropped = state.withLock { $0.keep(Entry(source: source, lastUse: now), for: key) }
    return withExtendedLifetime(dropped) { source }
  }

  /// Closes the files that were not used lately.
  func closeIdle(now: ContinuousClock.Instant) {
    let dropped = state.withLock { state -> [Entry] in
      var dropped: [Entry] = []
      while let oldest = state.oldest, now - oldest.lastUse >= Self.idleTime {
        dropped.append(oldest)
        state.removeOldest()
      }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }
}
