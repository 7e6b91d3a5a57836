// The files in the trash of a library folder. Scans skip it, because its folders are hidden:
//
//     .photod-trash/FOLDER OF AN ASSET/NAME    at the top of each file system

import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

package struct TrashWalk {
  /// The name of the trash.
  package static let name = [UInt8](".photod-trash".utf8)

  private let root: LibraryFolder

  package init(root: LibraryFolder) { self.root = root }

  /// The paths of the assets' folders in the trash below the top of a file system, in no particular order; none if
  /// there is no trash.
  package func folders(below top: [UInt8]) throws(SystemError) -> [[UInt8]] {
    try contents(of: LibraryPath.join(top, Self.name)).folders
  }

  /// The paths of the files in the folder of an asset; none if the folder was removed meanwhile.
  package func files(in folder: [UInt8]) throws(SystemError) -> [[UInt8]] {
    try contents(of: folder).files.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The paths of the files and of the folders in a folder of the trash, in no particular order; none if there is no
  /// such folder. A link counts as a file, because what it leads to is not in the trash.
  func contents(of path: [UInt8]) throws(SystemError) -> (files: [[UInt8]], folders: [[UInt8]]) {
    let folder: LibraryFile
    do throws(SystemError) {
      folder = try root.open(path, isFolder: true)
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return ([], []) }
      throw error
    }
    var names = try FolderNames(of: folder) { [root] name, isLink in
      !isLink && (try? root.open(LibraryPath.join(path, name), isFolder: true)) != nil
    }
    var files: [[UInt8]] = []
    var folders: [[UInt8]] = []
    while let entry = names.next() {
      let entryPath = LibraryPath.join(path, entry.name)
      if entry.isFolder { folders.append(entryPath) } else { files.append(entryPath) }
    }
    return (files, folders)
  }
}
