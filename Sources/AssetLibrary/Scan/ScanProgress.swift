/// What a scan has done so far.
package struct ScanProgress: Sendable, Hashable {
  /// Files met.
  package var files = 0
  /// Files whose contents were looked at.
  package var probed = 0
  package var unreadable = 0
  package var moved = 0
  package var removed = 0

  package init() {}
}
