import ObjectStores
import PhotoModel

/// Why a download of an original failed.
package enum DownloadError: Error, Sendable, Hashable {
  case store(ObjectStoreError)
  /// It is larger than the store, or pinned originals leave no room for it.
  case noSpace
  /// Too many downloads wait.
  case tooManyDownloads
  /// The local folder failed.
  case system(SystemError)
}
