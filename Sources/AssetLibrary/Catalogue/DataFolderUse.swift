import LibraryFolder

#if canImport(Glibc)
  import Glibc
#endif

/// The use of a data folder, as long as this value lives: by everybody who has its catalogue open, or by one alone who puts
/// another catalogue in its place. The kernel takes it back when a process dies.
final class DataFolderUse: Sendable {
  private let descriptor: Int32

  /// - Parameter isAlone: nobody else may use it, or be using it.
  init(_ dataFolder: String, alone isAlone: Bool = false) throws(AssetLibraryError) {
    let path = dataFolder + "/use.lock"
    var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      // A folder that may only be read can be locked all the same.
      let code = errno
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw .unusable(dataFolder, SystemError(code: code)) }
    }
    guard flock(descriptor, (isAlone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 else {
      close(descriptor)
      throw isAlone ? .dataFolderInUse(path: dataFolder) : .restoreUnderWay(path: dataFolder)
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
