// The locks of a data folder: flock(2) on empty files in it. They hold between processes, and between two owners
// in one process. The kernel releases a lock when its process ends.
//
//     use.lock     shared by every process that has the catalogue open; exclusive for a restore, which replaces it
//     open.lock    one process at a time creates, migrates and opens the catalogue for writing
//     serve.lock   shared by every daemon, so that a scan of another process can detect one
//     scan.lock    one scan into the catalogue at a time
//     files.lock   one caller at a time moves files in or out of the library
//     originals/lock   one daemon at a time uses the originals of a remote library

import DurableFiles
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A lock of a data folder, held until `unlock` or the end of this value.
package final class DataFolderLock: Sendable {
  /// Short, because a scan releases the lock only for a few milliseconds between two batches.
  private static let pollMicroseconds: UInt32 = 2000

  /// The descriptor; `nil` after `unlock`.
  private let held: Mutex<Int32?>

  /// - Parameters:
  ///   - operation: for flock(2). With LOCK_NB, EWOULDBLOCK means that another owner has the lock; without it, this
  ///     call waits.
  ///   - allowsReadOnlyFolder: lock an existing file that can't be written, too.
  ///   - triesAgain: called each time another owner has the lock; pauses and returns true, or returns false.
  private init(
    _ path: String, _ operation: Int32, allowsReadOnlyFolder: Bool = false, triesAgain: () -> Bool = { false }
  ) throws(SystemError) {
    var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { FileOwner.inherit(path) }
    if descriptor < 0 {
      let code = errno
      if allowsReadOnlyFolder { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
      guard descriptor >= 0 else { throw SystemError(code: code) }
    }
    while flock(descriptor, operation) != 0 {
      let code = errno
      if code == EINTR { continue }
      if code == EWOULDBLOCK && triesAgain() { continue }
      close(descriptor)
      throw SystemError(code: code)
    }
    held = Mutex(descriptor)
  }

  deinit { unlock() }

  /// Releases the lock. Later calls do nothing.
  package func unlock() {
    guard let descriptor = held.withLock({ $0.take() }) else { return }
    // Closing would not release the lock while another process shares the open file, as a child does between fork and
    // exec. LOCK_UN releases the lock for every process that shares the file.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Holds the lock until the process ends, even after this value is freed.
  package func holdUntilExit() { held.withLock { $0 = nil } }
}

extension DataFolderLock {
  /// For a process that has the catalogue open. Throws `restoreUnderWay` during a restore.
  package static func forUse(of dataFolder: String) throws(LibraryError) -> DataFolderLock {
    do throws(SystemError) {
      return try DataFolderLock(dataFolder + "/use.lock", LOCK_SH | LOCK_NB, allowsReadOnlyFolder: true)
    } catch {
      throw error.code == EWOULDBLOCK ? .restoreUnderWay(path: dataFolder) : .unusable(dataFolder, error)
    }
  }

  /// For a process that opens the catalogue for writing, held until the tables are migrated. Waits until the lock is
  /// free: the migrator decides outside of a transaction which migrations are missing, and SQLite does not wait for
  /// another process that switches to the write-ahead log.
  ///
  /// The caller holds the lock ``forUse(of:)``. A restore takes that lock without waiting, so there is no deadlock.
  package static func forOpening(of dataFolder: String) throws(LibraryError) -> DataFolderLock {
    do throws(SystemError) {
      return try DataFolderLock(dataFolder + "/open.lock", LOCK_EX)
    } catch {
      throw .unusable(dataFolder, error)
    }
  }

  /// For a restore. Throws `dataFolderInUse` while any process has the catalogue open.
  package static func forRestore(of dataFolder: String) throws(LibraryError) -> DataFolderLock {
    do throws(SystemError) {
      return try DataFolderLock(dataFolder + "/use.lock", LOCK_EX | LOCK_NB, allowsReadOnlyFolder: true)
    } catch {
      throw error.code == EWOULDBLOCK ? .dataFolderInUse(path: dataFolder) : .unusable(dataFolder, error)
    }
  }

  /// For a daemon.
  package static func forServing(of dataFolder: String) throws(LibraryError) -> DataFolderLock {
    do throws(SystemError) {
      return try DataFolderLock(dataFolder + "/serve.lock", LOCK_SH)
    } catch {
      throw .unusable(dataFolder, error)
    }
  }

  /// Whether a daemon serves the library. Takes the daemon's lock for a moment; a daemon that starts then waits for it.
  package static func isServed(_ dataFolder: String) throws(LibraryError) -> Bool {
    do throws(SystemError) {
      try DataFolderLock(dataFolder + "/serve.lock", LOCK_EX | LOCK_NB).unlock()
      return false
    } catch {
      if error.code == EWOULDBLOCK { return true }
      throw .unusable(dataFolder, error)
    }
  }

  /// For a scan. Throws `scanUnderWay` while another scan runs.
  package static func forScan(into dataFolder: String) throws(LibraryError) -> DataFolderLock {
    do throws(SystemError) {
      return try DataFolderLock(dataFolder + "/scan.lock", LOCK_EX | LOCK_NB)
    } catch {
      throw error.code == EWOULDBLOCK ? .scanUnderWay : .unusable(dataFolder, error)
    }
  }

  /// For a caller that moves files in or out of the library, or stores a batch of a scan. Waits until the lock is free,
  /// which may be never: a scan holds it while it reads from a disk that does not answer.
  ///
  /// While this lock is held, a file change that the catalogue records as unfinished belongs to no running process.
  ///
  /// - Parameters:
  ///   - limit: how long to wait; `nil` for no limit. Then EWOULDBLOCK is thrown.
  ///   - stop: ends the wait with the same error.
  package static func forFiles(
    of dataFolder: String, waiting limit: Duration? = nil, until stop: StopFlag? = nil
  ) throws(SystemError) -> DataFolderLock {
    let start = ContinuousClock.now
    return try DataFolderLock(dataFolder + "/files.lock", LOCK_EX | LOCK_NB) {
      if let stop, stop.isRaised { return false }
      if let limit, ContinuousClock.now - start >= limit { return false }
      usleep(pollMicroseconds)
      return true
    }
  }

  /// For a daemon that uses the folder of the originals of a remote library. Throws EWOULDBLOCK while another one does.
  package static func forOriginals(in folder: String) throws(SystemError) -> DataFolderLock {
    try DataFolderLock(folder + "/lock", LOCK_EX | LOCK_NB)
  }
}
