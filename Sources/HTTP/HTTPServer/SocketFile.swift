#if canImport(Glibc)
  import Glibc
#endif

/// The file of a socket that this process has bound. Only that file is removed: another daemon or a user may have
/// put another file at its path.
struct SocketFile: Sendable, Equatable {
  private let path: String
  private let device: dev_t
  private let inode: ino_t

  /// `nil` if no socket is at the path.
  init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  /// Whether something is at the path that is not a socket, such as a photograph.
  static func isSomethingElse(at path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
  }

  /// Removes the file, unless another one is at its path. The socket must be open: it keeps its inode number from being
  /// used again.
  func remove() {
    guard SocketFile(at: path) == self else { return }
    unlink(path)
  }
}
