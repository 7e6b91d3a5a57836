// The files that were renamed to paths that are not scanned yet, while the library is watched. They count as missing
// until then, but keep their rows.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

struct FilesInTransit {
  private let inodes: Set<UInt64>
  /// Any missing file may be one of them.
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

  /// Whether a missing file was renamed to such a path, or may have been.
  func contains(_ file: KnownFile) -> Bool { mayBeAny || inodes.contains(file.identity.inode) }
}
