import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFolder {
  /// Opens a folder below the root, making it and its parents if needed. Makes no folder through a link that leaves the
  /// library (EXDEV), and syncs each new folder.
  package func openMakingFolders(_ path: [UInt8], isPrivate: Bool = false) throws(SystemError) -> LibraryFile {
    do throws(SystemError) {
      return try open(path, isFolder: true)
    } catch {
      guard error.code == ENOENT, !path.isEmpty else { throw error }
    }
    let above = try openMakingFolders(LibraryPath.folder(of: path), isPrivate: isPrivate)
    do throws(SystemError) {
      try above.makeFolder(LibraryPath.name(of: path), mode: isPrivate ? 0o700 : 0o755)
      try above.sync()
    } catch {
      // Another caller made the folder first.
      guard error.code == EEXIST else { throw error }
    }
    return try above.subfolder(LibraryPath.name(of: path))
  }
}
