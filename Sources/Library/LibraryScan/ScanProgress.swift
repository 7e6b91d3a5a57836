/// The progress of a scan.
package struct ScanProgress: Sendable, Hashable {
  /// Files found.
  package var files = 0
  /// Expected number of files: the number of known files, or for a first scan the result of the parallel count. `nil`
  /// if not requested, or not known yet.
  package var expected: Int?
  /// New and changed files that were opened and read.
  package var probed = 0
  package var unreadable = 0
  /// Objects that a remote store refuses to read.
  package var refused = 0
  package var moved = 0
  package var removed = 0
  /// Missing file systems. Their assets are kept.
  package var missingMounts = 0
  /// New or changed files that may still be written: they are left to the next scan.
  package var unsettled = 0
  /// Missing files that are kept: on a missing file system, in an unreadable folder, renamed a moment ago, or at least
  /// as large as a new file that is still being written.
  package var kept = 0

  package init() {}

  /// Adds the counts of another walk of the same scan.
  mutating func add(walk other: ScanProgress) {
    probed += other.probed
    unreadable += other.unreadable
    moved += other.moved
    removed += other.removed
  }
}
