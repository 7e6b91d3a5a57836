import LibraryFolder
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// The right to move files in and out of the library, until it ends or this value goes: one at a time has it, over all processes
/// that use a data folder. The kernel takes it back when a process dies, so an intent that is found with it is nobody's.
final class FilesTurn: Sendable {
  private let held: Mutex<Int32?>

  /// Waits for its turn.
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

  /// For a scan, which keeps it for one batch. Whoever holds it waits for no scan.
  convenience init(scanningInto catalogue: Catalogue) throws(AssetSourceError) {
    do throws(SystemError) {
      try self.init(dataFolder: catalogue.dataFolder)
    } catch {
      throw .catalogueFailed("files.lock: \(error)")
    }
  }

  func end() {
    if let descriptor = held.withLock({ $0.take() }) { close(descriptor) }
  }

  deinit { end() }
}
