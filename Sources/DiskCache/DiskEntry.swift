/// What is stored under a key.
package struct DiskEntry: Sendable, Hashable {
  package static let maximumInfoBytes = 64

  package let bytes: [UInt8]
  /// What whoever stored it had to say of it; nothing to the store.
  package let info: [UInt8]
}

/// What an entry is counted as.
package enum EntryCost {
  /// What a file takes is counted in these: the block of ext4, XFS and Btrfs.
  package static let blockBytes = 4096
  /// For the two rows in the index and the name in its folder; `scripts/bench disk` prints what they take.
  package static let rowBytes = 256

  /// Of an entry with so many bytes.
  package static func bytes(of count: Int) -> Int64 {
    let blocks = (EntryFile.prefixBytes + count + blockBytes - 1) / blockBytes
    return Int64(blocks * blockBytes + rowBytes)
  }
}
