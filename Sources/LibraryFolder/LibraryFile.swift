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
  package let device: UInt64
  package let isRegularFile: Bool

  package var size: Int64 { identity.size }
  package var mayWait: Bool { false }

  init(owning descriptor: Int32) throws(SystemError) {
    var status = photod_file_status()
    guard photod_file_status_of(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw SystemError(code: code)
    }
    self.descriptor = descriptor
    identity = FileIdentity(inode: status.inode, size: status.size, modified: status.modified)
    device = status.device
    isRegularFile = status.is_regular_file
  }

  deinit { close(descriptor) }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    while true {
      let count = pread(descriptor, buffer.baseAddress, buffer.count, Int(offset))
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno != EINTR { throw .readFailed(code: errno) }
    }
  }
}
