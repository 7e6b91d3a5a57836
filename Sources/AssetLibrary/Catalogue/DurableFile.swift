import LibraryFolder

#if canImport(Glibc)
  import Glibc
#endif

/// Files that are there as a whole or not at all, also behind a power cut.
enum DurableFile {
  /// Renames a file that was just written, its bytes and then its name made sure of. Throws ``SystemError``.
  static func put(_ written: String, inPlaceOf path: String) throws(SystemError) {
    try sync(written)
    guard rename(written, path) == 0 else { throw SystemError(code: errno) }
    try sync(folder(of: path))
  }

  private static func sync(_ path: String) throws(SystemError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemError(code: errno) }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
  }
}
