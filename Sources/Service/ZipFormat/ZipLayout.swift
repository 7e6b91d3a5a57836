// The layout of a ZIP archive whose entries are stored (PKWARE APPNOTE 6.3.10). All lengths and offsets follow from the
// names and sizes, so the length of the archive and the place of each byte are known before any content is read. Only
// the CRCs come from the content; they stand in the data descriptors and in the central directory.
//
//     for each entry: local header (§4.3.7), content, data descriptor (§4.3.9)
//     central directory (§4.3.12), Zip64 end record and locator (§4.3.14, §4.3.15), end record (§4.3.16)
//
// A value that does not fit its field is in a Zip64 extra field (§4.5.3). Nothing is compressed: photographs and videos
// are compressed already.

/// The places of all bytes of a ZIP archive.
package struct ZipLayout: Sendable {
  /// Increased whenever the same files would give other bytes: a part of the entity tags of archives.
  package static let epoch = 4

  /// An entry of the archive.
  package struct Entry: Sendable, Hashable {
    /// A relative path with `/`, at most 65,535 bytes of UTF-8.
    let name: String
    /// In bytes, not negative.
    let size: Int64
    /// Seconds since 1970 in UTC.
    let date: Int64
    /// Minutes east of UTC. DOS times are local times.
    let utcOffset: Int

    package init(name: String, size: Int64, date: Int64, utcOffset: Int = 0) {
      self.name = name
      self.size = size
      self.date = date
      self.utcOffset = utcOffset
    }
  }

  /// A part of the archive.
  package enum Part: Sendable, Hashable {
    case localHeader(Int)
    case content(Int)
    case descriptor(Int)
    /// The entry's record in the central directory.
    case record(Int)
    /// The end of the archive.
    case end
  }

  /// Names are in one buffer: an entry takes about 50 bytes and its name.
  private struct Item: Sendable {
    var nameEnd: Int
    var size: Int64
    /// The offset of the local header.
    var offset: Int64
    /// The offset of the record from the start of the central directory.
    var record: Int64
    var date: Int64
    var utcOffset: Int16
  }

  private var names: [UInt8] = []
  private var items: [Item] = []
  /// The offset of the central directory.
  package private(set) var directoryOffset: Int64 = 0
  private var directorySize: Int64 = 0

  /// - Parameter entries: in the order of the archive.
  package init(_ entries: some Sequence<Entry>) {
    for entry in entries {
      precondition(entry.size >= 0 && entry.name.utf8.count <= 0xFFFF, "an entry that no archive can hold")
      names += entry.name.utf8
      let item = Item(
        nameEnd: names.count, size: entry.size, offset: directoryOffset, record: directorySize, date: entry.date,
        utcOffset: Int16(clamping: entry.utcOffset))
      items.append(item)
      let index = items.count - 1
      directoryOffset += headerLength(index) + entry.size + descriptorLength(index)
      directorySize += recordLength(index)
    }
  }

  /// The length of the archive in bytes.
  package var length: Int64 { directoryOffset + directorySize + Int64(needsZip64End ? 56 + 20 + 22 : 22) }

  /// The size of an entry's content in bytes.
  package func size(_ index: Int) -> Int64 { items[index].size }

  // MARK: Places

  /// The part that has a byte of the archive, and the range of the part. Takes logarithmic time.
  ///
  /// - Parameter position: from 0 to below ``length``.
  package func part(at position: Int64) -> (part: Part, range: Range<Int64>) {
    precondition((0..<length).contains(position), "a position outside of the archive")
    if position >= directoryOffset + directorySize { return (.end, directoryOffset + directorySize..<length) }
    if position >= directoryOffset {
      let index = lastItem { directoryOffset + $0.record <= position }
      let start = directoryOffset + items[index].record
      return (.record(index), start..<start + recordLength(index))
    }
    let index = lastItem { $0.offset <= position }
    let content = items[index].offset + headerLength(index)
    let descriptor = content + items[index].size
    if position < content { return (.localHeader(index), items[index].offset..<content) }
    if position < descriptor { return (.content(index), content..<descriptor) }
    return (.descriptor(index), descriptor..<descriptor + descriptorLength(index))
  }

  private func lastItem(_ isBefore: (Item) -> Bool) -> Int {
    var (low, high) = (0, items.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(items[middle]) { low = middle + 1 } else { high = middle }
    }
    return low - 1
  }

  private func nameBytes(_ index: Int) -> ArraySlice<UInt8> {
    names[(index == 0 ? 0 : items[index - 1].nameEnd)..<items[index].nameEnd]
  }

  /// Whether sizes of the entry need eight bytes.
  private func isLarge(_ index: Int) -> Bool { items[index].size >= 0xFFFF_FFFF }
  /// Whether the offset of the entry needs eight bytes.
  private func isFar(_ index: Int) -> Bool { items[index].offset >= 0xFFFF_FFFF }
  private var needsZip64End: Bool {
    items.count >= 0xFFFF || directoryOffset >= 0xFFFF_FFFF || directorySize >= 0xFFFF_FFFF
  }

  /// The modification time of the extended timestamp; `nil` if it does not fit. Unpackers then use the DOS date.
  private func timestamp(_ index: Int) -> Int32? { Int32(exactly: items[index].date) }
  private func timestampLength(_ index: Int) -> Int { timestamp(index) == nil ? 0 : 9 }

  /// The length of the extra fields of the local header.
  private func headerExtraLength(_ index: Int) -> Int { (isLarge(index) ? 20 : 0) + timestampLength(index) }
  private func headerLength(_ index: Int) -> Int64 {
    Int64(30 + nameBytes(index).count + headerExtraLength(index))
  }
  private func descriptorLength(_ index: Int) -> Int64 { isLarge(index) ? 24 : 16 }
  private func zip64Length(_ index: Int) -> Int { (isLarge(index) ? 16 : 0) + (isFar(index) ? 8 : 0) }
  /// The length of the extra fields of the record in the central directory.
  private func recordExtraLength(_ index: Int) -> Int {
    let zip64 = zip64Length(index)
    return (zip64 == 0 ? 0 : 4 + zip64) + timestampLength(index)
  }
  private func recordLength(_ index: Int) -> Int64 {
    Int64(46 + nameBytes(index).count + recordExtraLength(index))
  }

  // MARK: Bytes

  /// Sizes and CRC come in the data descriptor (bit 3), and the name is UTF-8 (bit 11): §4.4.4.
  private static let flags = 1 << 3 | 1 << 11

  /// The local header of an entry (§4.3.7). Sizes and CRC are 0, as bit 3 demands; a Zip64 field announces that the
  /// descriptor has sizes of eight bytes.
  package func localHeader(_ index: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(0x0403_4B50, width: 4)
    bytes.append(isLarge(index) ? 45 : 20, width: 2)
    appendCommonFields(index, to: &bytes)
    bytes.append(0, width: 4)
    let size: Int64 = isLarge(index) ? 0xFFFF_FFFF : 0
    bytes.append(size, width: 4)
    bytes.append(size, width: 4)
    bytes.append(Int64(nameBytes(index).count), width: 2)
    bytes.append(Int64(headerExtraLength(index)), width: 2)
    bytes += nameBytes(index)
    if isLarge(index) {
      bytes.append(1, width: 2)
      bytes.append(16, width: 2)
      bytes.append(0, width: 8)
      bytes.append(0, width: 8)
    }
    appendTimestamp(index, to: &bytes)
    return bytes
  }

  /// The data descriptor of an entry (§4.3.9), with its usual signature.
  ///
  /// - Parameter crc: the CRC-32 of the content.
  package func descriptor(_ index: Int, crc: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(0x0807_4B50, width: 4)
    bytes.append(Int64(crc), width: 4)
    bytes.append(items[index].size, width: isLarge(index) ? 8 : 4)
    bytes.append(items[index].size, width: isLarge(index) ? 8 : 4)
    return bytes
  }

  /// The record of an entry in the central directory (§4.3.12).
  ///
  /// - Parameter crc: the CRC-32 of the content.
  package func record(_ index: Int, crc: UInt32) -> [UInt8] {
    let item = items[index]
    let zip64 = zip64Length(index)
    var bytes: [UInt8] = []
    bytes.append(0x0201_4B50, width: 4)
    // Made on Unix (§4.4.2), so the external attributes have a mode.
    bytes.append(3 << 8 | 45, width: 2)
    bytes.append(zip64 == 0 ? 20 : 45, width: 2)
    appendCommonFields(index, to: &bytes)
    bytes.append(Int64(crc), width: 4)
    bytes.append(isLarge(index) ? 0xFFFF_FFFF : item.size, width: 4)
    bytes.append(isLarge(index) ? 0xFFFF_FFFF : item.size, width: 4)
    bytes.append(Int64(nameBytes(index).count), width: 2)
    bytes.append(Int64(recordExtraLength(index)), width: 2)
    // No comment, the only disk, no internal attributes.
    bytes.append(0, width: 6)
    bytes.append(0o100644 << 16, width: 4)
    bytes.append(isFar(index) ? 0xFFFF_FFFF : item.offset, width: 4)
    bytes += nameBytes(index)
    if zip64 > 0 {
      bytes.append(1, width: 2)
      bytes.append(Int64(zip64), width: 2)
      if isLarge(index) {
        bytes.append(item.size, width: 8)
        bytes.append(item.size, width: 8)
      }
      if isFar(index) { bytes.append(item.offset, width: 8) }
    }
    appendTimestamp(index, to: &bytes)
    return bytes
  }

  /// The end records (§4.3.14 to §4.3.16).
  package var end: [UInt8] {
    var bytes: [UInt8] = []
    if needsZip64End {
      bytes.append(0x0606_4B50, width: 4)
      bytes.append(44, width: 8)
      bytes.append(3 << 8 | 45, width: 2)
      bytes.append(45, width: 2)
      bytes.append(0, width: 8)
      bytes.append(Int64(items.count), width: 8)
      bytes.append(Int64(items.count), width: 8)
      bytes.append(directorySize, width: 8)
      bytes.append(directoryOffset, width: 8)
      bytes.append(0x0706_4B50, width: 4)
      bytes.append(0, width: 4)
      bytes.append(directoryOffset + directorySize, width: 8)
      bytes.append(1, width: 4)
    }
    bytes.append(0x0605_4B50, width: 4)
    bytes.append(0, width: 4)
    bytes.append(min(Int64(items.count), 0xFFFF), width: 2)
    bytes.append(min(Int64(items.count), 0xFFFF), width: 2)
    bytes.append(min(directorySize, 0xFFFF_FFFF), width: 4)
    bytes.append(min(directoryOffset, 0xFFFF_FFFF), width: 4)
    bytes.append(0, width: 2)
    return bytes
  }

  /// Flags, method 0 (stored), DOS time and date.
  private func appendCommonFields(_ index: Int, to bytes: inout [UInt8]) {
    bytes.append(Int64(Self.flags), width: 2)
    bytes.append(0, width: 2)
    let time = DOSTime(secondsSince1970: items[index].date, utcOffset: Int(items[index].utcOffset))
    bytes.append(Int64(time.time), width: 2)
    bytes.append(Int64(time.date), width: 2)
  }

  /// The extended timestamp (0x5455 of Info-ZIP) with the modification time in UTC; 9 bytes, or none if the time does
  /// not fit: unpackers prefer this time to the DOS date.
  private func appendTimestamp(_ index: Int, to bytes: inout [UInt8]) {
    guard let time = timestamp(index) else { return }
    bytes.append(0x5455, width: 2)
    bytes.append(5, width: 2)
    bytes.append(1, width: 1)
    bytes.append(Int64(UInt32(bitPattern: time)), width: 4)
  }
}

extension [UInt8] {
  /// Appends the low bytes of a number, the lowest first.
  fileprivate mutating func append(_ value: Int64, width: Int) {
    for shift in 0..<width { append(UInt8(truncatingIfNeeded: value >> (8 * Int64(shift)))) }
  }
}
