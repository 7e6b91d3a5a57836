import CPhotodSystem
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// An open file or folder of the library. Owns its descriptor. Reads are positional, so it has no other state.
package final class LibraryFile: FileByteSource {
  package let descriptor: Int32
  /// The identity of the file when it was opened.
  package let identity: FileIdentity
  /// Time of the last change of contents, name or mode (ctime): nanoseconds since 1970.
  package let changeTimeNanoseconds: Int64
  package let device: UInt64
  package let isRegularFile: Bool

  package var size: Int64 { identity.size }
  package var canReturnNotYet: Bool { false }

  /// Takes ownership of a descriptor, and closes it even if this throws.
  package init(owning descriptor: Int32) throws(SystemError) {
    var status = photod_file_status()
    guard photod_file_status_of(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw SystemError(code: code)
    }
    self.descriptor = descriptor
    identity = FileIdentity(status)
    changeTimeNanoseconds = status.changed
    device = status.device
    isRegularFile = status.is_regular_file
  }

  deinit { close(descriptor) }

  package var isUnchanged: Bool {
    var status = photod_file_status()
    return photod_file_status_of(descriptor, &status) == 0 && FileIdentity(status) == identity
  }

  package var hasSameChangeTime: Bool {
    var status = photod_file_status()
    return photod_file_status_of(descriptor, &status) == 0 && FileIdentity(status) == identity
      && status.changed == changeTimeNanoseconds
  }

  /// Whether a process has the file open or mapped for writing. `nil` if the kernel does not know: the file belongs to
  /// another user, or its file system does not support leases.
  package var hasWriters: Bool? {
    switch photod_has_writers(descriptor) {
    case 0: false
    case 1: true
    default: nil
    }
  }

  /// The metadata of an entry of this folder, without opening it.
  package func entry(_ name: [UInt8]) throws(SystemError) -> FolderEntry {
    var status = photod_file_status()
    let result = (name + [0]).withUnsafeBytes {
      photod_file_status_at(descriptor, $0.assumingMemoryBound(to: CChar.self).baseAddress, &status)
    }
    guard result == 0 else { throw SystemError(code: errno) }
    let kind: FolderEntry.Kind = status.is_regular_file ? .file : status.is_symbolic_link ? .link : .other
    return FolderEntry(kind: kind, identity: FileIdentity(status), changeTimeNanoseconds: status.changed)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    while true {
      let count = pread(descriptor, buffer.baseAddress, buffer.count, Int(offset))
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno != EINTR { throw .readFailed(code: errno) }
    }
  }
}

/// The metadata of a folder entry.
package struct FolderEntry: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case file, link, other
  }

  package let kind: Kind
  package let identity: FileIdentity
  /// Time of the last change of contents, name or mode (ctime): nanoseconds since 1970.
  package let changeTimeNanoseconds: Int64
}

extension FileIdentity {
  fileprivate init(_ status: photod_file_status) {
    self.init(inode: status.inode, size: status.size, modified: status.modified)
  }
}
