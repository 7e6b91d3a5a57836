import LibraryFolder

/// When each folder last changed before a walk listed it, on the clock of its own file system: that of a file server may
/// differ from this machine's.
struct ListedFolders {
  /// Maximum number of remembered folders, 16 bytes each.
  private static let limit = 1 << 18

  /// By the hash of the folder's path.
  private var times: [Int: Int64] = [:]
  private var isComplete = true

  mutating func record(_ path: [UInt8], _ folder: LibraryFile) {
    guard times.count < Self.limit else {
      isComplete = false
      return
    }
    times[path.hashValue] = Self.time(of: folder)
  }

  /// Whether a folder has changed since the walk listed it, or was not there. `nil`: not known.
  func hasChanged(_ path: [UInt8], _ folder: LibraryFile) -> Bool? {
    guard let time = times[path.hashValue] else { return isComplete ? true : nil }
    return time != Self.time(of: folder)
  }

  private static func time(of folder: LibraryFile) -> Int64 {
    max(folder.changeTimeNanoseconds, folder.identity.modified)
  }
}
