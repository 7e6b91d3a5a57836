#if canImport(Glibc)
  import Glibc
#endif

extension Catalogue {
  /// Copies the catalogue into one file, with all data that exists nowhere else: identifiers, favourites, hidden,
  /// albums, adjustments, tokens, the key of content versions. Concurrent readers and writers are not disturbed; the
  /// copy is a snapshot of one moment. It gets its name once it is complete, checked and synced.
  ///
  /// - Parameter replaces: an existing file is replaced.
  package func backUp(to path: String, replacing replaces: Bool = false) throws(LibraryError) {
    if !replaces && access(path, F_OK) == 0 { throw .copyExists(path: path) }
    let partial = path + ".partial"
    do {
      try CatalogueCopy.make(of: pool, at: partial)
      if !replaces && access(path, F_OK) == 0 { throw LibraryError.copyExists(path: path) }
      try DurableFile.rename(partial, to: path)
    } catch {
      unlink(partial)
      throw error as? LibraryError ?? .copyFailed(path: path, CatalogueCopy.reason(error))
    }
  }
}
