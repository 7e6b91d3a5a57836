/// A Bloom filter of inodes with one bit for each, in 128 KiB. What it rules out was not inserted. With 100,000 inodes in
/// it, about one in ten others passes by chance; with a million, two in three.
struct InodeFilter {
  /// A power of two: 128 KiB.
  private static let bits = 1 << 20

  private var words: [UInt64] = []

  mutating func insert(_ inode: UInt64) {
    if words.isEmpty { words = [UInt64](repeating: 0, count: Self.bits / 64) }
    let bit = Self.bit(of: inode)
    words[bit / 64] |= 1 << UInt64(bit % 64)
  }

  /// Whether an inode may have been inserted.
  func mayContain(_ inode: UInt64) -> Bool {
    guard !words.isEmpty else { return false }
    let bit = Self.bit(of: inode)
    return words[bit / 64] & 1 << UInt64(bit % 64) != 0
  }

  /// File systems number files in sequence, so the lowest bits differ most; others put counters of reuse above them.
  private static func bit(of inode: UInt64) -> Int { Int((inode ^ inode >> 32) & UInt64(bits - 1)) }
}
