// Whether a walk comes to a path that can be opened. A row of a path that it does not come to must count as missing:
// `open` succeeds, and the row would stay for ever.

import LibraryFolder
import PhotoModel

extension LibraryWalk {
  /// Whether a walk comes to a path that can be opened. It does not if the path leads through too many links, or if a
  /// file system that ignores case has a name of it in another spelling.
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
}
