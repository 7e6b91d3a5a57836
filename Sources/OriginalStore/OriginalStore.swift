// Originals: a name from the catalogue becomes bytes, if what is there is still what the catalogue knew. The library's
// folder is the one store so far; remote ones will answer here too.

import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Why an original could not be opened.
package enum OriginalStoreError: Error, Sendable, Equatable {
  /// The file is gone, or its path leads out of the library.
  case notFound
  /// Something is there, but it is not the file that the catalogue knew: it was replaced or edited since.
  case changed
  case failed(SystemError)
}

package struct OriginalStore: Sendable {
  private let opening: @Sendable (OriginalFile) throws(OriginalStoreError) -> any ByteSource

  /// A store that is neither a folder nor known here.
  package init(_ opening: @escaping @Sendable (OriginalFile) throws(OriginalStoreError) -> any ByteSource) {
    self.opening = opening
  }

  package init(folder: LibraryFolder) {
    self.init { original throws(OriginalStoreError) in try Self.open(original, in: folder) }
  }

  /// Opens an original for reading. Blocks for as long as the file system does.
  package func open(_ original: OriginalFile) throws(OriginalStoreError) -> any ByteSource { try opening(original) }

  private static func open(
    _ original: OriginalFile, in folder: LibraryFolder
  ) throws(OriginalStoreError) -> any ByteSource {
    let file: LibraryFile
    do throws(SystemError) {
      file = try folder.open(original.path)
    } catch {
      let isGone = [ENOENT, ENOTDIR, EXDEV, ELOOP, ENXIO].contains(error.code)
      throw isGone ? .notFound : .failed(error)
    }
    guard file.isRegularFile else { throw .notFound }
    guard file.identity == original.identity else { throw .changed }
    return file
  }
}
