import CZlib
import Testing

/// Reads a ZIP archive by its central directory, as unpackers do. Written from APPNOTE 6.3.10, and independent of the
/// code that it tests.
struct ZipReader {
  struct Entry {
    var name = ""
    var size: UInt64 = 0
    var crc: UInt32 = 0
    var offset: UInt64 = 0
    var dosTime = 0
    var dosDate = 0
    /// The time of the extended timestamp; `nil`: there is none.
    var date: Int32?
    var mode = 0
    var flags = 0
  }

  /// Reads bytes of the archive: an archive may be larger than memory.
  let read: (Range<Int64>) -> [UInt8]
  private(set) var entries: [Entry] = []

  init(length: Int64, _ read: @escaping (Range<Int64>) -> [UInt8]) throws {
    self.read = read
    let end = read(length - 22..<length)
    try #require(Self.number(end, 0, 4) == 0x0605_4B50)
    var count = Self.number(end, 10, 2)
    var size = Self.number(end, 12, 4)
    var offset = Self.number(end, 16, 4)
    if count == 0xFFFF || size == 0xFFFF_FFFF || offset == 0xFFFF_FFFF {
      let locator = read(length - 42..<length - 22)
      try #require(Self.number(locator, 0, 4) == 0x0706_4B50)
      let place = Int64(Self.number(locator, 8, 8))
      let record = read(place..<place + 56)
      try #require(Self.number(record, 0, 4) == 0x0606_4B50 && place + 56 == length - 42)
      try #require(Self.number(record, 4, 8) == 44)
      count = Self.number(record, 32, 8)
      size = Self.number(record, 40, 8)
      offset = Self.number(record, 48, 8)
      try #require(Int64(offset + size) == place)
    } else {
      try #require(Int64(offset + size) == length - 22)
    }
    let directory = read(Int64(offset)..<Int64(offset + size))
    var position = 0
    while position < directory.count {
      try #require(Self.number(directory, position, 4) == 0x0201_4B50)
      var entry = Entry()
      entry.flags = Int(Self.number(directory, position + 8, 2))
      try #require(Self.number(directory, position + 10, 2) == 0)
      entry.dosTime = Int(Self.number(directory, position + 12, 2))
      entry.dosDate = Int(Self.number(directory, position + 14, 2))
      entry.crc = UInt32(Self.number(directory, position + 16, 4))
      let compressed = Self.number(directory, position + 20, 4)
      entry.size = Self.number(directory, position + 24, 4)
      try #require(compressed == entry.size)
      let name = Int(Self.number(directory, position + 28, 2))
      let extra = Int(Self.number(directory, position + 30, 2))
      try #require(Self.number(directory, position + 32, 2) == 0)
      entry.mode = Int(Self.number(directory, position + 38, 4) >> 16)
      entry.offset = Self.number(directory, position + 42, 4)
      entry.name = String(decoding: directory[position + 46..<position + 46 + name], as: UTF8.self)
      var field = position + 46 + name
      let fieldsEnd = field + extra
      while field < fieldsEnd {
        let length = Int(Self.number(directory, field + 2, 2))
        switch Self.number(directory, field, 2) {
        case 1:
          var value = field + 4
          if entry.size == 0xFFFF_FFFF {
            entry.size = Self.number(directory, value, 8)
            try #require(Self.number(directory, value + 8, 8) == entry.size)
            value += 16
          }
          if entry.offset == 0xFFFF_FFFF {
            entry.offset = Self.number(directory, value, 8)
            value += 8
          }
          try #require(value == field + 4 + length)
        case 0x5455:
          try #require(length == 5 && directory[field + 4] == 1)
          entry.date = Int32(truncatingIfNeeded: Self.number(directory, field + 5, 4))
        default: Issue.record("an unknown extra field")
        }
        field += 4 + length
      }
      try #require(field == fieldsEnd)
      entries.append(entry)
      position = fieldsEnd
    }
    try #require(entries.count == Int(count))
  }

  init(_ bytes: [UInt8]) throws {
    try self.init(length: Int64(bytes.count)) { Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) }
  }

  /// Where an entry's content is: checks the local header, and the data descriptor after the content.
  func content(_ entry: Entry) throws -> Range<Int64> {
    let start = Int64(entry.offset)
    let head = read(start..<start + 30)
    try #require(Self.number(head, 0, 4) == 0x0403_4B50)
    #expect(Int(Self.number(head, 6, 2)) == entry.flags && Self.number(head, 14, 4) == 0)
    let name = Int64(Self.number(head, 26, 2))
    let extra = Int64(Self.number(head, 28, 2))
    #expect(read(start + 30..<start + 30 + name) == Array(entry.name.utf8))
    let first = start + 30 + name + extra
    // The local header has the same timestamp, and after it nothing.
    #expect((extra % 20 == 9) == (entry.date != nil) && (extra % 20 == 0) == (entry.date == nil))
    let end = first + Int64(entry.size)
    // A Zip64 field in the local header makes the sizes of the descriptor eight bytes long.
    let isWide = extra > 0 && Self.number(read(start + 30 + name..<first), 0, 2) == 1
    let width = isWide ? 8 : 4
    #expect(isWide == (entry.size >= 0xFFFF_FFFF))
    let descriptor = read(end..<end + Int64(8 + 2 * width))
    #expect(Self.number(descriptor, 0, 4) == 0x0807_4B50)
    #expect(UInt32(Self.number(descriptor, 4, 4)) == entry.crc)
    #expect(Self.number(descriptor, 8, width) == entry.size)
    #expect(Self.number(descriptor, 8 + width, width) == entry.size)
    return first..<end
  }

  /// An entry's content, whose CRC must be right.
  func checkedContent(_ entry: Entry) throws -> [UInt8] {
    let bytes = read(try content(entry))
    #expect(Self.crc(bytes) == entry.crc, "\(entry.name)")
    return bytes
  }

  static func crc(_ bytes: [UInt8]) -> UInt32 { UInt32(crc32(0, bytes, UInt32(bytes.count))) }

  private static func number(_ bytes: [UInt8], _ offset: Int, _ width: Int) -> UInt64 {
    (0..<width).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * UInt64($1)) }
  }
}
