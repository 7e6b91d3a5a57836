import LibraryFolder
import PhotoModel

/// Why a library file was not written, moved or removed. Nothing was changed.
package enum LibraryFilesError: Error, Sendable, Equatable {
  /// The library is read-only, by the settings or by its mount.
  case readOnly
  /// No such asset, or none that the principal may see.
  case noSuchAsset(LocalIdentifier)
  /// No such asset in the trash, or none that the principal may see.
  case notInTrash(LocalIdentifier)
  /// No such file in the library, or the path leaves the library.
  case noSuchFile([UInt8])
  /// The upload or the named file is not a supported picture or video; the value is the reason.
  case notMedia(String)
  /// The file is a picture or video, but damaged.
  case damagedMedia(String)
  /// The disk is full, the quota is used up, or less than the reserve is free.
  case insufficientStorage
  /// A system call failed on this path below the root.
  case failed(path: [UInt8], SystemError)
  case catalogue(AssetSourceError)
}
