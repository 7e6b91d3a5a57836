// The folder that deleted files are kept in: `.photod-trash` at the top of the file system that they are on, which is the
// library's root unless another disk is mounted below it. To delete and to restore is to rename, so nothing is copied and
// nothing is ever the only copy of half a file; scans pass over hidden folders.

import LibraryFolder
import PhotoModel

struct TrashFolder: Sendable {
  static let name = [UInt8](".photod-trash".utf8)

  let root: LibraryFolder
}
