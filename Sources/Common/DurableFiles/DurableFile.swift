import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Replaces files atomically and durably: after a power failure the file has either its old or its complete new
/// content.
package enum DurableFile {
  /// Syncs a file that was just written, renames it, and syncs its folder. Throws ``SystemError``.
  package static func rename(_ written: String, to path: String) throws(SystemError) {
    try sync(written)
    guard Glibc.rename(written, path) == 0 else { throw SystemError(code: errno) }
    try sync(folder(of: path))
  }

  /// Writes a file, or the names in a folder, to the disk.
  static func sync(_ path: String) throws(SystemError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemError(code: errno) }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  }
}
