// What is done in an open folder: everything by one name in it, so that nothing here can lead out of the library.

import CPhotodSystem

#if canImport(Glibc)
  import Glibc
#endif

/// What there is of a file system for us.
package struct FreeSpace: Sendable, Hashable {
  /// Bytes that this user may write.
  package let bytes: Int64
  package let isReadOnly: Bool
}

extension LibraryFile {
  /// Which mount it is on; 0 where the kernel does not tell. Between two mounts nothing can be renamed, also where they
  /// are of one device.
  package func mount() throws(SystemError) -> UInt64 {
    var mount: UInt64 = 0
    guard photod_mount_of(descriptor, &mount) == 0 else { throw SystemError(code: errno) }
    return mount
  }

  package func freeSpace() throws(SystemError) -> FreeSpace {
    var status = photod_space_status()
    guard photod_space_of(descriptor, &status) == 0 else { throw SystemError(code: errno) }
    return FreeSpace(bytes: status.available_bytes, isReadOnly: status.is_read_only)
  }

  /// Waits until what was written, or this folder's names, would be there behind a power cut.
  package func sync() throws(SystemError) {
    while fsync(descriptor) != 0 {
      // Some file systems have nothing to sync in a folder, and say that it is no request to make.
      if errno == EINVAL && !isRegularFile { return }
      guard errno == EINTR else { throw SystemError(code: errno) }
    }
  }

  /// Makes a folder in this one. Throws EEXIST where something of that name is there.
  package func makeFolder(_ name: [UInt8], mode: UInt32 = 0o755) throws(SystemError) {
    try call(name) { mkdirat(descriptor, $0, mode) }
  }

  /// A folder in this one; a link to one is none (ELOOP, ENOTDIR).
  package func subfolder(_ name: [UInt8]) throws(SystemError) -> LibraryFile {
    try LibraryFile(owning: call(name) { photod_open_subdirectory(descriptor, $0) })
  }

  /// Moves an entry of this folder into another, or gives it another name; never in place of what is there (EEXIST).
  package func rename(_ name: [UInt8], to folder: LibraryFile, as newName: [UInt8]) throws(SystemError) {
    var failure: SystemError?
    try call(name) { name in
      do throws(SystemError) {
        try Self.call(newName) { photod_rename_exclusively(descriptor, name, folder.descriptor, $0) }
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

  /// Calls with a name that is one: EINVAL for whatever would lead elsewhere.
  @discardableResult
  static func call(
    _ name: [UInt8], _ body: (UnsafePointer<CChar>) -> Int32
  ) throws(SystemError) -> Int32 {
    let leadsElsewhere = name.contains(0) || name.contains(UInt8(ascii: "/")) || name.elementsEqual("..".utf8)
    guard !name.isEmpty, !leadsElsewhere, !name.elementsEqual(".".utf8) else { throw SystemError(code: EINVAL) }
    let (result, code) = (name + [0]).withUnsafeBytes {
      // A buffer with a NUL at its end is not empty.
      let result = body($0.assumingMemoryBound(to: CChar.self).baseAddress!)
      return (result, errno)
    }
    guard result >= 0 else { throw SystemError(code: code) }
    return result
  }
}

extension LibraryFile {
  /// A new file in this folder, to be written; the descriptor is the caller's to close. Throws EEXIST where there is one.
  package func create(_ name: [UInt8]) throws(SystemError) -> Int32 {
    try call(name) { photod_create_file(descriptor, $0) }
  }

  /// A new file without a name on this folder's file system, to be written; the descriptor is the caller's to close. `nil`:
  /// the file system knows no such files.
  package func createNameless() throws(SystemError) -> Int32? {
    let file = photod_open_nameless(descriptor)
    if file >= 0 { return file }
    switch errno {
    // EISDIR and ENOENT are what a kernel says that has never heard of O_TMPFILE (open(2)).
    case EOPNOTSUPP, EISDIR, EINVAL, ENOENT: return nil
    default: throw SystemError(code: errno)
    }
  }

  /// Gives a file without a name one in this folder, never in place of what is there (EEXIST).
  package func name(_ file: Int32, _ name: [UInt8]) throws(SystemError) {
    try call(name) { photod_name_file(file, descriptor, $0) }
  }
}
