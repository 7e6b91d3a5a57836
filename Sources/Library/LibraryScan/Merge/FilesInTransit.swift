// Files that events report as renamed to paths that are not scanned yet. Until the scan of these paths, the files count
// as missing, but their rows are kept.

import LibraryFolder
import PhotoModel

package struct FilesInTransit {
  private let inodes: Set<UInt64>
  /// Whether any missing file may be in transit: the list of renamed paths is incomplete or has changed.
  private let mayBeAny: Bool

  var isEmpty: Bool { inodes.isEmpty && !mayBeAny }

  /// - Parameter arrivals: the renamed paths; `nil`: none are known.
  init(_ arrivals: (@Sendable () -> Arrivals)?, in root: LibraryFolder) {
    guard let arrivals else {
      inodes = []
      mayBeAny = false
      return
    }
    let arrived = arrivals()
    let top = try? root.open([], isFolder: true)
    inodes = arrived.isPartialList ? [] : Set(arrived.files.compactMap { try? top?.entry($0).identity.inode })
    // A file that was renamed again during the lookup raised another event, which changes the count.
    mayBeAny = arrived.isPartialList || arrivals().count != arrived.count
  }

  /// Whether a missing file was, or may have been, renamed to a path that is not scanned yet.
  package func contains(_ identity: FileIdentity) -> Bool { mayBeAny || inodes.contains(identity.inode) }
}
