/// What a store may take of memory and of the disk, beside its capacity.
package struct DiskStoreLimits: Sendable {
  /// One entry. What is larger is not stored, and a file that is larger is not read.
  package var entryBytes: Int
  /// Of entries that are not written yet; what comes beyond is dropped.
  package var pendingBytes: Int
  /// Uses and damaged files that wait for the index, 50 bytes each; at half as many they are written, what comes beyond
  /// is forgotten.
  package var pendingNotes: Int
  /// Nothing is written where less than this is free.
  package var minimumFreeBytes: Int64
  /// From a failure of the disk to the next attempt to write.
  package var retryDelay: Duration

  package init(
    entryBytes: Int = 4 << 20, pendingBytes: Int = 8 << 20, pendingNotes: Int = 4096,
    minimumFreeBytes: Int64 = 512 << 20, retryDelay: Duration = .seconds(30)
  ) {
    self.entryBytes = entryBytes
    self.pendingBytes = pendingBytes
    self.pendingNotes = pendingNotes
    self.minimumFreeBytes = minimumFreeBytes
    self.retryDelay = retryDelay
  }
}
