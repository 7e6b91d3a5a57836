/// Is notified when the library has changed, for example to update fetch results or cached assets.
package protocol ChangeObserver: Sendable {
  /// The library has changed, and readers see the change. Called after each commit, without the writer lock, on any
  /// thread. Implementations only schedule their work and return.
  func libraryDidChange()
}
