/// What a scan has done so far.
package struct ScanProgress: Sendable, Hashable {
  /// Files met.
  package var files = 0
  /// Files whose contents were looked at.
  package var probed = 0
  package var unreadable = 0
  package var moved = 0
  package var removed = 0
  /// File systems below the root that are not here. What is known of them is kept.
  package var absentMounts = 0
  /// Known files that were not looked for: on such a file system, or in a folder that can't be listed.
  package var kept = 0

  package init() {}
}
