/// The directories of a TIFF block in memory (TIFF 6.0 §2), read by position: what EXIF, multi-picture files and Apple's maker
/// note are built of. Every offset in it came from a file, so every access is checked.
package struct TIFFBlock {
  package struct Entry {
    package let tag: Int
    /// TIFF 6.0 §2, "Types"; other numbers may stand here too.
    package let type: Int
    package let count: Int
    /// Where the value's four bytes lie in the block: the value itself, or its offset.
    package let valuePosition: Int
  }

  package struct Directory {
    package let entries: [Entry]
    /// Where the next directory lies; 0: there is none.
    package let next: Int
  }

  private let bytes: ArraySlice<UInt8>
  package let isBigEndian: Bool

  /// - Parameter bytes: from the TIFF header on; offsets count from its first byte.
  package init?(_ bytes: ArraySlice<UInt8>) {
    switch bytes.prefix(4) {
    case [0x49, 0x49, 42, 0]: isBigEndian = false
    case [0x4D, 0x4D, 0, 42]: isBigEndian = true
    default: return nil
    }
    self.bytes = bytes
  }

  /// A block that has its directories and another header.
  package init(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
    self.bytes = bytes
    self.isBigEndian = isBigEndian
  }

  package var firstDirectory: Directory? { number(at: 4, bytes: 4).flatMap { directory(at: $0) } }

  /// The directory at an offset; `nil` where its entries do not lie in the block, all of them. A block that ends right behind them
  /// has no further directory.
  package func directory(at offset: Int) -> Directory? {
    guard offset >= 8, let count = number(at: offset, bytes: 2), offset + 2 + count * 12 <= bytes.count else {
      return nil
    }
    let entries = (0..<count).compactMap { i -> Entry? in
      let start = offset + 2 + i * 12
      guard let tag = number(at: start, bytes: 2), let type = number(at: start + 2, bytes: 2),
        let count = number(at: start + 4, bytes: 4)
      else { return nil }
      return Entry(tag: tag, type: type, count: count, valuePosition: start + 8)
    }
    return Directory(entries: entries, next: number(at: offset + 2 + count * 12, bytes: 4) ?? 0)
  }

  /// The bytes of an entry's value, in the block's byte order; `nil` where its type is unknown or it does not lie in the block.
  package func content(_ entry: Entry) -> ArraySlice<UInt8>? {
    guard let unit = Self.typeBytes(entry.type) else { return nil }
    let length = unit * entry.count
    guard length > 4 else { return slice(at: entry.valuePosition, count: length) }
    return number(at: entry.valuePosition, bytes: 4).flatMap { slice(at: $0, count: length) }
  }

  /// A LONG that is an entry's only value.
  package func long(_ tag: Int, in directory: Directory) -> Int? {
    directory.entries.first { $0.tag == tag }.flatMap { number(at: $0.valuePosition, bytes: 4) }
  }

  package func number(at offset: Int, bytes count: Int) -> Int? {
    guard let part = slice(at: offset, count: count) else { return nil }
    return isBigEndian ? part.reduce(0) { $0 << 8 | Int($1) } : part.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// What one value of a type takes (TIFF 6.0 §2; 13 is IFD, of TIFF Technical Note 1).
  package static func typeBytes(_ type: Int) -> Int? {
    switch type {
    case 1, 2, 6, 7: 1
    case 3, 8: 2
    case 4, 9, 11, 13: 4
    case 5, 10, 12: 8
    default: nil
    }
  }

  private func slice(at offset: Int, count: Int) -> ArraySlice<UInt8>? {
    guard offset >= 0, count >= 0, offset <= bytes.count - count else { return nil }
    let start = bytes.startIndex + offset
    return bytes[start..<start + count]
  }

  /// The JPEG that IFD1 points to (CIPA DC-008 §4.5.5), as offsets in the block; `nil` where there is none.
  package var thumbnail: Range<Int>? {
    guard let first = firstDirectory, first.next != 0, let second = directory(at: first.next),
      let offset = long(0x0201, in: second), let length = long(0x0202, in: second), length >= 4,
      length <= bytes.count, offset <= bytes.count - length, number(at: offset, bytes: 1) == 0xFF,
      number(at: offset + 1, bytes: 1) == 0xD8
    else { return nil }
    return offset..<offset + length
  }
}
