import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Writes all bytes at the descriptor's position, also after signals and partial writes. If this throws, some of them
/// may be written.
package func writeAll(_ bytes: RawSpan, to descriptor: Int32) throws(SystemError) {
  try writeAll(bytes) { rest, _ in Glibc.write(descriptor, rest.baseAddress, rest.count) }
}

/// The same at an offset; the descriptor's position stays.
package func writeAll(_ bytes: RawSpan, to descriptor: Int32, at offset: Int64) throws(SystemError) {
  try writeAll(bytes) { rest, done in pwrite(descriptor, rest.baseAddress, rest.count, Int(offset) + done) }
}

/// - Parameter write: writes the rest after a number of bytes, and returns what the system call returns.
private func writeAll(
  _ bytes: RawSpan, _ write: (_ rest: UnsafeRawBufferPointer, _ done: Int) -> Int
) throws(SystemError) {
  var done = 0
  while done < bytes.byteCount {
    let count = bytes.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[done...]), done) }
    if count < 0 && errno != EINTR { throw SystemError(code: errno) }
    // The descriptor took nothing although bytes are left, so a further call would take nothing either.
    if count == 0 { throw SystemError(code: EIO) }
    done += max(0, count)
  }
}
