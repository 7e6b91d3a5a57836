import CPhotodSystem

#if canImport(Glibc)
  import Glibc
#endif

/// What tells one mounted file system from another, and a folder on it from another folder.
///
/// None of it is certain: device numbers are given out anew with each mount, and some file systems have no identifier.
/// So the same identity means the same disk, and another one only that somebody should look closer.
package struct FileSystemIdentity: Sendable, Hashable, Codable {
  /// stat(2): st_dev.
  package var device: UInt64
  /// statfs(2): f_fsid, both its words.
  package var identifier: UInt64
  /// statfs(2): f_type.
  package var type: Int64
  /// Of the folder itself.
  package var inode: UInt64

  package init(device: UInt64, identifier: UInt64, type: Int64, inode: UInt64) {
    self.device = device
    self.identifier = identifier
    self.type = type
    self.inode = inode
  }
}

extension LibraryFile {
  /// The file system that this is on. On a network it asks there.
  package func fileSystem() throws(SystemError) -> FileSystemIdentity {
    var status = photod_file_system_status()
    guard photod_file_system_of(descriptor, &status) == 0 else { throw SystemError(code: errno) }
    return FileSystemIdentity(
      device: device, identifier: status.identifier, type: status.type, inode: identity.inode)
  }
}
