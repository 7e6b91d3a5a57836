import CPhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// PNG chunks (third edition §5.3), for files that libpng would not write: length, type, content, checksum.
package enum PNGChunks {
  package static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  package static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + content
    return bigEndian(UInt32(content.count)) + body + bigEndian(checksum(body[...]))
  }

  /// The file with the checksum of each complete chunk corrected.
  package static func withRightChecksums(_ file: [UInt8]) -> [UInt8] {
    var file = file
    var position = signature.count
    while position + 12 <= file.count {
      let length = file[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
      let end = position + 8 + length
      guard end + 4 <= file.count else { break }
      file.replaceSubrange(end..<end + 4, with: bigEndian(checksum(file[position + 4..<end])))
      position = end + 4
    }
    return file
  }

  package static func bigEndian(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
  }

  /// zlib's format without compression (RFC 1950, RFC 1951 §3.2.4), so that a fuzzer's changes reach the pixels.
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x78, 0x01]
    var rest = bytes[...]
    repeat {
      let part = rest.prefix(65_535)
      rest = rest.dropFirst(part.count)
      let length = UInt16(part.count)
      out.append(rest.isEmpty ? 1 : 0)
      for value in [length, ~length] { out += [UInt8(value & 255), UInt8(value >> 8)] }
      out += part
    } while !rest.isEmpty
    var (a, b): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    return out + bigEndian(b << 16 | a)
  }

  /// `count` zeros in zlib's format, in a thousandth of the size.
  package static func deflated(zeros count: Int) -> [UInt8] {
    var length = 0
    guard let memory = fixture_deflate_zeros(count, &length) else { fatalError("zlib refused to write a fixture") }
    defer { free(memory) }
    return Array(UnsafeBufferPointer(start: memory, count: length))
  }

  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }

  /// CRC-32 (annex D).
  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(($0 ^ UInt32($1)) & 255)] ^ $0 >> 8 }
  }
}
