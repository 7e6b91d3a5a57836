/// The directories of a TIFF block in memory (TIFF 6.0 §2), which EXIF, multi-picture files and Apple's maker note
/// consist of. Every offset comes from the file, so every access is checked.
package struct TIFFBlock {
  package struct Entry {
    package let tag: Int
    /// TIFF 6.0 §2, "Types"; files contain other numbers too.
    let type: Int
    let count: Int
    /// The position of the value's four bytes in the block. They contain the value itself, or its offset.
    let valuePosition: Int
  }

  package struct Directory {
    package let entries: [Entry]
    /// The position of the next directory; 0 if there is none.
    let next: Int
  }

  private let bytes: ArraySlice<UInt8>
  package let isBigEndian: Bool

  /// - Parameter bytes: the block from its TIFF header; offsets count from its first byte.
  package init?(_ bytes: ArraySlice<UInt8>) {
    switch bytes.prefix(4) {
    case [0x49, 0x49, 42, 0]: isBigEndian = false
    case [0x4D, 0x4D, 0, 42]: isBigEndian = true
    default: return nil
    }
    self.bytes = bytes
  }

  /// A block with directories after another kind of header.
  package init(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
    self.bytes = bytes
    self.isBigEndian = isBigEndian
  }

  package var firstDirectory: Directory? { number(at: 4, bytes: 4).flatMap { directory(at: $0) } }

  /// The directory at an offset; `nil` unless all its entries lie within the block. A block that ends directly after
  /// the entries has no further directory.
  func directory(at offset: Int) -> Directory? {
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

  /// The bytes of an entry's value, in the block's byte order; `nil` if its type is unknown or it does not lie within
  /// the block.
  package func content(_ entry: Entry) -> ArraySlice<UInt8>? {
    guard let unit = Self.typeBytes(entry.type) else { return nil }
    let length = unit * entry.count
    guard length > 4 else { return slice(at: entry.valuePosition, count: length) }
    return number(at: entry.valuePosition, bytes: 4).flatMap { slice(at: $0, count: length) }
  }

  /// Whether an entry's value lies within the block; false if its type is unknown.
  func contains(_ entry: Entry) -> Bool {
    guard let unit = Self.typeBytes(entry.type) else { return false }
    let length = unit * entry.count
    guard length > 4 else { return entry.valuePosition <= bytes.count - length }
    return number(at: entry.valuePosition, bytes: 4).map { $0 <= bytes.count - length } ?? false
  }

  /// A LONG that is an entry's only value.
  func long(_ tag: Int, in directory: Directory) -> Int? {
    directory.entries.first { $0.tag == tag }.flatMap { number(at: $0.valuePosition, bytes: 4) }
  }

  package func number(at offset: Int, bytes count: Int) -> Int? {
    guard offset >= 0, count >= 0, offset <= bytes.count - count else { return nil }
    let start = bytes.startIndex + offset
    var value = 0
    // Not a reduction of a slice: a scan reads thousands of numbers of each file.
    for i in 0..<count { value = value << 8 | Int(bytes[isBigEndian ? start + i : start + count - 1 - i]) }
    return value
  }

  /// The size of one value of a type in bytes (TIFF 6.0 §2; 13 is IFD, of TIFF Technical Note 1).
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

  /// The JPEG that IFD1 points to (CIPA DC-008 §4.5.5), as offsets in the block; `nil` if there is none.
  var thumbnail: Range<Int>? {
    guard let first = firstDirectory, first.next != 0, let second = directory(at: first.next),
      let offset = long(0x0201, in: second), let length = long(0x0202, in: second), length >= 4,
      length <= bytes.count, offset <= bytes.count - length, number(at: offset, bytes: 1) == 0xFF,
      number(at: offset + 1, bytes: 1) == 0xD8
    else { return nil }
    return offset..<offset + length
  }
}
