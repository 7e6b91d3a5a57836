/// What is in a store, and what it has done since it was opened.
package struct DiskStoreStatistics: Sendable, Hashable {
  /// Of one kind, in all its epochs.
  package struct Content: Sendable, Hashable {
    package var entries = 0
    /// As counted against the capacity: see ``EntryCost``.
    package var bytes: Int64 = 0
  }

  package var frames = Content()
  package var derivatives = Content()

  package var hits = 0
  package var misses = 0
  /// Written to the disk.
  package var stored = 0
  /// Removed to make room.
  package var evicted = 0
  /// Removed because their epoch has passed.
  package var outdated = 0
  /// Given to `store` and not kept: too large, too many waiting, or the disk could not be written.
  package var dropped = 0
  /// Found to be damaged, cut short or another's.
  package var corrupt = 0
  /// What the disk or the index refused.
  package var failures = 0

  /// It neither finds nor keeps anything: without a capacity, closed, or another store has the folder.
  package var isOff = false
  /// It keeps nothing, since the disk could not be written, until it can be.
  package var isQuiet = false

  package init() {}
}
