// A walk does not come to every path that `open` can open. The row of a path that no walk comes to must count as
// missing, or it would stay for ever.

import LibraryFolder
import PhotoModel

extension LibraryWalk {
  /// Whether a walk comes to a path that can be opened. It does not if the path leads through too many links, or if one
  /// of its names differs in case from the name that a folder lists.
  static func reaches(_ path: [UInt8], in root: LibraryFolder) -> Bool {
    var spellings = NameSpellings()
    var place: [UInt8] = []
    var links = 0
    for component in path.split(separator: UInt8(ascii: "/")) {
      let name = Array(component)
      // A folder that can't be opened proves nothing, so the row is kept.
      guard let folder = try? root.open(place, isFolder: true) else { return true }
      if spellings.isRespelled(name, in: folder, at: place) { return false }
      place = LibraryPath.join(place, name)
      // A link to a file is always followed.
      guard place.count < path.count, (try? folder.entry(name))?.kind == .link else { continue }
      links += 1
      if links > maximumFolderLinks { return false }
    }
    return true
  }

  /// Whether a path is a symbolic link, wherever it leads.
  static func isLink(_ path: [UInt8], in root: LibraryFolder) -> Bool {
    guard !path.isEmpty, let top = try? root.open([], isFolder: true) else { return false }
    return (try? top.entry(path))?.kind == .link
  }
}
