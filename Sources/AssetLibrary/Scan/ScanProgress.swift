/// What a scan has done so far.
package struct ScanProgress: Sendable, Hashable {
  /// Files met.
  package var files = 0
  /// How many there will be, as far as is known: as many as there were, or as a count beside the first scan finds.
  /// `nil` where nobody asked, and until then.
  package var expected: Int?
  /// Files whose contents were looked at.
  package var probed = 0
  package var unreadable = 0
  package var moved = 0
  package var removed = 0
  /// File systems below the root that are not here. What is known of them is kept.
  package var absentMounts = 0
  /// New or changed files that are still being written, as it seems: they are left to the next scan.
  package var notQuiet = 0
  /// Known files that were not met and are kept nonetheless: on such a file system, in a folder that can't be listed,
  /// or no smaller than a new one that is still being written.
  package var kept = 0

  package init() {}
}
