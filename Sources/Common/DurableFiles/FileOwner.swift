// The owner of files and folders that root makes, for example with `photod import`: the service runs as another user,
// and could not use them otherwise.

#if canImport(Glibc)
  import Glibc
#endif

package enum FileOwner {
  /// Whether this process gives what it makes to the owner of the folder: it runs as root.
  package static var isInherited: Bool { geteuid() == 0 }

  /// Gives a new file or folder the owner and the group of the folder that it is in.
  package static func inherit(_ path: String) {
    guard isInherited else { return }
    var (file, folder) = (stat(), stat())
    guard lstat(path, &file) == 0, stat(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".", &folder) == 0,
      file.st_uid != folder.st_uid || file.st_gid != folder.st_gid
    else { return }
    // If the file system refuses this, root stays the owner. Whether the service can use the file shows when it starts.
    _ = lchown(path, folder.st_uid, folder.st_gid)
  }

  /// Like ``inherit(_:)``, for an open file or folder. `folder` contains it, or will contain it.
  package static func inherit(_ descriptor: Int32, from folder: Int32) {
    guard isInherited else { return }
    var (file, parent) = (stat(), stat())
    guard fstat(descriptor, &file) == 0, fstat(folder, &parent) == 0,
      file.st_uid != parent.st_uid || file.st_gid != parent.st_gid
    else { return }
    _ = fchown(descriptor, parent.st_uid, parent.st_gid)
  }
}
