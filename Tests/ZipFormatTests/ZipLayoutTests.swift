import Testing
import ZipFormat

/// The layout, read back by ``ZipReader``.
@Suite("ZIP layout")
struct ZipLayoutTests {
  /// The bytes of a range. Contents are given by a function of the entry and the range in it.
  private static func bytes(
    _ layout: ZipLayout, _ range: Range<Int64>, crc: (Int) -> UInt32, content: (Int, Range<Int64>) -> [UInt8]
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    var position = range.lowerBound
    while position < range.upperBound {
      let (part, place) = layout.part(at: position)
      let wanted = position..<min(place.upperBound, range.upperBound)
      let inPart = wanted.lowerBound - place.lowerBound..<wanted.upperBound - place.lowerBound
      func slice(_ whole: [UInt8]) -> ArraySlice<UInt8> {
        #expect(whole.count == place.count)
        return whole[Int(inPart.lowerBound)..<Int(inPart.upperBound)]
      }
      switch part {
      case .localHeader(let index): bytes += slice(layout.localHeader(index))
      case .content(let index): bytes += content(index, inPart)
      case .descriptor(let index): bytes += slice(layout.descriptor(index, crc: crc(index)))
      case .record(let index): bytes += slice(layout.record(index, crc: crc(index)))
      case .end: bytes += slice(layout.end)
      }
      position = wanted.upperBound
    }
    return bytes
  }

  private static let contents: [(name: String, bytes: [UInt8])] = [
    ("IMG_1.jpg", Array("the first picture".utf8)), ("empty.txt", []),
    ("été 東京.heic", [UInt8](repeating: 7, count: 300)),
  ]

  private static let small = ZipLayout(
    contents.map {
      // 2024-05-06T08:09:10+02:00
      ZipLayout.Entry(name: $0.name, size: Int64($0.bytes.count), date: 1_714_975_750, utcOffset: 120)
    })

  private static func small(_ range: Range<Int64>) -> [UInt8] {
    bytes(small, range) {
      ZipReader.crc(contents[$0].bytes)
    } content: {
      Array(contents[$0].bytes[Int($1.lowerBound)..<Int($1.upperBound)])
    }
  }

  @Test("a reader finds names, contents, checksums, dates and modes")
  func roundTrip() throws {
    let all = Self.small(0..<Self.small.length)
    #expect(all.count == Int(Self.small.length))
    let reader = try ZipReader(all)
    #expect(reader.entries.map(\.name) == Self.contents.map(\.name))
    for (entry, expected) in zip(reader.entries, Self.contents) {
      #expect(try reader.checkedContent(entry) == expected.bytes)
      #expect(entry.flags == 0x0808 && entry.mode == 0o100644)
      #expect(entry.date == 1_714_975_750)
      #expect(entry.dosDate == (2024 - 1980) << 9 | 5 << 5 | 6)
      #expect(entry.dosTime == 8 << 11 | 9 << 5 | 5)
    }
    #expect(try ZipReader(Self.bytes(ZipLayout([]), 0..<22, crc: { _ in 0 }, content: { _, _ in [] })).entries.isEmpty)
  }

  @Test("every range of an archive is that part of the whole")
  func ranges() {
    let length = Self.small.length
    let all = Self.small(0..<length)
    for start in 0..<length {
      let isSuffix = Self.small(start..<length) == Array(all[Int(start)...])
      #expect(isSuffix, "from \(start)")
      let end = min(length, start + 37)
      let isPart = Self.small(start..<end) == Array(all[Int(start)..<Int(end)])
      #expect(isPart, "\(start)..<\(end)")
    }
  }

  private struct DateCase: CustomTestStringConvertible, Sendable {
    let seconds: Int64
    let offset: Int
    let date: [Int]
    let time: [Int]
    var testDescription: String { "\(seconds) \(offset)" }
  }

  @Test(
    "DOS dates are local, and dates that DOS can't express become the nearest one",
    arguments: [
      DateCase(seconds: 0, offset: 0, date: [1980, 1, 1], time: [0, 0, 0]),
      DateCase(seconds: .min, offset: -900, date: [1980, 1, 1], time: [0, 0, 0]),
      DateCase(seconds: .max, offset: 900, date: [2107, 12, 31], time: [23, 59, 58]),
      DateCase(seconds: 951_782_399, offset: 0, date: [2000, 2, 28], time: [23, 59, 58]),
      DateCase(seconds: 951_782_399, offset: 1, date: [2000, 2, 29], time: [0, 0, 58]),
      DateCase(seconds: 1_709_251_200, offset: -60, date: [2024, 2, 29], time: [23, 0, 0]),
      // 1901-12-13T20:45:52Z and 2038-01-19T03:14:07Z are the first and the last time of 32 bits.
      DateCase(seconds: -2_147_483_649, offset: 0, date: [1980, 1, 1], time: [0, 0, 0]),
      DateCase(seconds: -2_147_483_648, offset: 0, date: [1980, 1, 1], time: [0, 0, 0]),
      DateCase(seconds: 2_147_483_647, offset: 0, date: [2038, 1, 19], time: [3, 14, 6]),
      DateCase(seconds: 2_147_483_648, offset: 0, date: [2038, 1, 19], time: [3, 14, 8]),
      DateCase(seconds: 4_107_542_400, offset: 0, date: [2100, 3, 1], time: [0, 0, 0]),
    ])
  private func dates(_ test: DateCase) throws {
    let layout = ZipLayout([ZipLayout.Entry(name: "a", size: 0, date: test.seconds, utcOffset: test.offset)])
    let bytes = Self.bytes(layout, 0..<layout.length, crc: { _ in 0 }, content: { _, _ in [] })
    let entry = try #require(try ZipReader(bytes).entries.first)
    #expect([entry.dosDate >> 9 + 1980, entry.dosDate >> 5 & 15, entry.dosDate & 31] == test.date)
    #expect([entry.dosTime >> 11, entry.dosTime >> 5 & 63, entry.dosTime & 31 * 2] == test.time)
    #expect(entry.date == Int32(exactly: test.seconds), "a time that does not fit is left out")
    #expect(try ZipReader(bytes).checkedContent(entry).isEmpty)
  }

  @Test("entries with and without a timestamp are in one archive, also with Zip64 fields")
  func mixedDates() throws {
    let (early, late): (Int64, Int64) = (1_714_975_750, 2_209_032_000)
    let entries: [(size: Int64, date: Int64)] = [
      (3, late), (5, early), (0x1_0000_0000, late), (0x1_0000_0000, early), (1, late), (2, early),
    ]
    let layout = ZipLayout(
      entries.enumerated().map { ZipLayout.Entry(name: "\($0).jpg", size: $1.size, date: $1.date) })
    let reader = try ZipReader(length: layout.length) { range in
      Self.bytes(
        layout, range, crc: { UInt32($0) }, content: { _, range in [UInt8](repeating: 0, count: range.count) })
    }
    #expect(reader.entries.map(\.date) == entries.map { Int32(exactly: $0.date) })
    #expect(reader.entries.map(\.size) == entries.map { UInt64($0.size) })
    var next: Int64 = 0
    for entry in reader.entries {
      #expect(Int64(entry.offset) == next)
      let content = try reader.content(entry)
      next = content.upperBound + (entry.size >= 0xFFFF_FFFF ? 24 : 16)
    }
    #expect(next == layout.directoryOffset)
  }

  @Test("70,000 entries are counted by the Zip64 end record")
  func manyEntries() throws {
    let layout = ZipLayout((0..<70_000).map { ZipLayout.Entry(name: "\($0)", size: 1, date: 0) })
    let crc = ZipReader.crc([5])
    let reader = try ZipReader(length: layout.length) { range in
      Self.bytes(layout, range, crc: { _ in crc }, content: { _, range in [UInt8](repeating: 5, count: range.count) })
    }
    #expect(reader.entries.count == 70_000)
    for index in [0, 65_534, 65_535, 69_999] {
      #expect(reader.entries[index].name == "\(index)")
      #expect(try reader.checkedContent(reader.entries[index]) == [5])
    }
  }

  @Test(
    "sizes and offsets of 4 GiB and more are in Zip64 fields",
    arguments: [
      [0xFFFF_FFFE, 1], [0xFFFF_FFFF, 1], [0x1_0000_0000, 2], [1, 5 << 32, 3], [1 << 31, 1 << 31, 7],
      [6 << 30, 6 << 30],
    ] as [[Int64]])
  func largeSizes(_ sizes: [Int64]) throws {
    let layout = ZipLayout(sizes.enumerated().map { ZipLayout.Entry(name: "\($0).mov", size: $1, date: 0) })
    let reader = try ZipReader(length: layout.length) { range in
      Self.bytes(
        layout, range, crc: { UInt32($0) + 0xF000_0000 },
        content: { _, range in [UInt8](repeating: 0, count: range.count) })
    }
    #expect(reader.entries.map(\.size) == sizes.map { UInt64($0) })
    var next: Int64 = 0
    for (index, entry) in reader.entries.enumerated() {
      #expect(Int64(entry.offset) == next && entry.crc == UInt32(index) + 0xF000_0000)
      let content = try reader.content(entry)
      #expect(Int64(content.count) == sizes[index])
      next = content.upperBound + (sizes[index] >= 0xFFFF_FFFF ? 24 : 16)
    }
    #expect(next == layout.directoryOffset)
  }

  @Test("the length of the largest archive of the longest files is a number")
  func largest() {
    // `archives.maximumFiles` at most, each as long as the longest file that becomes an asset.
    let (count, size) = (131_072, Int64(1) << 44)
    let layout = ZipLayout((0..<count).map { ZipLayout.Entry(name: "\($0).mov", size: size, date: 0) })
    #expect(layout.length > Int64(count) * size)
  }
}
