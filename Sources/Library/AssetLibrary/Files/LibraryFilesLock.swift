import LibraryFolder
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The lock for moving files in and out of the library. It has one holder at a time across all processes that use a
/// data folder, until it is unlocked or released. The kernel releases it when a process ends, so an intent that is
/// found while holding it belongs to no running process.
final class LibraryFilesLock: Sendable {
  private let held: Mutex<Int32?>

  /// Blocks until the lock is free.
  init(dataFolder: String) throws(SystemError) {
    let descriptor = open(dataFolder + "/files.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(code: errno) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else {
        let code = errno
        close(descriptor)
        throw SystemError(code: code)
      }
    }
    held = Mutex(descriptor)
  }

  /// For a scan, which holds it for one batch. A holder of this lock never waits for a scan.
  convenience init(forScanInto catalogue: Catalogue) throws(AssetSourceError) {
    do throws(SystemError) {
      try self.init(dataFolder: catalogue.dataFolder)
    } catch {
      throw .catalogueFailed("files.lock: \(error)")
    }
  }

  func unlock() {
    if let descriptor = held.withLock({ $0.take() }) { close(descriptor) }
  }

  deinit { unlock() }
}
