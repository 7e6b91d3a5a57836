// An upload that is being received. On file systems that support unnamed files, it has no name until it is complete, so
// a crash leaves nothing behind. Elsewhere it gets a name in `.photod-uploads`, which scans skip; the next process
// removes files left there.

import DurableFiles
import Foundation
import LibraryCatalogue
import LibraryFolder
import PhotoModel
import Primitives
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// An upload that is being received. It is discarded with this value unless it was placed. Not for concurrent use.
package final class IncomingFile: Sendable {
  static let folderName = [UInt8](".photod-uploads".utf8)
  /// Bytes written between two checks of the free space.
  private static let bytesBetweenSpaceChecks: Int64 = 16 << 20

  let descriptor: Int32
  /// The temporary name, on file systems without unnamed files.
  private let temporary: Mutex<(folder: LibraryFile, name: [UInt8])?>
  private let reserveBytes: Int64
  private let root: LibraryFolder
  private let written = Atomic<Int64>(0)

  /// - Parameters:
  ///   - folder: a folder on the target file system.
  ///   - path: the path of that folder below the root; `.photod-uploads` is made there if needed.
  init(
    in folder: LibraryFile, at path: [UInt8] = [], root: LibraryFolder, reserveBytes: Int64
  ) throws(SystemError) {
    self.reserveBytes = reserveBytes
    self.root = root
    if let unnamed = try folder.createUnnamed() {
      descriptor = unnamed
      temporary = Mutex(nil)
      return
    }
    let uploads = try root.openMakingFolders(LibraryPath.join(path, Self.folderName), isPrivate: true)
    let (file, name) = try Self.createLocked(in: uploads)
    descriptor = file
    temporary = Mutex((uploads, name))
  }

  /// Creates a file with a random name and locks it, so that ``removeAbandonedUploads(of:at:)`` skips it. The caller
  /// owns the descriptor.
  ///
  /// - Parameter created: called with the name of each new file before it is locked.
  static func createLocked(
    in folder: LibraryFile, _ created: (_ name: [UInt8]) -> Void = { _ in }
  ) throws(SystemError) -> (descriptor: Int32, name: [UInt8]) {
    while true {
      let name = Array(Base64URL.randomIdentifier().utf8)
      let descriptor = try folder.create(name)
      created(name)
      // On a file system without locks, no process removes these files.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK {
        do throws(SystemError) {
          _ = try folder.entry(name)
          return (descriptor, name)
        } catch {
          if error.code != ENOENT {
            close(descriptor)
            throw error
          }
        }
      }
      // Another process took the file for abandoned between the two calls, and has removed it or is about to.
      close(descriptor)
    }
  }

  deinit {
    if let (folder, name) = temporary.withLock({ $0.take() }) { try? folder.remove(name) }
    close(descriptor)
  }

  /// Bytes written so far.
  package var size: Int64 { written.load(ordering: .relaxed) }

  /// Appends bytes.
  package func write(_ bytes: [UInt8]) throws(LibraryFilesError) {
    let before = size
    if before / Self.bytesBetweenSpaceChecks != (before + Int64(bytes.count)) / Self.bytesBetweenSpaceChecks {
      try checkSpace(for: Int64(bytes.count))
    }
    do throws(SystemError) {
      try writeAll(bytes.span.bytes, to: descriptor)
    } catch {
      throw LibraryFilesError(error)
    }
    written.add(Int64(bytes.count), ordering: .relaxed)
    if before == 0 { fault(.received) }
  }

  /// Throws if writing this many bytes would use space that must stay free.
  func checkSpace(for bytes: Int64) throws(LibraryFilesError) {
    let file: LibraryFile
    do throws(SystemError) { file = try self.file() } catch { throw LibraryFilesError(error) }
    try file.checkSpace(for: bytes, leaving: reserveBytes)
  }

  /// The file, opened for reading in its current state.
  func file() throws(SystemError) -> LibraryFile {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw SystemError(code: errno) }
    return try LibraryFile(owning: copy)
  }

  /// Syncs the written bytes to the disk, so that they survive a power failure.
  func sync() throws(SystemError) { try file().sync() }

  /// Gives the file a name and the folder's owner. Never replaces an existing file (EEXIST). EXDEV: the folder is on
  /// another file system.
  func place(in folder: LibraryFile, as name: [UInt8]) throws(SystemError) {
    FileOwner.inherit(descriptor, from: folder.descriptor)
    guard let (uploads, uploadName) = temporary.withLock({ $0 }) else { return try folder.link(descriptor, as: name) }
    try uploads.rename(uploadName, to: folder, as: name)
    temporary.withLock { $0 = nil }
  }

  /// A copy on another file system.
  func copy(to folder: LibraryFile, at path: [UInt8]) throws(SystemError) -> IncomingFile {
    try Self.copy(of: descriptor, to: folder, at: path, root: root, reserveBytes: reserveBytes)
  }

  /// A synced copy of an open file with its modification time, in a folder of another file system.
  static func copy(
    of descriptor: Int32, to folder: LibraryFile, at path: [UInt8], root: LibraryFolder, reserveBytes: Int64
  ) throws(SystemError) -> IncomingFile {
    try removeAbandonedUploads(of: root, at: path)
    let copy = try IncomingFile(in: folder, at: path, root: root, reserveBytes: reserveBytes)
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var offset: Int64 = 0
    while true {
      let count = pread(descriptor, &buffer, buffer.count, Int(offset))
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError(code: errno)
      }
      if count == 0 { break }
      try writeAll(buffer.span.extracting(..<count).bytes, to: copy.descriptor)
      offset += Int64(count)
    }
    copy.written.store(offset, ordering: .relaxed)
    try copyModificationDate(of: descriptor, to: copy.descriptor)
    try copy.sync()
    return copy
  }

  /// Gives a copy the modification time of its original: it is the creation date of a file without a date of its own.
  private static func copyModificationDate(of descriptor: Int32, to copy: Int32) throws(SystemError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemError(code: errno) }
    guard futimens(copy, [status.st_mtim, status.st_mtim]) != 0 else { return }
    // Some file systems let no program set times. A copy with its own time is better than none.
    guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else { throw SystemError(code: errno) }
  }

  /// Removes uploads that ended processes left behind.
  static func removeAbandonedUploads(of root: LibraryFolder, at path: [UInt8] = []) throws(SystemError) {
    let folder = LibraryPath.join(path, folderName)
    let uploads: LibraryFile
    do throws(SystemError) {
      uploads = try root.open(folder, isFolder: true)
    } catch {
      if error.code == ENOENT { return }
      throw error
    }
    var names = try FolderNames(of: uploads) { _, _ in false }
    while let (name, isFolder) = names.next() {
      guard !isFolder else { continue }
      let file = try? root.open(LibraryPath.join(folder, name))
      // A locked file is still being written by another process.
      if let file, flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { try uploads.remove(name) }
    }
  }
}

extension LibraryFile {
  /// Throws if writing this many bytes to this file system would use space that must stay free.
  func checkSpace(for bytes: Int64, leaving reserveBytes: Int64) throws(LibraryFilesError) {
    let free: FreeSpace
    do throws(SystemError) { free = try freeSpace() } catch { throw LibraryFilesError(error) }
    if free.isReadOnly { throw .readOnly }
    let (needed, isTooMuch) = bytes.addingReportingOverflow(reserveBytes)
    if isTooMuch || free.bytes < needed { throw .insufficientStorage }
  }
}
