// The steps that uploads, change lists, recovery and purges have in common.

import LibraryCatalogue
import LibraryFolder
import Logging
import ObjectStores
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// Number of alternative names that are tried.
  static let maximumNameAttempts = 10_000
  /// How long a request waits for the lock if the last one timed out. Change lists run one at a time, and those that
  /// move no file should not wait long for those that do.
  private static let busyLockTimeout = Duration.seconds(3)

  var trash: TrashFolder { TrashFolder(root: root) }

  /// Waits until no other caller moves files. Throws `busy` after ``Options/lockTimeout``.
  ///
  /// - Parameter stop: for work that no request waits for. It waits until this is raised, and then throws `busy`.
  func acquireLock(until stop: StopFlag? = nil) throws(LibraryFilesError) -> DataFolderLock {
    var limit = stop == nil ? options.lockTimeout : nil
    if let timeout = limit, isLockBusy.load(ordering: .relaxed) { limit = min(timeout, Self.busyLockTimeout) }
    do throws(SystemError) {
      let lock = try DataFolderLock.forFiles(of: catalogue.dataFolder, waiting: limit, until: stop)
      isLockBusy.store(false, ordering: .relaxed)
      return lock
    } catch {
      guard error.code == EWOULDBLOCK else {
        logger.error(
          "file changes refused: the lock of the files can't be opened",
          metadata: ["lock": "\(catalogue.dataFolder)/files.lock", "error": "\(error)"])
        throw LibraryFilesError(error)
      }
      if stop == nil, !isLockBusy.exchange(true, ordering: .relaxed) {
        logger.warning(
          "file changes refused: a scan or another process holds the lock of the files",
          metadata: ["lock": "\(catalogue.dataFolder)/files.lock"])
      }
      throw .busy
    }
  }

  /// The trash record in a row, if it still exists.
  func record(_ id: Int64) throws(LibraryFilesError) -> TrashRecord? {
    try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.trashRecord(id) }
  }

  /// Returns false if there is no file to move.
  func move(_ from: [UInt8], to: [UInt8]) throws(LibraryFilesError) -> Bool {
    if let bucket { return try bucket.move(from, to: to) }
    do throws(SystemError) {
      return try trash.move(from, to: to)
    } catch {
      throw failure(error, in: LibraryPath.folder(of: to), at: from)
    }
  }

  /// Whether this path exists, even as a broken link. False for a path that is invalid or leaves the library. Throws if
  /// the disk fails.
  func exists(_ path: [UInt8]) throws(LibraryFilesError) -> Bool {
    if let bucket { return try bucket.head(path) != nil }
    do throws(SystemError) {
      _ = try root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))
      return true
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR, ELOOP, EXDEV, EINVAL, ENAMETOOLONG: return false
      default: throw LibraryFilesError(error, at: path)
      }
    }
  }

  /// Removes the folder of an asset in the trash if it is empty. A bucket has no folders.
  func removeTrashFolder(of trashPath: [UInt8]) {
    if bucket == nil { trash.removeFolder(of: trashPath) }
  }

  /// Throws if a file of this length can't be stored.
  func checkLength(_ length: Int64?) throws(LibraryFilesError) {
    guard bucket != nil, let length, length > S3ObjectStore.maximumPieceBytes else { return }
    throw .storeFailed(.fileTooLarge(limit: S3ObjectStore.maximumPieceBytes))
  }

  // MARK: Errors

  /// Calls the catalogue, and maps its errors.
  func inCatalogue<Value>(
    _ body: (Catalogue) throws(AssetSourceError) -> Value
  ) throws(LibraryFilesError) -> Value {
    do throws(AssetSourceError) { return try body(catalogue) } catch { throw .catalogue(error) }
  }

  /// Runs system calls, and maps their errors.
  ///
  /// - Parameter path: the path that an error names.
  func inFileSystem<Value>(
    at path: [UInt8] = [], _ body: () throws(SystemError) -> Value
  ) throws(LibraryFilesError) -> Value {
    do throws(SystemError) { return try body() } catch { throw LibraryFilesError(error, at: path) }
  }

  /// Opens a folder that gets a file, making it and its parents if needed.
  func makeFolder(_ path: [UInt8], isPrivate: Bool = false) throws(LibraryFilesError) -> LibraryFile {
    do throws(SystemError) {
      return try root.openMakingFolders(path, isPrivate: isPrivate)
    } catch {
      throw failure(error, in: path, at: path)
    }
  }

  /// Maps the error of a system call that puts a file into a folder. EXDEV has two causes: the folder is on another
  /// disk, or it is outside of the library.
  ///
  /// - Parameter path: the path that the error names.
  func failure(_ error: SystemError, in folder: [UInt8], at path: [UInt8]) -> LibraryFilesError {
    if error.code == EXDEV, let link = linkOutOfLibrary(on: folder) { return .linkedFolder(link) }
    return LibraryFilesError(error, at: path)
  }

  /// The first folder on the way to this one that is a link out of the library.
  private func linkOutOfLibrary(on path: [UInt8]) -> [UInt8]? {
    var folder: [UInt8] = []
    for component in path.split(separator: UInt8(ascii: "/")) {
      folder = LibraryPath.join(folder, Array(component))
      do throws(SystemError) {
        _ = try root.open(folder, isFolder: true)
      } catch {
        return error.code == EXDEV ? folder : nil
      }
    }
    return nil
  }
}

extension LibraryFilesError {
  /// Maps the error of a system call to the error for the caller.
  init(_ error: SystemError, at path: [UInt8] = []) {
    switch error.code {
    case ENOSPC, EDQUOT: self = .insufficientStorage
    case EROFS: self = .readOnly
    default: self = .failed(path: path, error)
    }
  }
}
