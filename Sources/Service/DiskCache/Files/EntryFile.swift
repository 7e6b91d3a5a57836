// The layout of an entry's file, and its reader. Numbers are little-endian:
//
//      0  4  "PHDC"
//      4  2  format: 1
//      6  1  kind
//      7  1  bytes of info, at most 64
//      8  4  epoch
//     12  4  0
//     16  8  key, high
//     24  8  key, low
//     32  8  bytes after the prefix, to the end of the file
//     40  8  checksum of the prefix, with 0 in this place, and of the bytes
//     48 16  0
//     64 64  info, padded with 0
//    128     the bytes
//
// The checksum is CRC64.

#if canImport(Glibc)
  import Glibc
#endif

/// Why bytes are not the expected entry.
package enum EntryDefect: String, Error, Sendable {
  /// Not a regular file, not of this format, or too large.
  case wrongFormat
  /// Complete, but of another key, kind or epoch.
  case wrongEntry
  /// Longer or shorter than its prefix states.
  case length
  case checksum
}

enum EntryReadResult: Sendable {
  case entry(DiskEntry)
  case missing
  case damaged(EntryDefect)
  /// Reading failed with this `errno`.
  case failed(code: Int32)
}

enum EntryFile {
  static let prefixBytes = 128
  private static let magic: UInt32 = 0x4344_4850
  private static let format: UInt16 = 1
  private static let infoCountOffset = 7
  private static let bytesOffset = 32
  private static let checksumOffset = 40
  private static let infoOffset = 64

  /// The prefix before an entry's bytes.
  static func prefix(of entry: DiskEntry, _ name: EntryName) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: prefixBytes) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      raw.initializeMemory(as: UInt8.self, repeating: 0)
      func put(_ value: some FixedWidthInteger & BitwiseCopyable, at offset: Int) {
        raw.storeBytes(of: value.littleEndian, toByteOffset: offset, as: type(of: value))
      }
      put(magic, at: 0)
      put(format, at: 4)
      put(name.group.kind.rawValue, at: 6)
      put(UInt8(entry.info.count), at: 7)
      put(name.group.epoch, at: 8)
      put(name.key.high, at: 16)
      put(name.key.low, at: 24)
      put(UInt64(entry.bytes.count), at: 32)
      raw[infoOffset..<infoOffset + entry.info.count].copyBytes(from: entry.info)
      put(entry.bytes.withUnsafeBytes { checksum(UnsafeRawBufferPointer(raw), $0) }, at: checksumOffset)
      count = prefixBytes
    }
  }

  /// Reads and validates an open file.
  static func read(_ descriptor: Int32, as name: EntryName, entryBytes: Int) -> EntryReadResult {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .failed(code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= entryBytes + prefixBytes else {
      return .damaged(.wrongFormat)
    }
    guard status.st_size >= prefixBytes else { return .damaged(.length) }
    let count = Int(status.st_size) - prefixBytes
    return withUnsafeTemporaryAllocation(byteCount: prefixBytes, alignment: 8) { prefix in
      var code: Int32?
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        code = fill(prefix, UnsafeMutableRawBufferPointer(buffer), from: descriptor)
        // Set also after a failure: the content is then not used, but the array must free its memory.
        filled = code == nil ? count : 0
      }
      switch code {
      case nil: break
      case 0: return .damaged(.length)
      case let code?: return .failed(code: code)
      }
      if let damage = validate(prefix, bytes, as: name) { return .damaged(damage) }
      let info = Array(prefix[infoOffset..<infoOffset + Int(prefix[7])])
      return .entry(DiskEntry(bytes: bytes, info: info))
    }
  }

  /// Fills both buffers completely. Returns `nil` on success; else `errno`, or 0 if the file ends early.
  private static func fill(
    _ prefix: UnsafeMutableRawBufferPointer, _ bytes: UnsafeMutableRawBufferPointer, from descriptor: Int32
  ) -> Int32? {
    var done = 0
    while done < prefix.count + bytes.count {
      let inPrefix = min(done, prefix.count)
      let inBytes = done - inPrefix
      var parts = (
        iovec(iov_base: prefix.baseAddress.map { $0 + inPrefix }, iov_len: prefix.count - inPrefix),
        iovec(iov_base: bytes.baseAddress.map { $0 + inBytes }, iov_len: bytes.count - inBytes)
      )
      let count = withUnsafeBytes(of: &parts) {
        readv(descriptor, $0.assumingMemoryBound(to: iovec.self).baseAddress, 2)
      }
      if count == 0 { return 0 }
      if count < 0 {
        if errno == EINTR { continue }
        return errno
      }
      done += count
    }
    return nil
  }

  /// Reads and validates an entry in memory, and returns how many bytes it takes.
  ///
  /// - Parameter file: begins with the entry.
  static func read(
    _ file: ArraySlice<UInt8>, as name: EntryName
  ) throws(EntryDefect) -> (entry: DiskEntry, fileBytes: Int) {
    guard file.count >= prefixBytes else { throw .length }
    let announced = file[(file.startIndex + bytesOffset)..<(file.startIndex + bytesOffset + 8)].reversed()
      .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard announced <= UInt64(file.count - prefixBytes) else { throw .length }
    var prefix = Array(file.prefix(prefixBytes))
    let bytes = Array(file.dropFirst(prefixBytes).prefix(Int(announced)))
    if let defect = prefix.withUnsafeMutableBytes({ validate($0, bytes, as: name) }) { throw defect }
    let info = Array(prefix[infoOffset..<infoOffset + Int(prefix[infoCountOffset])])
    return (DiskEntry(bytes: bytes, info: info), prefixBytes + bytes.count)
  }

  private static func validate(_ prefix: UnsafeMutableRawBufferPointer, _ bytes: [UInt8], as name: EntryName)
    -> EntryDefect?
  {
    func number<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _ type: Value.Type = Value.self) -> Value {
      Value(littleEndian: prefix.loadUnaligned(fromByteOffset: offset, as: type))
    }
    guard number(0) == magic, number(4) == format, number(7) <= UInt8(DiskEntry.maximumInfoBytes) else {
      return .wrongFormat
    }
    guard number(32) == UInt64(bytes.count) else { return .length }
    let expected = number(checksumOffset, UInt64.self)
    prefix.storeBytes(of: 0, toByteOffset: checksumOffset, as: UInt64.self)
    guard bytes.withUnsafeBytes({ checksum(UnsafeRawBufferPointer(prefix), $0) }) == expected else { return .checksum }
    guard number(6) == name.group.kind.rawValue, number(8) == name.group.epoch,
      number(16) == name.key.high, number(24) == name.key.low
    else { return .wrongEntry }
    return nil
  }

  private static func checksum(_ prefix: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var checksum = CRC64()
    checksum.add(prefix)
    checksum.add(bytes)
    return checksum.value
  }
}
