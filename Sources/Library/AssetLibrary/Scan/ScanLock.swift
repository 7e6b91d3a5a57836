import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The lock for scans into a catalogue, held by one process at a time for the lifetime of this value. The kernel
/// releases it when the process ends.
final class ScanLock {
  private let descriptor: Int32

  init(dataFolder: String) throws(AssetLibraryError) {
    descriptor = open(dataFolder + "/scan.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .unusable(dataFolder, SystemError(code: errno)) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .scanUnderWay }
  }

  deinit { close(descriptor) }
}
