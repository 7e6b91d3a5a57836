import AssetLibrary
import ImageService

/// Tells preheat windows of the library's changes: they and it know nothing of each other.
final class WindowObserver: ChangeObserver {
  private let caching: CachingManagers

  init(_ caching: CachingManagers) { self.caching = caching }

  func libraryDidChange(_ token: ChangeToken) { caching.libraryDidChange() }
}
