/// A stored entry.
package struct DiskEntry: Sendable, Hashable {
  static let maximumInfoBytes = 64

  package let bytes: [UInt8]
  /// Facts about the entry for the caller; the store does not interpret them.
  package let info: [UInt8]

  package init(bytes: [UInt8], info: [UInt8]) { (self.bytes, self.info) = (bytes, info) }
}

/// The cost of an entry against the capacity.
package enum EntryCost {
  /// File sizes are rounded up to this unit: the block size of ext4, XFS and Btrfs.
  static let blockBytes = 4096
  /// Cost of the two index rows and the name in the folder; `scripts/bench disk` prints the measured value.
  static let rowBytes = 256

  /// The cost of an entry with `count` bytes.
  package static func bytes(of count: Int) -> Int64 {
    let blocks = (EntryFile.prefixBytes + count + blockBytes - 1) / blockBytes
    return Int64(blocks * blockBytes + rowBytes)
  }
}
