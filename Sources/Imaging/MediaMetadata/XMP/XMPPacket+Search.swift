#if canImport(Glibc)
  import Glibc
#endif

extension XMPPacket {
  /// Whether a text occurs in a packet: a search takes a microsecond for some kilobytes, and parsing them a hundred.
  ///
  /// - Parameter term: not empty.
  static func contains(_ term: [UInt8], in packet: ArraySlice<UInt8>) -> Bool {
    packet.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return false }
      var position = 0
      while position < bytes.count, let found = memchr(start + position, Int32(term[0]), bytes.count - position) {
        position = UnsafeRawPointer(found) - start
        guard position + term.count <= bytes.count else { return false }
        if memcmp(start + position, term, term.count) == 0 { return true }
        position += 1
      }
      return false
    }
  }
}
