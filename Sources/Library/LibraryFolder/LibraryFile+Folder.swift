// Operations in an open folder. Each takes a single name in that folder, so none can leave the library.

import CPhotodSystem
import DurableFiles
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The free space of a file system.
package struct FreeSpace: Sendable, Hashable {
  /// Bytes that this user may write.
  package let bytes: Int64
  package let isReadOnly: Bool
}

extension LibraryFile {
  /// The mount of this file; 0 if the kernel does not report it. Files can't be renamed between two mounts, even of the
  /// same device.
  package func mount() throws(SystemError) -> UInt64 {
    var mount: UInt64 = 0
    guard photod_mount_of(descriptor, &mount) == 0 else { throw SystemError(code: errno) }
    return mount
  }

  package func freeSpace() throws(SystemError) -> FreeSpace {
    var status = photod_space_status()
    guard photod_free_space(descriptor, &status) == 0 else { throw SystemError(code: errno) }
    return FreeSpace(bytes: status.available_bytes, isReadOnly: status.is_read_only)
  }

  /// Syncs the written bytes, or the names of this folder, so that they survive a power failure.
  package func sync() throws(SystemError) {
    while fsync(descriptor) != 0 {
      // Some file systems can't sync folders, and return EINVAL.
      if errno == EINVAL && !isRegularFile { return }
      guard errno == EINTR else { throw SystemError(code: errno) }
    }
  }

  /// Makes a subfolder, with the owner of this folder. Throws EEXIST if the name is taken.
  func makeFolder(_ name: [UInt8], mode: UInt32 = 0o755) throws(SystemError) {
    try call(name) { mkdirat(descriptor, $0, mode) }
    guard FileOwner.isInherited, let new = try? subfolder(name) else { return }
    withExtendedLifetime(new) { FileOwner.inherit(new.descriptor, from: descriptor) }
  }

  /// Opens a subfolder. A link to a folder is refused (ELOOP, ENOTDIR).
  package func subfolder(_ name: [UInt8]) throws(SystemError) -> LibraryFile {
    try LibraryFile(owning: call(name) { photod_open_subdirectory(descriptor, $0) })
  }

  /// Moves an entry to another folder or name. Never replaces an existing entry (EEXIST).
  package func rename(_ name: [UInt8], to folder: LibraryFile, as newName: [UInt8]) throws(SystemError) {
    var failure: SystemError?
    try call(name) { name in
      do throws(SystemError) {
        try Self.call(newName) { photod_rename_noreplace(descriptor, name, folder.descriptor, $0) }
      } catch {
        failure = error
      }
      return 0
    }
    if let failure { throw failure }
  }

  /// Renames an entry of this folder. Replaces an existing file atomically.
  package func replace(_ newName: [UInt8], with name: [UInt8]) throws(SystemError) {
    var failure: SystemError?
    try call(name) { name in
      do throws(SystemError) {
        try Self.call(newName) { renameat(descriptor, name, descriptor, $0) }
      } catch {
        failure = error
      }
      return 0
    }
    if let failure { throw failure }
  }

  /// Removes a file, or an empty folder.
  package func remove(_ name: [UInt8], isFolder: Bool = false) throws(SystemError) {
    try call(name) { unlinkat(descriptor, $0, isFolder ? AT_REMOVEDIR : 0) }
  }

  @discardableResult
  private func call(
    _ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32
  ) throws(SystemError) -> Int32 { try Self.call(name, body) }

  /// Calls `body` with a checked name: EINVAL for a name that could lead to another folder.
  @discardableResult
  static func call(
    _ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32
  ) throws(SystemError) -> Int32 {
    let leadsElsewhere = name.contains(0) || name.contains(UInt8(ascii: "/")) || name.elementsEqual("..".utf8)
    guard !name.isEmpty, !leadsElsewhere, !name.elementsEqual(".".utf8) else { throw SystemError(code: EINVAL) }
    let (result, code) = (name + [0]).withUnsafeBytes {
      // The buffer holds at least a NUL, so it has a base address.
      let result = body($0.assumingMemoryBound(to: CChar.self).baseAddress!)
      return (result, errno)
    }
    guard result >= 0 else { throw SystemError(code: code) }
    return result
  }
}

extension LibraryFile {
  /// Makes a file in this folder, with the owner of the folder, open for writing; the caller closes the descriptor.
  /// Throws EEXIST if the name is taken.
  package func create(_ name: [UInt8]) throws(SystemError) -> Int32 {
    let file = try call(name) { photod_create_file(descriptor, $0) }
    FileOwner.inherit(file, from: descriptor)
    return file
  }

  /// Opens a file of this folder for reading and appending; the caller closes the descriptor. A link is refused
  /// (ELOOP).
  package func openForAppending(_ name: [UInt8]) throws(SystemError) -> Int32 {
    try call(name) { openat(descriptor, $0, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
  }

  /// Makes a file without a name on the file system of this folder, open for writing; the caller closes the descriptor.
  /// `nil`: the file system does not support unnamed files.
  package func createUnnamed() throws(SystemError) -> Int32? {
    let file = photod_open_unnamed(descriptor)
    if file >= 0 { return file }
    switch errno {
    // Kernels without O_TMPFILE return EISDIR or ENOENT (open(2)).
    case EOPNOTSUPP, EISDIR, EINVAL, ENOENT: return nil
    default: throw SystemError(code: errno)
    }
  }

  /// Gives an unnamed file a name in this folder. Never replaces an existing entry (EEXIST).
  package func link(_ file: Int32, as name: [UInt8]) throws(SystemError) {
    try call(name) { photod_link_unnamed(file, descriptor, $0) }
  }
}
