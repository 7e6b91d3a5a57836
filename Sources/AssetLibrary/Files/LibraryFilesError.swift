import LibraryFolder
import PhotoModel

/// Why a file of the library was not written, moved or removed. Nothing has changed then.
package enum LibraryFilesError: Error, Sendable, Equatable {
  /// The library may only be read, by the settings or by its mount.
  case readOnly
  /// There is no asset of that name, or none that the principal may see.
  case noSuchAsset(LocalIdentifier)
  /// There is nothing of that name in the trash, or nothing that the principal may see.
  case notInTrash(LocalIdentifier)
  /// There is no such file in the library, or it lies outside of it.
  case noSuchFile([UInt8])
  /// What was sent, or what a path names, is no picture or video that photod knows: why not.
  case notMedia(String)
  /// It is one, and damaged.
  case damagedMedia(String)
  /// The disk is full, the quota used up, or what is free is less than the reserve.
  case insufficientStorage
  /// A call failed on this path below the library's root.
  case failed(path: [UInt8], SystemError)
  case catalogue(AssetSourceError)
}
