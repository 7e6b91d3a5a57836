import LibraryFolder
import PhotoModel

/// Compares the spelling of paths with the names that folders list. A file system that ignores case opens a name in any
/// spelling, but a folder lists one. The names of the last folder are cached, so that many of its names cost one
/// listing.
struct NameSpellings {
  private var listed: (path: [UInt8], names: Set<[UInt8]>)?

  /// Whether a folder has a name only in another spelling.
  mutating func isRespelled(_ name: [UInt8], in folder: LibraryFile, at path: [UInt8]) -> Bool {
    if let listed, listed.path == path, listed.names.contains(name) { return false }
    guard Self.hasOtherCase(name, in: folder), var found = try? FolderNames(notFollowingLinksOf: folder) else {
      return false
    }
    var names: Set<[UInt8]> = []
    while let entry = found.next() { names.insert(entry.name) }
    listed = (path: path, names: names)
    if names.contains(name) { return false }
    let wanted = Self.folded(name)
    return names.contains { Self.folded($0) == wanted }
  }

  /// Whether two paths differ, and a file system that ignores case may take one for the other.
  static func areSpellings(_ path: [UInt8], _ other: [UInt8]) -> Bool { path != other && folded(path) == folded(other) }

  /// Whether the path exists in the other case, too. Where case counts, it usually does not. Comparing inodes does not
  /// help: some file systems, such as exFAT through FUSE, give each spelling an inode of its own.
  static func hasOtherCase(_ path: [UInt8], in folder: LibraryFile) -> Bool {
    let text = String(decoding: path, as: UTF8.self)
    let lower = text.lowercased()
    let other = Array((text == lower ? text.uppercased() : lower).utf8)
    return other != path && (try? folder.entry(other)) != nil
  }

  /// The path without case. Swift compares texts in any normalization as equal, like file systems that ignore it too.
  private static func folded(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).lowercased() }
}
