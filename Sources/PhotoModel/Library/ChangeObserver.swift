/// Whoever has something to do when the library has changed: what follows a fetch result, what is kept of assets.
package protocol ChangeObserver: Sendable {
  /// The library has changed, and readers see it. Called after each commit, off the writer's lock, on any thread: it notes
  /// that there is something to do, and does it elsewhere.
  func libraryDidChange()
}
