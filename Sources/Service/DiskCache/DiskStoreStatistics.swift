/// The content of a store, and counters since it was opened.
package struct DiskStoreStatistics: Sendable, Hashable {
  /// The content of one kind, over all its epochs.
  package struct Content: Sendable, Hashable {
    package var entries = 0
    /// Bytes as counted against the capacity: see ``EntryCost``.
    package var bytes: Int64 = 0
  }

  package var frames = Content()
  package var derivatives = Content()

  package var hits = 0
  package var misses = 0
  /// Entries written to the disk.
  package var stored = 0
  /// Entries removed to make room.
  package var evicted = 0
  /// Entries removed because their epoch has ended.
  package var outdated = 0
  /// Entries removed together with all others of their subject.
  package var removed = 0
  /// Entries passed to `store` but not written: too large, too many waiting, the disk is not writable, or something is
  /// in the entry's place that can't be removed.
  package var dropped = 0
  /// Files that were damaged, truncated, or belong to another entry.
  package var corrupt = 0
  /// Operations that failed on the disk or the index.
  package var failures = 0

  /// The store is off and neither finds nor stores anything: its capacity is 0, it is closed, or another store uses the
  /// folder (see `DiskStore.reopen`).
  package var isOff = false
  /// The store accepts no entries because a write failed; it resumes when writing works again.
  package var isSuspended = false

  package init() {}
}
