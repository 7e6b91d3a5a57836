import PhotoModel

/// How alike two paths are. If a found file may be one of several known files, as among copies and links, it is the one
/// with the most similar path: the same name first, then the longest common end of the path.
package struct PathLikeness: Sendable, Hashable, Comparable {
  /// Whether the last components are the same text.
  package let hasSameName: Bool
  /// How many bytes the ends of the two paths have in common.
  let commonBytes: Int

  package init(_ path: [UInt8], _ other: [UInt8]) {
    hasSameName = OriginalFile.displayName(path) == OriginalFile.displayName(other)
    var count = 0
    while count < path.count && count < other.count && path[path.count - 1 - count] == other[other.count - 1 - count] {
      count += 1
    }
    commonBytes = count
  }

  package static func < (one: PathLikeness, other: PathLikeness) -> Bool {
    if one.hasSameName != other.hasSameName { return other.hasSameName }
    return one.commonBytes < other.commonBytes
  }
}
