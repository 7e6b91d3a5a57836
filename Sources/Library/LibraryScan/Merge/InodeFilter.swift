/// A Bloom filter of inodes with one hash function, in 128 KiB. Its rate of false positives is about one in ten with
/// 100,000 inodes, and two in three with a million.
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

  /// Most file systems number files in sequence, so the lowest bits differ most. Some count the reuses of an inode in
  /// the high bits.
  private static func bit(of inode: UInt64) -> Int { Int((inode ^ inode >> 32) & UInt64(bits - 1)) }
}
