// Whether a walk comes to a path that can be opened. A path that it does not come to has no file, as far as the
// catalogue is concerned: otherwise its row would be neither found nor removed.

import LibraryFolder

extension LibraryWalk {
  /// Whether a walk comes to a path that can be opened. It does not if the path leads through a link in a linked folder,
  /// or if a file system that ignores case has a name of it in another spelling. Lists the folders of the path.
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

  /// Whether a folder has a name only in another spelling.
  private static func isRespelled(_ name: [UInt8], in folder: LibraryFile) -> Bool {
    guard var names = try? FolderNames(notFollowingLinksOf: folder) else { return false }
    let wanted = folded(name)
    var hasSpelling = false
    while let entry = names.next() {
      if entry.name == name { return false }
      if !hasSpelling { hasSpelling = folded(entry.name) == wanted }
    }
    return hasSpelling
  }

  /// Without case. Texts are equal in any normalization, as on file systems that ignore that too.
  private static func folded(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self).lowercased() }
}
