// The scope of a scan: the whole library, or the paths that had events. The walk and the cursor over the known files
// visit the same targets in path order, so a scan of some paths is the same merge as a full scan.

import LibraryFolder

struct ScanScope: Sendable {
  enum Target: Sendable, Hashable {
    /// The file or link at exactly this path.
    case file([UInt8])
    /// Everything below this folder; the empty path is the whole library.
    case folder([UInt8])

    var path: [UInt8] {
      switch self {
      case .file(let path), .folder(let path): path
      }
    }

    /// The sort key: a folder ends in a slash, because the paths below it do.
    fileprivate var key: [UInt8] {
      switch self {
      case .file(let path): path
      case .folder(let path): path.isEmpty ? [] : path + [UInt8(ascii: "/")]
      }
    }
  }

  /// In path order; no target contains another.
  let targets: [Target]

  static let everything = ScanScope([.folder([])])

  init(_ targets: [Target]) {
    var kept: [Target] = []
    for (key, target) in targets.map({ ($0.key, $0) }).sorted(by: { $0.0.lexicographicallyPrecedes($1.0) }) {
      if let last = kept.last {
        if last == target { continue }
        if case .folder(let folder) = last, LibraryPath.isPath(key, below: folder) { continue }
      }
      kept.append(target)
    }
    self.targets = kept
  }

  var isEverything: Bool { targets == [.folder([])] }

  /// The scope without everything at or below some folders.
  func without(_ folders: [[UInt8]]) -> ScanScope {
    if folders.isEmpty { return self }
    return ScanScope(
      targets.filter { target in
        !folders.contains { target.path == $0 || LibraryPath.isPath(target.path, below: $0) }
      })
  }
}

/// Is notified of the folders and links that a walk finds, before they are read. An observer that adds a watch here
/// gets events for every change that the walk does not see.
protocol WalkObserver: Sendable {
  /// The walk is about to read the names of a folder.
  ///
  /// - Parameter path: below the root.
  func willList(_ path: [UInt8], _ folder: LibraryFile)
  /// The walk found a symbolic link. Its target may change without an event in this folder.
  func didFind(link path: [UInt8], isFolder: Bool)
}
