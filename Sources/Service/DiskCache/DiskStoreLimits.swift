/// Limits of a store in memory and on disk, in addition to its capacity.
package struct DiskStoreLimits: Sendable {
  /// Maximum bytes of one entry. A larger entry is not stored, and a larger file is not read.
  package var entryBytes: Int
  /// Maximum bytes of entries that wait to be written; further entries are dropped.
  package var pendingBytes: Int
  /// Maximum number of uses and damaged files that wait for the index, 50 bytes each. They are written at half this
  /// number; further ones are forgotten.
  package var pendingIndexUpdates: Int
  /// Nothing is written when less than this is free on the file system.
  package var minimumFreeBytes: Int64
  /// Time from a failure of the disk to the next attempt to write.
  var retryDelay: Duration

  package init(
    entryBytes: Int = 4 << 20, pendingBytes: Int = 8 << 20, pendingIndexUpdates: Int = 4096,
    minimumFreeBytes: Int64 = 512 << 20, retryDelay: Duration = .seconds(30)
  ) {
    self.entryBytes = entryBytes
    self.pendingBytes = pendingBytes
    self.pendingIndexUpdates = pendingIndexUpdates
    self.minimumFreeBytes = minimumFreeBytes
    self.retryDelay = retryDelay
  }
}
