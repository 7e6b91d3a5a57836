import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// A file as the renderer reads it, by position.
final class FileSource: ByteSource {
  private let descriptor: Int32
  let size: Int64
  var mayWait: Bool { false }

  init(_ path: String) throws {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw BenchError(description: "\(path) can't be opened") }
    size = Int64(lseek(descriptor, 0, SEEK_END))
  }

  deinit { close(descriptor) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    let count = pread(descriptor, buffer.baseAddress, buffer.count, Int(offset))
    if count < 0 { throw .readFailed(code: errno) }
    return count == 0 ? .end : .bytes(count)
  }
}
