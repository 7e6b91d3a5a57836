import CPhotodSystem
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// An open file or folder of the library. It owns its descriptor; reads are by position, so it has no state of its own.
package final class LibraryFile: ByteSource {
  package let descriptor: Int32
  /// What it was when it was opened.
  package let identity: FileIdentity
  /// When its contents, name or rights were last changed, by the kernel's word: nanoseconds since 1970.
  package let changed: Int64
  package let device: UInt64
  package let isRegularFile: Bool

  package var size: Int64 { identity.size }
  package var mayWait: Bool { false }

  /// Takes over a descriptor, and closes it also where this throws.
  package init(owning descriptor: Int32) throws(SystemError) {
    var status = photod_file_status()
    guard photod_file_status_of(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw SystemError(code: code)
    }
    self.descriptor = descriptor
    identity = FileIdentity(status)
    changed = status.changed
    device = status.device
    isRegularFile = status.is_regular_file
  }

  deinit { close(descriptor) }

  package var isUnchanged: Bool {
    var status = photod_file_status()
    return photod_file_status_of(descriptor, &status) == 0 && FileIdentity(status) == identity
  }

  /// Whether anybody has it open for writing, or mapped so; `nil` where the kernel does not tell: the file is another
  /// user's, or its file system knows no leases.
  package var hasWriters: Bool? {
    switch photod_has_writers(descriptor) {
    case 0: false
    case 1: true
    default: nil
    }
  }

  /// An entry of this folder, without opening it.
  package func entry(_ name: [UInt8]) throws(SystemError) -> FolderEntry {
    var status = photod_file_status()
    let result = (name + [0]).withUnsafeBytes {
      photod_file_status_at(descriptor, $0.assumingMemoryBound(to: CChar.self).baseAddress, &status)
    }
    guard result == 0 else { throw SystemError(code: errno) }
    let kind: FolderEntry.Kind = status.is_regular_file ? .file : status.is_symbolic_link ? .link : .other
    return FolderEntry(kind: kind, identity: FileIdentity(status), changed: status.changed)
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

/// What stands in a folder under a name.
package struct FolderEntry: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case file, link, other
  }

  package let kind: Kind
  package let identity: FileIdentity
  /// When its contents, name or rights were last changed: nanoseconds since 1970.
  package let changed: Int64
}

extension FileIdentity {
  fileprivate init(_ status: photod_file_status) {
    self.init(inode: status.inode, size: status.size, modified: status.modified)
  }
}
