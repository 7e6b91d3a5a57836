// Whether a walk comes to a path that can be opened. A path that it does not come to has no file, as far as the
// catalogue is concerned: otherwise its row would be neither found nor removed.

import LibraryFolder
import PhotoModel

extension LibraryWalk {
  /// Whether a walk comes to a path that can be opened. It does not if the path leads through a link in a linked folder,
  /// or if a file system that ignores case has a name of it in another spelling.
  static func reaches(_ path: [UInt8], in root: LibraryFolder) -> Bool {
    var place: [UInt8] = []
    var isLinked = false
    for component in path.split(separator: UInt8(ascii: "/")) {
      let name = Array(component)
      // If a folder can't be listed, nothing speaks against the path.
      guard let folder = try? root.open(place, isFolder: true) else { return true }
      if isRespelled(name, in: folder) { return false }
      place = LibraryPath.join(place, name)
      // A link to a file is always followed.
      guard place.count < path.count, (try? folder.entry(name))?.kind == .link else { continue }
      if isLinked { return false }
      isLinked = true
    }
    return true
  }

  /// Whether two paths differ, and a file system that ignores case may take one for the other.
  static func areSpellings(_ path: [UInt8], _ other: [UInt8]) -> Bool { path != other && folded(path) == folded(other) }

  /// Whether a folder has a name only in another spelling. Lists the folder if its file system ignores case.
  static func isRespelled(_ name: [UInt8], in folder: LibraryFile) -> Bool {
    guard ignoresCase(of: name, in: folder), var names = try? FolderNames(notFollowingLinksOf: folder) else {
      return false
    }
    let wanted = folded(name)
    var hasSpelling = false
    while let entry = names.next() {
      if entry.name == name { return false }
      if !hasSpelling { hasSpelling = folded(entry.name) == wanted }
    }
    return hasSpelling
  }

  /// Whether a name with its ASCII letters in the other case leads to the same file. A hard link may, too.
  private static func ignoresCase(of name: [UInt8], in folder: LibraryFile) -> Bool {
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    let other = name.map { byte in letters.contains(byte | 0x20) ? byte ^ 0x20 : byte }
    // Where case counts, there is usually no such file.
    guard other != name, let found = try? folder.entry(other), let entry = try? folder.entry(name) else { return false }
    return found.identity.inode == entry.identity.inode
  }

  /// Without case. Texts are equal in any normalization, as on file systems that ignore that too.
  private static func folded(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).lowercased() }
}
