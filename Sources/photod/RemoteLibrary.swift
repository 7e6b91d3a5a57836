import DurableFiles
import LibraryCatalogue
import LibraryFiles
import ObjectStores
import OriginalDownloads
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// A remote library as the daemon uses it: its store, and the local store of its originals.
struct RemoteLibrary: Sendable {
  let store: any ObjectStore
  let downloads: OriginalDownloads
  /// A local folder that `LibraryFiles` gets as the folder of the library. It holds the uploads to a bucket that are in
  /// progress.
  let uploadFolder: String
  /// Whether photod may write to it: only buckets.
  let isBucket: Bool
  let heads: OriginalHeads

  var originals: OriginalStore { RemoteOriginals(downloads, heads: heads).store }

  /// The heads that scans keep. Scans and the daemon may use them at the same time.
  static func heads(in dataFolder: String, limitBytes: Int64) throws -> OriginalHeads {
    let folder = dataFolder + "/heads"
    do throws(SystemError) {
      return try OriginalHeads(path: folder, limitBytes: limitBytes)
    } catch {
      throw CommandFailure(description: "the heads of originals in \(folder): \(error)")
    }
  }

  /// Reads credentials, and the names of the originals that an earlier run has left. Sends no request to the store.
  ///
  /// - Parameter dataFolder: an existing folder.
  init(
    _ location: RemoteLocation, dataFolder: String, limits: OriginalDownloads.Limits, headBytes: Int64
  ) throws {
    store = try location.store()
    isBucket = location.isBucket
    heads = try Self.heads(in: dataFolder, limitBytes: headBytes)
    let folder = dataFolder + "/originals"
    do throws(SystemError) {
      uploadFolder = dataFolder + "/remote"
      try Self.makeFolder(uploadFolder)
      try Self.makeFolder(folder)
      try DataFolderLock.forOriginals(in: folder).holdUntilExit()
      downloads = try OriginalDownloads(store: store, path: folder, limits: limits)
    } catch {
      let isInUse = error.code == EWOULDBLOCK
      throw CommandFailure(
        description: "the originals in \(folder): "
          + (isInUse ? "another daemon uses them; stop it, or set another data folder" : "\(error)"))
    }
  }

  /// The bucket that uploads and the trash write to; `nil` if the library is on a web server. Uploads are also kept in
  /// the data folder, like the most recently downloaded original.
  func writableBucket(_ catalogue: Catalogue) throws -> LibraryBucket? {
    guard isBucket else { return nil }
    return LibraryBucket(store, name: try catalogue.uniqueName()) { [downloads] key, identity, file in
      downloads.adopt(file, key, identity)
    }
  }

  private static func makeFolder(_ path: String) throws(SystemError) {
    if mkdir(path, 0o700) == 0 {
      FileOwner.inherit(path)
    } else if errno != EEXIST {
      throw SystemError(code: errno)
    }
  }
}
