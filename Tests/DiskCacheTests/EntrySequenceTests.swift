import DiskCache
import Testing

/// Entries that come back from another machine show themselves whether they are the expected ones.
@Suite("Disk cache: entries as one piece of bytes")
struct EntrySequenceTests {
  private static let keys = [Sample.key(1), Sample.key(2)]
  private static let entries = [
    DiskEntry(bytes: Array(0..<90), info: [8]), DiskEntry(bytes: [7, 7, 7], info: [1, 2, 3]),
  ]
  private static let whole = EntrySequence.bytes(
    of: Array(zip(keys, entries)).map { (key: $0, entry: $1) }, .derivative, epoch: 2)

  private func read(
    _ bytes: [UInt8], _ keys: [DiskStore.Key] = Self.keys, _ kind: DiskStore.Kind = .derivative, epoch: UInt32 = 2
  ) throws(EntryDefect) -> [DiskEntry] {
    try EntrySequence.entries(in: bytes, of: keys, kind, epoch: epoch)
  }

  @Test func `Entries come back in order with their bytes and info`() throws {
    #expect(try read(Self.whole) == Self.entries)
    #expect(Self.whole.count == 2 * 128 + 93)
    let empty = EntrySequence.bytes(of: [(Self.keys[0], DiskEntry(bytes: [], info: []))], .frame, epoch: 1)
    #expect(try read(empty, [Self.keys[0]], .frame, epoch: 1) == [DiskEntry(bytes: [], info: [])])
  }

  @Test func `Bytes that end at any position, or go on, are refused`() {
    for count in 0..<Self.whole.count {
      #expect(throws: EntryDefect.self, "cut at \(count)") { try read(Array(Self.whole.prefix(count))) }
    }
    #expect(throws: EntryDefect.length) { try read(Self.whole + [0]) }
    #expect(throws: EntryDefect.length) { try read(Self.whole + Self.whole) }
  }

  @Test func `A change of any single byte is refused`() {
    for position in Self.whole.indices {
      var bytes = Self.whole
      bytes[position] ^= 0x20
      #expect(throws: EntryDefect.self, "byte \(position)") { try read(bytes) }
    }
  }

  @Test func `Entries of another key, order, kind or epoch are refused`() {
    #expect(throws: EntryDefect.wrongEntry) { try read(Self.whole, [Sample.key(1), Sample.key(3)]) }
    #expect(throws: EntryDefect.wrongEntry) { try read(Self.whole, Self.keys.reversed()) }
    #expect(throws: EntryDefect.wrongEntry) { try read(Self.whole, Self.keys, .frame) }
    #expect(throws: EntryDefect.wrongEntry) { try read(Self.whole, epoch: 3) }
    #expect(throws: EntryDefect.length) { try read(Self.whole, [Sample.key(1)]) }
  }

  @Test func `A length of any size takes no more memory than the bytes have`() {
    for length in [UInt64.max, 1 << 63, 1 << 40, 91] {
      var bytes = Self.whole
      for byte in 0..<8 { bytes[32 + byte] = UInt8(truncatingIfNeeded: length >> (8 * UInt64(byte))) }
      #expect(throws: EntryDefect.self, "\(length)") { try read(bytes) }
    }
  }
}
