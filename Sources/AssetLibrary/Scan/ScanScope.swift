// What a scan looks at: everything, or some paths that something was told of. Walk and known files go through the same
// stretches of the order of paths, so that a scan of some paths is the same merge as one of all.

import LibraryFolder

struct ScanScope: Sendable {
  enum Stretch: Sendable, Hashable {
    /// What has exactly this path, if it is no folder.
    case file([UInt8])
    /// Everything below this path, if it is a folder. Of the root all there is.
    case folder([UInt8])

    var path: [UInt8] {
      switch self {
      case .file(let path), .folder(let path): path
      }
    }

    /// Where it stands in the order of paths: what is below a folder has its slash.
    fileprivate var key: [UInt8] {
      switch self {
      case .file(let path): path
      case .folder(let path): path.isEmpty ? [] : path + [UInt8(ascii: "/")]
      }
    }
  }

  /// In the order of paths; none within another.
  let stretches: [Stretch]

  static let everything = ScanScope([.folder([])])

  init(_ stretches: [Stretch]) {
    var kept: [Stretch] = []
    for (key, stretch) in stretches.map({ ($0.key, $0) }).sorted(by: { $0.0.lexicographicallyPrecedes($1.0) }) {
      if let last = kept.last {
        if last == stretch { continue }
        if case .folder(let folder) = last, isPath(key, below: folder) { continue }
      }
      kept.append(stretch)
    }
    self.stretches = kept
  }

  var isEverything: Bool { stretches == [.folder([])] }

  /// Without what lies at or below some folders.
  func without(_ folders: [[UInt8]]) -> ScanScope {
    if folders.isEmpty { return self }
    return ScanScope(
      stretches.filter { stretch in !folders.contains { stretch.path == $0 || isPath(stretch.path, below: $0) } })
  }
}

/// Who is told of what a walk comes by, before it is looked at: a folder that is watched from then on is watched for
/// everything that the walk did not see in it.
protocol WalkObserver: Sendable {
  /// The walk is about to read a folder's names.
  ///
  /// - Parameter path: below the root.
  func willList(_ path: [UInt8], _ folder: LibraryFile)
  /// There is a symbolic link, whatever it leads to: what that is may change far away from it.
  func passes(link path: [UInt8], isFolder: Bool)
}
