import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// A lock on a data folder, held while this value lives: shared by every process that has the catalogue open, or
/// exclusive for a restore that replaces the catalogue. The kernel releases it when the process dies.
final class DataFolderLock: Sendable {
  private let descriptor: Int32

  /// - Parameter isExclusive: fails if any other process holds the lock.
  init(_ dataFolder: String, exclusive isExclusive: Bool = false) throws(AssetLibraryError) {
    let path = dataFolder + "/use.lock"
    var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      // A read-only folder can be locked too.
      let code = errno
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw .unusable(dataFolder, SystemError(code: code)) }
    }
    guard flock(descriptor, (isExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 else {
      close(descriptor)
      throw isExclusive ? .dataFolderInUse(path: dataFolder) : .restoreUnderWay(path: dataFolder)
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
