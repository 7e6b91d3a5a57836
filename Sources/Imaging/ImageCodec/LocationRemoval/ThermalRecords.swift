import MediaMetadata

/// The records that FLIR's thermal cameras store in APP1 segments ("FFF"). The format is ExifTool's (FLIR.pm): a header
/// of 64 bytes, and an index with 32 bytes for each record.
enum ThermalRecords {
  private static let gpsRecord = 0x2B
  private static let maximumRecords = 4096

  /// The patches that remove GPS records.
  ///
  /// - Parameter bytes: the parts of all segments, joined.
  static func patches(_ bytes: [UInt8]) throws(LocationRemovalError) -> [BlockPatch] {
    guard bytes.count >= 64, bytes.starts(with: "FFF\0".utf8) || bytes.starts(with: "AFF\0".utf8) else { return [] }
    // The version is between 100 and 199 in the file's byte order.
    func number(_ position: Int, _ count: Int, _ isBigEndian: Bool) -> Int {
      isBigEndian
        ? bytes[...].bigEndian(at: position, bytes: count) : bytes[...].littleEndian(at: position, bytes: count)
    }
    guard let isBigEndian = [true, false].first(where: { (100..<200).contains(number(20, 4, $0)) }) else {
      throw .malformed("thermal records of an unknown version", offset: 20)
    }
    let index = number(24, 4, isBigEndian)
    let count = number(28, 4, isBigEndian)
    guard count <= maximumRecords, index + count * 32 <= bytes.count else {
      throw .malformed("an index of thermal records beyond their end", offset: 24)
    }
    var patches: [BlockPatch] = []
    for i in 0..<count {
      let entry = index + i * 32
      guard number(entry, 2, isBigEndian) == gpsRecord else { continue }
      let start = number(entry + 12, 4, isBigEndian)
      let length = number(entry + 16, 4, isBigEndian)
      guard start >= 64, start <= bytes.count - length else {
        throw .malformed("a thermal record beyond the end", offset: Int64(entry))
      }
      patches += BlockPatch.differences(
        from: bytes[start..<start + length], to: [UInt8](repeating: 0, count: length)
      ).map { BlockPatch(offset: $0.offset + start, bytes: $0.bytes) }
    }
    return patches
  }
}
