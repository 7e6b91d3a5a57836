import DiskCache
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// An open file of ``FullSizeRenderStore``. It is never changed, only removed.
package final class FullSizeRender: FileByteSource {
  /// Changes when a file is written, truncated or replaced.
  struct FileState: Sendable, Equatable {
    let inode: UInt64
    let size: Int64
    let changeSeconds: Int
    let changeNanoseconds: Int

    /// `nil` if it is no regular file that may have a checksum.
    init?(_ status: stat) {
      guard status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) >= FullSizeRender.trailerBytes else { return nil }
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      changeSeconds = status.st_ctim.tv_sec
      changeNanoseconds = status.st_ctim.tv_nsec
    }
  }

  /// The bytes of the checksum after the content.
  static let trailerBytes: Int64 = 8
  private static let readBytes = 1 << 20

  package let descriptor: Int32
  /// The bytes of the content.
  package let size: Int64
  let state: FileState
  package var canReturnNotYet: Bool { false }
  package var hasSameChangeTime: Bool { true }
  package var changeTimeNanoseconds: Int64 { 0 }

  /// `nil` if there is no regular file of that name that may have a checksum.
  init?(_ path: String) {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    var status = stat()
    let isFound = fstat(descriptor, &status) == 0
    guard isFound, let state = FileState(status) else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.state = state
    size = state.size - FullSizeRender.trailerBytes
  }

  deinit { close(descriptor) }

  /// The checksum of a file without content.
  static func checksum(of name: String) -> CRC64 {
    var checksum = CRC64()
    [UInt8](name.utf8).withUnsafeBytes { checksum.add($0) }
    return checksum
  }

  /// Whether the content is what was stored under this name. Reads all of it.
  func isIntact(named name: String) -> Bool {
    var checksum = FullSizeRender.checksum(of: name)
    var offset: Int64 = 0
    while offset < size {
      // A file that can't be read is of no use either.
      guard let part = try? bytes(at: offset, count: FullSizeRender.readBytes), !part.isEmpty else { return false }
      part.withUnsafeBytes { checksum.add($0) }
      offset += Int64(part.count)
    }
    var stored: UInt64 = 0
    let count = withUnsafeMutableBytes(of: &stored) { pread(descriptor, $0.baseAddress, $0.count, Int(size)) }
    return count == Int(FullSizeRender.trailerBytes) && UInt64(littleEndian: stored) == checksum.value
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    let wanted = Int(min(Int64(buffer.count), size - offset))
    if wanted <= 0 { return .end }
    while true {
      let count = pread(descriptor, buffer.baseAddress, wanted, Int(offset))
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      if errno != EINTR { throw .readFailed(code: errno) }
    }
  }
}
