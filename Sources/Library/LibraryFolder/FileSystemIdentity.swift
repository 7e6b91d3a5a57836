import CPhotodSystem
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Identifies a mounted file system and a folder on it.
///
/// No part of it is certain: device numbers change with each mount, and some file systems have no identifier. An equal
/// identity therefore means the same disk, but a different one only means that a closer check is needed.
package struct FileSystemIdentity: Sendable, Hashable, Codable {
  /// stat(2): st_dev.
  package var device: UInt64
  /// statfs(2): f_fsid, both words.
  var identifier: UInt64
  /// statfs(2): f_type.
  var type: Int64
  /// The inode of the folder.
  var inode: UInt64

  /// Stands for a file system that can't be examined, because another one is mounted over its folder. Equal to no real
  /// one.
  package static let hidden = FileSystemIdentity(device: 0, identifier: 0, type: 0, inode: 0)

  package init(device: UInt64, identifier: UInt64, type: Int64, inode: UInt64) {
    self.device = device
    self.identifier = identifier
    self.type = type
    self.inode = inode
  }
}

extension LibraryFile {
  /// The file system of this file. On a network file system this asks the server.
  package func fileSystem() throws(SystemError) -> FileSystemIdentity {
    var status = photod_file_system_status()
    guard photod_file_system_of(descriptor, &status) == 0 else { throw SystemError(code: errno) }
    return FileSystemIdentity(
      device: device, identifier: status.identifier, type: status.type, inode: identity.inode)
  }
}
