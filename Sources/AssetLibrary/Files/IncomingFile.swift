// A file on its way into the library. Where the file system knows files without a name, it has none until it is whole, and
// whatever happens before that, nothing is left of it; elsewhere it has one in `.photod-uploads`, which scans pass over,
// and what a process leaves there the next one removes.

import Foundation
import LibraryFolder
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A file on its way into the library, gone with this value unless it was given its place. Used by one at a time.
package final class IncomingFile: Sendable {
  static let folderName = [UInt8](".photod-uploads".utf8)
  /// So much is written between two looks at how much is free.
  private static let bytesBetweenLooks: Int64 = 16 << 20

  let descriptor: Int32
  /// Where it has a name until it is whole.
  private let temporary: Mutex<(folder: LibraryFile, name: [UInt8])?>
  private let reserveBytes: Int64
  private let root: LibraryFolder
  private let written = Atomic<Int64>(0)

  /// - Parameters:
  ///   - folder: on whose file system it is to be.
  ///   - path: that folder's, below the root: where one for those with a name is made.
  init(
    in folder: LibraryFile, at path: [UInt8] = [], root: LibraryFolder, reserveBytes: Int64
  ) throws(SystemError) {
    self.reserveBytes = reserveBytes
    self.root = root
    if let nameless = try folder.createNameless() {
      descriptor = nameless
      temporary = Mutex(nil)
      return
    }
    let uploads = try root.madeFolder(FilePath.join(path, Self.folderName), isPrivate: true)
    let name = Array(Base64URL.randomIdentifier().utf8)
    descriptor = try uploads.create(name)
    // Until it is closed nobody takes it for a left-over.
    flock(descriptor, LOCK_EX | LOCK_NB)
    temporary = Mutex((uploads, name))
  }

  deinit {
    if let (folder, name) = temporary.withLock({ $0.take() }) { try? folder.remove(name) }
    close(descriptor)
  }

  /// What was written so far.
  package var size: Int64 { written.load(ordering: .relaxed) }

  /// Writes behind what is there.
  package func write(_ bytes: [UInt8]) throws(LibraryFilesError) {
    let before = size
    if before / Self.bytesBetweenLooks != (before + Int64(bytes.count)) / Self.bytesBetweenLooks {
      try checkSpace(for: Int64(bytes.count))
    }
    do throws(SystemError) {
      try Self.write(bytes, to: descriptor)
    } catch {
      throw LibraryFilesError(error)
    }
    written.add(Int64(bytes.count), ordering: .relaxed)
    if before == 0 { fault(.received) }
  }

  /// Throws where so much more would not leave free what is to stay free.
  func checkSpace(for bytes: Int64) throws(LibraryFilesError) {
    let free: FreeSpace
    do throws(SystemError) { free = try file().freeSpace() } catch { throw LibraryFilesError(error) }
    if free.isReadOnly { throw .readOnly }
    let (needed, isTooMuch) = bytes.addingReportingOverflow(reserveBytes)
    if isTooMuch || free.bytes < needed { throw .insufficientStorage }
  }

  /// To be read, as it is now.
  func file() throws(SystemError) -> LibraryFile {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { throw SystemError(code: errno) }
    return try LibraryFile(owning: copy)
  }

  /// Waits until all that was written would be there behind a power cut.
  func sync() throws(SystemError) { try file().sync() }

  /// Gives it a name, and never one that is taken (EEXIST). EXDEV: the folder is on another file system.
  func place(in folder: LibraryFile, as name: [UInt8]) throws(SystemError) {
    guard let (uploads, itsName) = temporary.withLock({ $0 }) else { return try folder.name(descriptor, name) }
    try uploads.rename(itsName, to: folder, as: name)
    temporary.withLock { $0 = nil }
  }

  /// The same bytes on another file system.
  func copy(to folder: LibraryFile, at path: [UInt8]) throws(SystemError) -> IncomingFile {
    try Self.removeLeftOvers(of: root, at: path)
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
      try Self.write(Array(buffer[..<count]), to: copy.descriptor)
      offset += Int64(count)
    }
    copy.written.store(offset, ordering: .relaxed)
    try copy.sync()
    return copy
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
    let code = bytes.withUnsafeBytes { bytes -> Int32 in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0 && errno != EINTR { return errno }
        if count > 0 { rest = rest.dropFirst(count) }
      }
      return 0
    }
    if code != 0 { throw SystemError(code: code) }
  }

  /// Removes what others have left that are no more.
  static func removeLeftOvers(of root: LibraryFolder, at path: [UInt8] = []) throws(SystemError) {
    let folder = FilePath.join(path, folderName)
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
      let file = try? root.open(FilePath.join(folder, name))
      // Another process may be writing it.
      if let file, flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { try uploads.remove(name) }
    }
  }
}
