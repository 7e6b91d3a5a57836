/// Counters and current state of a watcher.
package struct WatchStatistics: Sendable, Hashable {
  package var folders = 0
  /// Folders that the last scan listed but could not watch.
  package var unwatchedFolders = 0
  package var events = 0
  /// Number of event queue overflows, each followed by a full scan.
  package var overflows = 0
  /// Number of scans of changed paths.
  package var scans = 0
  /// Changed paths that are not scanned yet.
  package var pendingPaths = 0
}
