#if canImport(Glibc)
  import Glibc
#endif

/// Writes all bytes at the descriptor's position, also after signals and partial writes. If this throws, some of them may
/// be written.
package func writeAll(_ bytes: RawSpan, to descriptor: Int32) throws(SystemError) {
  var done = 0
  while done < bytes.byteCount {
    let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done) }
    if count < 0 && errno != EINTR { throw SystemError(code: errno) }
    // Not at the end, so nothing more would be taken either.
    if count == 0 { throw SystemError(code: EIO) }
    done += max(0, count)
  }
}
