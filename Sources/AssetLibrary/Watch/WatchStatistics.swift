/// What a watcher has done, and how it stands.
package struct WatchStatistics: Sendable, Hashable {
  package var folders = 0
  /// Folders that the last scan came by and that could not be watched.
  package var unwatchedFolders = 0
  package var events = 0
  /// How often events were lost, and everything was scanned instead.
  package var overflows = 0
  /// Scans of what was told.
  package var scans = 0
  /// Paths that were told and are not scanned yet.
  package var waitingPaths = 0
}
